"""Vector indexes are built when a project grows, built anew when they are lost, and never stand in the way."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable

import asyncpg

from service.db.embedded import EmbeddedServer
from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.backfill import Backfill
from service.embed.indexes import Unindexed, build_indexes
from service.embed.worker import run_worker
from service.memory.lookup import read_status
from service.tenants.migrate import MigrationReport
from tests.conftest import Memory, Projects
from tests.integration.spaces.conftest import LIMITS, Model, drain

MODEL = Model("vectors", 8)


async def indexes(owner: OwnerDatabase, project: ProjectRef) -> dict[str, bool]:
    sql = (
        "SELECT c.relname, i.indisvalid FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid "
        "WHERE c.relnamespace = $1::regnamespace AND c.relname ~ 'hnsw' ORDER BY 1"
    )
    return {row["relname"]: row["indisvalid"] for row in await owner.fetch(sql, project.schema)}


async def said(database: Database, project: ProjectRef) -> str:
    (space,) = [space for space in (await read_status(database, project)).embedding.spaces if space.current]
    return space.index


async def space_number(memory: Memory, project: ProjectRef) -> int:
    (row,) = await memory.rows(project, "SELECT id FROM m_0.space WHERE current")
    return row["id"]


async def until(found: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await found():
            continue


async def fill(memory: Memory, project: ProjectRef, count: int) -> None:
    await memory.save(project, [{"summary": f"event {n}"} for n in range(count)])


async def test_all_kinds_get_their_index_when_the_space_is_large_enough(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database
) -> None:
    project = projects.make(dim=8)
    await fill(memory, project, 40)
    for n in range(20):
        await memory.page(project, f"p{n}.md", f"P{n}", f"page {n}")
    await drain(Backfill(owner, MODEL, LIMITS), owner)
    number = await space_number(memory, project)
    assert await indexes(owner, project) == {}
    assert await said(database, project) == "not_needed"
    await fill(memory, project, 1)
    await drain(Backfill(owner, MODEL, LIMITS), owner)
    assert await indexes(owner, project) == {f"vector_{number}_hnsw_0": True, f"vector_{number}_hnsw_2": True}
    assert await said(database, project) == "ready"


async def test_a_lost_index_is_said_and_built_again(memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database) -> None:
    project = projects.make(dim=8)
    await fill(memory, project, 70)
    await drain(Backfill(owner, MODEL, LIMITS), owner)
    (name,) = await indexes(owner, project)
    await owner.fetch(f"DROP INDEX {project.schema}.{name}")
    await owner.fetch("UPDATE control.project SET swept_at = now() - interval '2 days'")
    assert await said(database, project) == "missing"
    await drain(Backfill(owner, MODEL, LIMITS), owner)
    assert await indexes(owner, project) == {name: True}
    assert await said(database, project) == "ready"


async def test_a_build_that_is_killed_is_done_anew(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database, server: EmbeddedServer
) -> None:
    project = projects.make(dim=8)
    await fill(memory, project, 70)
    number = await space_number(memory, project)
    waiting = await asyncpg.connect(server.owner_url)
    transaction = waiting.transaction()
    await transaction.start()
    # A transaction that has written to the table holds the build up after its index was entered as not yet valid.
    await waiting.execute(f"DELETE FROM {project.schema}.vector_{number} WHERE passage_id = 0")
    code = (
        "import asyncio, sys\n"
        "from tests.integration.spaces.conftest import LIMITS, Model\n"
        "from service.embed.worker import run_worker\n"
        "asyncio.run(run_worker(sys.argv[1], Model('vectors', 8), 0.05, asyncio.Event(), LIMITS))\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, server.owner_url)
    await until(lambda: _begun(owner, project))
    assert await said(database, project) == "building"
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    await owner.fetch("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%'")
    await until(lambda: _unlocked(owner, project))
    await transaction.rollback()
    await waiting.close()
    assert list((await indexes(owner, project)).values()) == [False]
    assert await said(database, project) == "missing"
    await owner.fetch("UPDATE control.due SET next_at = now()")
    await drain(Backfill(owner, MODEL, LIMITS), owner)
    assert list((await indexes(owner, project)).values()) == [True]
    assert await said(database, project) == "ready"


async def _embedded(database: Database, project: ProjectRef, count: int) -> bool:
    return (await read_status(database, project)).embedding.embedded == count


async def _begun(owner: OwnerDatabase, project: ProjectRef) -> bool:
    return list((await indexes(owner, project)).values()) == [False]


async def _unlocked(owner: OwnerDatabase, project: ProjectRef) -> bool:
    sql = "SELECT count(*) AS n FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND pid <> pg_backend_pid()"
    return (await owner.fetch(sql))[0]["n"] == 0


async def test_two_builders_build_once(memory: Memory, projects: Projects, owner: OwnerDatabase, server: EmbeddedServer) -> None:
    project = projects.make(dim=8)
    await fill(memory, project, 70)
    backfill = Backfill(owner, MODEL, LIMITS)
    done = await backfill.run_round()
    wanted = next(each for each in done.unindexed if each.project == project.project_id)
    assert (wanted.kinds, wanted.vectors) == ((0,), 70)
    owners = [OwnerDatabase(server.owner_url) for _ in range(2)]
    await asyncio.gather(*(build_indexes(each, wanted) for each in owners))
    assert list((await indexes(owner, project)).values()) == [True]
    for each in owners:
        await each.close()


async def test_the_worker_builds_while_it_embeds_for_others(
    memory: Memory, projects: Projects, owner: OwnerDatabase, server: EmbeddedServer
) -> None:
    large, late = projects.make(dim=8), None
    await fill(memory, large, 70)
    stop = asyncio.Event()
    worker = asyncio.create_task(run_worker(server.owner_url, MODEL, 0.05, stop, LIMITS))
    try:
        late = projects.make(dim=8)
        await fill(memory, late, 5)
        await until(lambda: _embedded(memory.database, late, 5))
        await until(lambda: _is_ready(memory.database, large))
    finally:
        stop.set()
        await worker
    assert list((await indexes(owner, large)).values()) == [True]


async def _is_ready(database: Database, project: ProjectRef) -> bool:
    return await said(database, project) == "ready"


def test_building_takes_the_memory_that_it_needs_within_bounds() -> None:
    kilobytes = [Unindexed(1, 1, (0,), vectors, 384, 512).memory_kb for vectors in (20_000, 200_000, 10_000_000)]
    assert kilobytes == [64 * 1024, 200_000 * (768 + 900) // 1024, 512 * 1024]


async def test_the_api_learns_counts_and_indexes_with_the_space(
    memory: Memory, projects: Projects, owner: OwnerDatabase, migrated: MigrationReport
) -> None:
    project = projects.make(dim=8)
    await fill(memory, project, 70)
    await memory.page(project, "a.md", "A", "text")
    await drain(Backfill(owner, MODEL, LIMITS), owner)
    fresh = await Database.open(migrated.api_url, max_size=1)
    async with fresh.read(project) as tx:
        assert tx.space is not None
        assert (tx.space.heads, tx.space.vectors, tx.space.indexed) == (70, 71, (0, 2))
    await fresh.close()
