"""Deleting projects and workspaces: gone at once, whole, under load, and without their schemas too."""

import asyncio
import re
from typing import Any

import msgspec
import pytest

from service.access.keys import Caller
from service.access.scope import Scopes
from service.db.embedded import EmbeddedServer
from service.db.owner import OwnerDatabase, ProjectGone
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.backfill import Backfill
from service.errors import DatabaseBusy, MunimentError, NotFound
from service.operations import CATALOGUE
from service.operations.operation import Services
from service.operations.perform import perform
from service.settings import Settings
from service.tenants import projects as projects_of_tenants
from service.tenants import workspaces
from service.tenants.owner import owner_connection
from service.tenants.projects import create_project, delete_project
from tests.conftest import Memory, Projects
from tests.integration.embed.test_backfill import Letters
from tests.integration.memory.test_forget import WORD, leftovers, plant


def _caller(project: ProjectRef, *scopes: str) -> Caller:
    return Caller("tester", project.workspace_id, project.workspace, project.role, frozenset(scopes), None, project.project_id)


def _services(database: Database) -> Services:
    return Services(database=database, scopes=Scopes(database), settings=Settings(), embedder=None)


async def _ask(services: Services, caller: Caller, name: str, **given: Any) -> Any:
    operation = next(each for each in CATALOGUE if each.name == name)
    return await perform(services, caller, operation, operation.request(**given))


def _left(server: EmbeddedServer, project: ProjectRef) -> list[str]:
    with owner_connection(server.owner_url) as owner:
        rows = owner.execute(
            "SELECT nspname AS name FROM pg_namespace WHERE nspname = $1 UNION ALL SELECT rolname FROM pg_roles WHERE rolname ~ $2 "
            "UNION ALL SELECT 'row' FROM control.project WHERE id = $3 UNION ALL SELECT 'due' FROM control.due WHERE project_id = $3",
            (project.schema, f"^mun_[0-9a-f]+_r{project.project_id}$", project.project_id),
        ).fetchall()
    return [row["name"] for row in rows]


async def test_a_project_goes_with_all_it_holds(server: EmbeddedServer, database: Database, memory: Memory, projects: Projects) -> None:
    project = projects.make("leaving")
    other = projects.make("leaving")
    for each in (project, other):
        await memory.save(each, [{"summary": "Here", "entities": ["Name"]}])
    services, caller = _services(database), _caller(project, "read", "write", "admin")
    await _ask(services, caller, "memory_status", project=project.project)
    with pytest.raises(MunimentError):
        await _ask(services, _caller(project, "read", "write"), "delete_project", project=project.project)
    receipt = await _ask(services, caller, "delete_project", project=project.project)
    assert receipt.counts.items() >= {"event": 1, "entity": 1, "passage": 1}.items()
    assert _left(server, project) == []
    with owner_connection(server.owner_url) as owner:
        noted = owner.execute(
            "SELECT outcome FROM control.audit WHERE operation = 'delete_project' AND project_id = $1", (project.project_id,)
        )
        assert [row["outcome"] for row in noted.fetchall()] == ["forbidden", "ok"]
    for call in ({"name": "memory_status"}, {"name": "save_memory", "summary": "x"}, {"name": "delete_project"}):
        with pytest.raises(NotFound):
            await _ask(services, caller, call.pop("name"), project=project.project, **call)
    assert [entry.project for entry in (await _ask(services, caller, "list_projects")).projects] == [other.project]
    with pytest.raises(NotFound):  # a replica that still has the project in mind
        await memory.save(project, [{"summary": "Too late"}])
    assert len(await memory.rows(other, "SELECT id FROM m_0.event")) == 1
    again, created = await create_project(database, project.workspace_id, project.project, None, None)
    assert created
    assert again != project.project_id


async def test_nothing_it_said_is_left_anywhere(server: EmbeddedServer, database: Database, projects: Projects) -> None:
    host = projects.make()
    number, _ = await create_project(database, host.workspace_id, WORD.lower(), f"Named {WORD}", None)
    project = msgspec.structs.replace(host, project_id=number, project=WORD.lower())
    await plant(database, project)
    assert leftovers(server, project) != []
    await delete_project(database, project)
    assert leftovers(server, project) == []


async def test_a_deleted_project_is_no_work(server: EmbeddedServer, project: ProjectRef, database: Database) -> None:
    await delete_project(database, project)
    owner = OwnerDatabase(server.owner_url)
    with pytest.raises(ProjectGone):
        await owner.vacuum(project.project_id, ("event",))
    await owner.close()


async def test_another_workspace_cannot_delete_it(
    server: EmbeddedServer, database: Database, project: ProjectRef, projects: Projects
) -> None:
    other = projects.make()
    rows = await database.control("drop_project", other.workspace_id, project.project_id)
    assert rows[0]["counts"] is None
    assert "row" in _left(server, project)


async def test_a_project_that_is_written_read_and_embedded(
    server: EmbeddedServer, database: Database, memory: Memory, projects: Projects
) -> None:
    project = projects.make(dim=3)
    ids = await memory.save(project, [{"summary": f"line {n}", "entities": ["Name"]} for n in range(50)])
    owner = OwnerDatabase(server.owner_url)
    backfill = Backfill(owner, Letters())
    used = asyncio.Event()

    async def use(n: int) -> int:
        done = 0
        while True:
            try:
                await memory.save(project, [{"summary": f"more {n} {done}", "session": "s"}])
                await memory.rows(
                    project,
                    "SELECT count(*) FROM m_0.participation JOIN m_0.entity ON id = entity_id JOIN m_0.event AS e ON e.id = event_id",
                )
                done += 1
                used.set()
            except DatabaseBusy:
                continue
            except NotFound:
                return done

    async def drop() -> None:
        await delete_project(database, project)

    users = [asyncio.create_task(use(n)) for n in range(6)]
    await used.wait()
    await backfill.run_round([project.project_id])
    await drop()
    await backfill.run_round([project.project_id])
    assert max(await asyncio.gather(*users)) > 0
    await owner.close()
    assert len(ids) == 50
    assert _left(server, project) == []
    with pytest.raises(NotFound):
        await drop()


async def test_a_project_that_is_read_for_long_is_busy_and_stays(
    server: EmbeddedServer, database: Database, memory: Memory, project: ProjectRef
) -> None:
    await memory.save(project, [{"summary": "Here"}])
    drop = "ALTER FUNCTION control.drop_project SET lock_timeout = "
    with owner_connection(server.owner_url) as owner:
        owner.execute(f"{drop}'50ms'")
        try:
            async with database.read(project) as tx:
                assert await tx.fetchval("SELECT events FROM m_0.counter") == 1
                with pytest.raises(DatabaseBusy, match="read for a long time"):
                    await delete_project(database, project)
        finally:
            owner.execute(f"{drop}'10s'")
    assert len(await memory.rows(project, "SELECT id FROM m_0.event")) == 1
    assert (await delete_project(database, project))["event"] == 1


async def test_deleting_is_waited_for_as_long_as_it_waits_for_readers(server: EmbeddedServer) -> None:
    with owner_connection(server.owner_url) as owner:
        row = owner.execute("SELECT array_to_string(proconfig, ' ') AS settings FROM pg_proc WHERE proname = 'drop_project'").fetchone()
    assert row is not None
    (seconds,) = re.findall(r"lock_timeout=(\d+)s", row["settings"])
    assert int(seconds) * 1000 < projects_of_tenants._DROP_MS


async def test_a_project_without_its_schema_can_be_deleted(server: EmbeddedServer, database: Database, projects: Projects) -> None:
    project = projects.make()
    with owner_connection(server.owner_url) as owner:
        owner.execute(f"DROP SCHEMA {project.schema} CASCADE")
    assert await delete_project(database, project) == {}
    assert _left(server, project) == []


async def test_a_workspace_goes_with_its_projects_and_keys(
    server: EmbeddedServer, database: Database, memory: Memory, projects: Projects
) -> None:
    first, second = projects.make("closing"), projects.make("closing")
    await memory.save(first, [{"summary": "Here"}])
    with owner_connection(server.owner_url) as owner:
        found = workspaces.find_workspace(owner, "closing")
        key = workspaces.create_key(owner, found, pepper="", name="k", default_project=workspaces.find_project(owner, found, first.project))
        gone = workspaces.delete_workspace(owner, found)
        assert set(gone) == {first.project, second.project}
        assert gone[first.project]["event"] == 1
        with pytest.raises(NotFound):
            workspaces.find_workspace(owner, "closing")
        assert owner.execute("SELECT 1 FROM pg_roles WHERE rolname = $1", (first.role,)).fetchall() == []
    assert await database.control("find_key", key.id) == []
    for _ in range(12):  # more often than there are connections: none is left behind in a broken transaction
        with pytest.raises(NotFound):
            await memory.rows(first, "SELECT 1 FROM m_0.event")
    assert await memory.rows(projects.make(), "SELECT id FROM m_0.event") == []
