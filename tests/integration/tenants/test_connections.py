"""Connections that have touched many projects are replaced: what Postgres keeps of a project, it keeps for as long as the connection lasts."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
import pytest_asyncio

from service.db.embedded import EmbeddedServer
from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import DatabaseUnavailable
from service.tenants.migrate import MigrationReport
from service.tenants.owner import owner_connection
from service.tenants.projects import create_project, drop_project
from tests.conftest import Projects

PROCESS = "SELECT pg_backend_pid()"


@pytest_asyncio.fixture(loop_scope="session")
async def narrow(migrated: MigrationReport) -> AsyncIterator[Database]:
    """One connection, which serves three projects."""
    opened = await Database.open(migrated.api_url, max_size=1, most_projects=3)
    yield opened
    await opened.close()


async def _ask(database: Database, project: ProjectRef, question: str) -> int:
    async with database.read(project) as tx:
        return await tx.fetchval(question)


async def _process(database: Database, project: ProjectRef) -> int:
    return await _ask(database, project, PROCESS)


async def _lose(server: EmbeddedServer, database: Database, project: ProjectRef) -> None:
    async with database.read(project) as tx:
        with owner_connection(server.owner_url) as owner:
            owner.execute("SELECT pg_terminate_backend($1, 5000)", (await tx.fetchval(PROCESS),))
        await tx.fetchval(PROCESS)


async def test_a_connection_serves_so_many_projects(narrow: Database, projects: Projects) -> None:
    one, two, three = projects.make(), projects.make(), projects.make()
    served = [await _process(narrow, each) for each in (one, two, one, two, one, two, three, three, one)]
    assert len(set(served[:7])) == 1
    assert len(set(served[7:])) == 1
    assert served[6] != served[7]


async def test_the_one_before_is_gone(server: EmbeddedServer, narrow: Database, projects: Projects) -> None:
    served = [await _process(narrow, projects.make()) for _ in range(7)]
    assert len(set(served)) == 3
    with owner_connection(server.owner_url) as owner:
        alive = served
        async with asyncio.timeout(60):  # a process that was told to end may take its time
            while alive != served[-1:]:
                rows = owner.execute("SELECT pid FROM pg_stat_activity WHERE pid = ANY($1)", (served,)).fetchall()
                alive = [row["pid"] for row in rows]
                await asyncio.sleep(0)


async def test_a_call_that_fails_counts_too(narrow: Database, projects: Projects) -> None:
    made = [projects.make() for _ in range(3)]
    first = await _process(narrow, made[0])
    for each in made[1:]:
        with pytest.raises(asyncpg.UndefinedColumnError):
            await _ask(narrow, each, "SELECT nothing")
    assert await _process(narrow, projects.make()) != first


async def test_making_and_deleting_projects_counts_too(narrow: Database, projects: Projects) -> None:
    """A creation leaves more of a project in the backend than a search there."""
    stays, goes = projects.make(), projects.make()
    served = [await _process(narrow, stays)]
    made, _ = await create_project(narrow, stays.workspace_id, f"made-{served[0]}", None, None)
    served.append(await _process(narrow, stays))
    assert await drop_project(narrow, goes.workspace_id, goes.project_id) is not None
    served.append(await _process(narrow, stays))
    assert served[0] == served[1] != served[2]
    assert await drop_project(narrow, stays.workspace_id, made) is not None


async def test_one_that_was_lost_is_no_matter(server: EmbeddedServer, narrow: Database, projects: Projects) -> None:
    made = [projects.make() for _ in range(3)]
    for each in made[:2]:
        await _process(narrow, each)
    with pytest.raises(DatabaseUnavailable):
        await _lose(server, narrow, made[2])
    assert await _process(narrow, made[0]) > 0


async def test_the_worker_renews_its_own(server: EmbeddedServer, migrated: MigrationReport, projects: Projects) -> None:
    owner = OwnerDatabase(server.owner_url, most_projects=2)
    one, two = projects.make().project_id, projects.make().project_id
    served: list[int] = []
    for project in (one, one, two, one):
        await owner.renew()
        served.append((await owner.fetch(PROCESS, project=project))[0][0])
    assert len(set(served[:3])) == 1
    assert served[3] != served[2]
    await owner.close()
