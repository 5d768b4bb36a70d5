"""The back-fill on a real database: with the local model, and with providers that fail in known ways."""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from service.db.embedded import EmbeddedServer
from service.db.owner import OwnerDatabase
from service.db.scope import ProjectRef
from service.embed.backfill import Backfill, Round
from service.embed.choose import make_provider
from service.embed.provider import Embedded, EmbeddingProvider, EmbeddingUnavailable, Failed, Space, Vector, checked
from service.memory.lookup import read_status
from tests.conftest import Memory, Projects


class Letters:
    """A provider of three numbers a text; fails as it is told, and keeps what it was asked."""

    space = Space("test", "vectors", 3)
    window = 256
    available = True

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.away = False

    async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
        if self.away:
            raise EmbeddingUnavailable(self.space, "unavailable")
        self.asked += texts
        await asyncio.sleep(0)
        return [Failed("not_finite") if "poison" in text else checked([1.0, float(len(text)), 1.0], 3) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        raise NotImplementedError(text)

    async def close(self) -> None:
        pass


async def _drain(backfill: Backfill) -> Round:
    total = Round()
    while True:
        done = await backfill.run_round()
        total.stored += done.stored
        total.failed += done.failed
        if not done.more:
            return total


@pytest.fixture
def fresh(projects: Projects) -> ProjectRef:
    return projects.make(dim=3)


async def _coverage(memory: Memory, project: ProjectRef) -> dict[str, int]:
    return (await read_status(memory.database, project)).embedding.passages


async def test_a_write_waits_for_nobody_and_the_worker_fills_it_in(memory: Memory, fresh: ProjectRef, owner: OwnerDatabase) -> None:
    await memory.save(fresh, [{"summary": f"patient event {n}"} for n in range(70)])
    await memory.page(fresh, "a.md", "Patient", "\n\n".join(f"## H{n}\n\n" + "patient " * 150 for n in range(4)))
    assert (await _coverage(memory, fresh))["embedded"] == 0
    provider = Letters()
    await _drain(Backfill(owner, provider))
    found = await _coverage(memory, fresh)
    assert found["pending"] == found["failed"] == 0
    asked = [text for text in provider.asked if "atient" in text]  # other projects of this server have work too
    assert found["embedded"] == len(set(asked)) == len(asked)
    kinds = {row["kind"]: row["n"] for row in await memory.rows(fresh, "SELECT kind, count(*) AS n FROM m_0.vector_0 GROUP BY kind")}
    assert kinds[0] == 70
    assert kinds[2] >= 4


async def test_a_changed_page_is_embedded_again_and_only_it(memory: Memory, fresh: ProjectRef, owner: OwnerDatabase) -> None:
    await memory.save(fresh, [{"summary": f"{fresh.schema} still"}])
    await memory.page(fresh, "a.md", "A", f"{fresh.schema} before")
    backfill, provider = Backfill(owner, Letters()), Letters()
    await _drain(backfill)
    await memory.page(fresh, "a.md", "A", f"{fresh.schema} after")
    await _drain(Backfill(owner, provider))
    asked = [text for text in provider.asked if fresh.schema in text]  # what other tests left may be tried again at any moment
    assert ["after" in text for text in asked] == [True]


async def test_one_bad_passage_fails_alone_and_is_given_up(
    memory: Memory, fresh: ProjectRef, owner: OwnerDatabase, server: EmbeddedServer
) -> None:
    await memory.save(fresh, [{"summary": "poison"}, *({"summary": f"fine {n}"} for n in range(100))])
    backfill = Backfill(owner, Letters())
    await _drain(backfill)
    found = await _coverage(memory, fresh)
    assert (found["embedded"], found["pending"], found["failed"]) == (100, 1, 0)
    for _ in range(4):
        await owner.fetch("UPDATE m_0.embed_failure SET retry_at = now()", project=fresh.project_id)
        await owner.fetch("UPDATE control.due SET next_at = now() WHERE project_id = $1", fresh.project_id)
        await _drain(backfill)
    found = await _coverage(memory, fresh)
    assert (found["embedded"], found["pending"], found["failed"]) == (100, 0, 1)
    (row,) = await memory.rows(fresh, "SELECT reason FROM m_0.embed_failure")
    assert row["reason"] == "not_finite"


async def test_a_provider_that_was_away_is_asked_again(memory: Memory, fresh: ProjectRef, owner: OwnerDatabase) -> None:
    await memory.save(fresh, [{"summary": f"event {n}"} for n in range(20)])
    provider = Letters()
    provider.away = True
    backfill = Backfill(owner, provider)
    await _drain(backfill)
    assert (await _coverage(memory, fresh))["pending"] == 20
    provider.away = False
    await owner.fetch("UPDATE control.due SET next_at = now() WHERE project_id = $1", fresh.project_id)
    await _drain(backfill)
    assert (await _coverage(memory, fresh))["embedded"] == 20


async def test_what_a_provider_gave_before_it_went_away_is_counted(memory: Memory, fresh: ProjectRef, owner: OwnerDatabase) -> None:
    await memory.save(fresh, [{"summary": f"event {n}"} for n in range(70)])

    class Leaving(Letters):
        async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
            given = await super().embed_documents(texts)
            self.away = True
            return given

    await Backfill(owner, Leaving()).run_round([fresh.project_id])  # alone: others may be due first, and it would have left by then
    state = (await read_status(memory.database, fresh)).embedding
    assert state.passages["embedded"] == 64
    assert [space.vectors for space in state.spaces if space.current] == [64]


async def test_two_workers_share_and_do_nothing_twice(memory: Memory, projects: Projects, server: EmbeddedServer) -> None:
    several = [projects.make(dim=3) for _ in range(6)]
    for each in several:
        await memory.save(each, [{"summary": f"{each.schema} event {n}"} for n in range(80)])
    owners = [OwnerDatabase(server.owner_url) for _ in range(2)]
    providers = [Letters(), Letters()]
    await asyncio.gather(*(_drain(Backfill(o, p)) for o, p in zip(owners, providers, strict=True)))
    await _drain(Backfill(owners[0], providers[0]))
    texts = {f"{each.schema} event {n}" for each in several for n in range(80)}
    asked = [text for provider in providers for text in provider.asked if text in texts]
    assert len(asked) == len(set(asked)) == 480
    for each in owners:
        await each.close()


async def test_what_is_saved_while_it_works_is_not_lost(memory: Memory, fresh: ProjectRef, owner: OwnerDatabase) -> None:
    class Busy(Letters):
        async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
            if len(self.asked) < 200:
                await memory.save(fresh, [{"summary": f"meanwhile {len(self.asked)}"}])
            return await super().embed_documents(texts)

    await memory.save(fresh, [{"summary": f"event {n}"} for n in range(130)])
    await _drain(Backfill(owner, Busy()))
    await _drain(Backfill(owner, Letters()))
    found = await _coverage(memory, fresh)
    assert found["pending"] == 0
    assert found["embedded"] > 130


async def test_a_project_dropped_while_it_is_filled_ends_cleanly(
    memory: Memory, fresh: ProjectRef, owner: OwnerDatabase, server: EmbeddedServer
) -> None:
    other = OwnerDatabase(server.owner_url)

    class Dropping(Letters):
        async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
            await other.fetch(f"DROP SCHEMA IF EXISTS {fresh.schema} CASCADE")
            return await super().embed_documents(texts)

    await memory.save(fresh, [{"summary": f"event {n}"} for n in range(130)])
    await _drain(Backfill(owner, Dropping()))
    assert await owner.fetch("SELECT 1 FROM control.due WHERE project_id = $1", fresh.project_id) == []
    await owner.fetch("DELETE FROM control.project WHERE id = $1", fresh.project_id)
    await other.close()


async def test_another_model_moves_the_project_to_its_space(memory: Memory, fresh: ProjectRef, owner: OwnerDatabase) -> None:
    class Other(Letters):
        space = Space("test", "other", 3)

    await memory.save(fresh, [{"summary": "one"}])
    await _drain(Backfill(owner, Letters()))
    await _drain(Backfill(owner, Other()))
    rows = await memory.rows(fresh, "SELECT model, current FROM m_0.space ORDER BY id")
    assert {row["model"]: row["current"] for row in rows} == {"vectors": False, "other": True}


async def test_killed_in_the_middle_it_goes_on_where_it_was(
    memory: Memory, fresh: ProjectRef, owner: OwnerDatabase, server: EmbeddedServer
) -> None:
    await _drain(Backfill(owner, Letters()))  # of what other tests have left
    await memory.save(fresh, [{"summary": f"event {n} with a few words about the harbour"} for n in range(400)])
    code = (
        "import asyncio, sys\n"
        "from tests.integration.embed.test_backfill import Letters\n"
        "from service.embed.worker import run_worker\n"
        "class Loud(Letters):\n"
        "    async def embed_documents(self, texts):\n"
        "        print(len(texts), flush=True)\n"
        "        sys.stdin.readline()\n"
        "        return await super().embed_documents(texts)\n"
        "asyncio.run(run_worker(sys.argv[1], Loud(), 0.1, asyncio.Event()))\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, server.owner_url, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for _ in range(3):
        await process.stdout.readline()
        process.stdin.write(b"\n")
    await process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()
    before = (await _coverage(memory, fresh))["embedded"]
    assert 0 < before < 400
    provider = Letters()
    await _drain(Backfill(owner, provider))
    assert (await _coverage(memory, fresh))["embedded"] == 400
    assert len([text for text in provider.asked if "harbour" in text]) == 400 - before


async def test_the_local_model_fills_a_project(memory: Memory, projects: Projects, owner: OwnerDatabase) -> None:
    provider: EmbeddingProvider = make_provider("local")
    project = projects.make()
    await memory.save(project, [{"summary": "the cat sat on the mat"}, {"summary": "quarterly revenue went down"}])
    await _drain(Backfill(owner, provider))
    rows = await memory.rows(project, "SELECT vector_dims(vector) AS dim FROM m_0.vector_0")
    assert [row["dim"] for row in rows] == [384, 384]
    await provider.close()


class Overheard(OwnerDatabase):
    """Keeps what it is asked."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.asked: list[str] = []

    async def fetch(self, sql: str, *args: Any, **more: Any) -> list[Any]:
        self.asked.append(sql)
        return await super().fetch(sql, *args, **more)


async def test_work_is_found_by_one_query_however_many_projects_there_are(
    server: EmbeddedServer, memory: Memory, projects: Projects
) -> None:
    owner = Overheard(server.owner_url)
    backfill = Backfill(owner, Letters())
    await _drain(backfill)
    rounds: list[list[str]] = []
    for more in (0, 12):
        made = [projects.make("many", dim=3) for _ in range(more)]
        owner.asked.clear()
        assert (await backfill.run_round()).projects == 0
        rounds.append(list(owner.asked))
    assert rounds[0] == rounds[1]
    assert sum("FROM control.due" in sql for sql in rounds[0]) == 1
    await memory.save(made[7], [{"summary": "one of many"}])
    assert (await backfill.run_round()).projects == 1
    await owner.close()


async def test_a_save_that_is_undone_is_no_work(memory: Memory, fresh: ProjectRef, owner: OwnerDatabase) -> None:
    async def due() -> int:
        return len(await owner.fetch("SELECT 1 FROM control.due WHERE project_id = $1", fresh.project_id))

    async def forget(*, undo: bool) -> None:
        async with memory.database.write(fresh) as tx:
            await tx.fetch("SELECT m_0.m_0_delete_events('{1}')")
            if undo:
                raise RuntimeError

    await memory.save(fresh, [{"summary": "here"}])
    await _drain(Backfill(owner, Letters()))
    assert await due() == 0
    with pytest.raises(RuntimeError):
        await forget(undo=True)
    assert await due() == 0
    await forget(undo=False)
    assert await due() == 1
