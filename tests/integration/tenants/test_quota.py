"""Quotas: exact under many writers and several projects, given back by deleting, and no obstacle to deleting."""

import asyncio
from collections.abc import Callable
from typing import Any

import asyncpg
import pytest

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import QuotaReached
from service.memory.correct import Correction, correct_event
from service.memory.forget import Forgetting
from service.memory.sessions import end_session
from service.tenants import workspaces
from service.tenants.migrate import apply_area, migrate
from service.tenants.owner import owner_connection
from service.tenants.projects import create_project, delete_project
from tests.conftest import Memory, Projects

Limit = Callable[..., None]


@pytest.fixture
def limit(server: EmbeddedServer) -> Limit:
    """`limit(project, events=3)` sets what the project's workspace may keep."""

    def set_quota(project: ProjectRef, **limits: int | None) -> None:
        with owner_connection(server.owner_url) as owner:
            workspaces.set_quota(owner, workspaces.find_workspace(owner, project.workspace), limits)

    return set_quota


async def usage(database: Database, project: ProjectRef) -> tuple[int, int]:
    (row,) = await database.control("find_usage", project.workspace_id)
    return row["events"], row["bytes"]


async def counted(memory: Memory, project: ProjectRef) -> tuple[int, int]:
    """The same, counted by hand."""
    (row,) = await memory.rows(
        project,
        "SELECT (SELECT count(*) FROM m_0.event) AS events, (SELECT coalesce(sum(octet_length(concat(summary, content))), 0) FROM "
        "(SELECT summary, content FROM m_0.event UNION ALL SELECT summary, content FROM m_0.event_version UNION ALL "
        "SELECT title, body FROM m_0.page UNION ALL SELECT title, body FROM m_0.page_version) AS x) AS bytes",
    )
    return row["events"], row["bytes"]


async def attempts(calls: list[Any]) -> int:
    """How many of the calls went through; all others met the quota."""
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [result for result in results if isinstance(result, BaseException) and not isinstance(result, QuotaReached)] == []
    return sum(not isinstance(result, BaseException) for result in results)


async def test_fifty_writers_stop_at_the_limit(database: Database, memory: Memory, projects: Projects, limit: Limit) -> None:
    """In three projects of one workspace, so that no project's own lock makes it exact."""
    places = [projects.make("crowded-quota") for _ in range(3)]
    limit(places[0], events=40)
    done = await attempts([memory.save(places[n % 3], [{"summary": f"event {n}"}, {"summary": f"more {n}"}]) for n in range(50)])
    assert done == 20
    assert (await usage(database, places[0]))[0] == 40
    assert sum([(await counted(memory, place))[0] for place in places]) == 40


async def test_bytes_stop_at_the_limit(database: Database, memory: Memory, projects: Projects, limit: Limit) -> None:
    places = [projects.make("heavy-quota") for _ in range(2)]
    limit(places[0], bytes=10_000)
    done = await attempts([memory.page(places[n % 2], f"p{n}.md", "Page", "x" * 996) for n in range(30)])
    assert done == 10
    assert (await usage(database, places[0]))[1] == 10_000


async def test_the_refusal_says_what_and_how_much(memory: Memory, project: ProjectRef, limit: Limit) -> None:
    limit(project, events=1)
    await memory.save(project, [{"summary": "one"}])
    with pytest.raises(QuotaReached) as refusal:
        await memory.save(project, [{"summary": "two"}])
    problem = refusal.value.problem()
    assert (problem.code, problem.status, problem.members) == ("quota_reached", 403, {"quota": "events", "limit": 1})
    assert "at most 1 events" in problem.error
    assert "operator" in str(problem.hint)
    assert [row["summary"] for row in await memory.rows(project, "SELECT summary FROM m_0.event")] == ["one"]


async def test_usage_is_what_is_there(database: Database, memory: Memory, project: ProjectRef) -> None:
    """Through every way of changing it."""
    ids = await memory.save(project, [{"summary": f"one {n}", "content": "é" * n, "session": "s"} for n in range(5)])
    await memory.save(project, [{"summary": "long", "content": "word " * 30_000}])
    await correct_event(database, project, ids[0], Correction(summary="another summary altogether", content="new"), "me")
    for text in ("first text", "second, longer text", "third"):
        await memory.page(project, "a.md", "A page", text)
    await end_session(database, project, "s", "me")
    assert await usage(database, project) == await counted(memory, project)
    assert (await usage(database, project))[0] > 6
    forgetting = Forgetting(database, project)
    await forgetting.events(ids[:2])
    await forgetting.page("a.md")
    assert await usage(database, project) == await counted(memory, project)
    await Forgetting(database, project).author("test")
    assert await usage(database, project) == await counted(memory, project) == (0, 0)


async def test_deleting_gives_room_back(database: Database, memory: Memory, projects: Projects, limit: Limit) -> None:
    first, second = projects.make("roomy-quota"), projects.make("roomy-quota")
    limit(first, events=3)
    ids = await memory.save(first, [{"summary": "a"}, {"summary": "b"}])
    await memory.save(second, [{"summary": "c"}])
    with pytest.raises(QuotaReached):
        await memory.save(second, [{"summary": "d"}])
    await Forgetting(database, first).events(ids[:1])
    await memory.save(second, [{"summary": "d"}])
    with pytest.raises(QuotaReached):
        await memory.save(second, [{"summary": "e"}])
    await delete_project(database, first)
    await memory.save(second, [{"summary": "e"}])
    assert (await usage(database, second))[0] == 3


async def test_what_is_over_the_limit_can_still_be_forgotten(database: Database, memory: Memory, project: ProjectRef, limit: Limit) -> None:
    """Forgetting writes the session's page anew, earlier versions and all: what counts is what the whole call leaves."""
    ids = await memory.save(project, [{"summary": f"line {n} " + "x" * 100, "session": "s"} for n in range(20)])
    await end_session(database, project, "s", "me")
    limit(project, events=5, bytes=100)
    before = await usage(database, project)
    await Forgetting(database, project).events(ids[:1])
    after = await usage(database, project)
    assert after[0] == before[0] - 1
    assert after[1] < before[1]
    with pytest.raises(QuotaReached):
        await memory.page(project, "new.md", "New", "text")
    with pytest.raises(QuotaReached):
        await correct_event(database, project, ids[5], Correction(content="more text"), "me")


async def test_without_a_limit_nothing_is_refused(memory: Memory, project: ProjectRef, limit: Limit) -> None:
    limit(project, events=0)
    with pytest.raises(QuotaReached):
        await memory.save(project, [{"summary": "x"}])
    limit(project, events=None)
    assert len(await memory.save(project, [{"summary": "x"}])) == 1


async def test_projects_stop_at_the_limit(database: Database, server: EmbeddedServer, projects: Projects, limit: Limit) -> None:
    project = projects.make("few-projects")
    limit(project, projects=3)
    done = await attempts([create_project(database, project.workspace_id, f"more-{n}", None, None) for n in range(8)])
    assert done == 2
    again, created = await create_project(database, project.workspace_id, project.project, None, None)
    assert (again, created) == (project.project_id, False)  # what stands is found, also where no other may be made
    with owner_connection(server.owner_url) as owner, pytest.raises(QuotaReached, match="3 projects"):
        workspaces.create_project(owner, workspaces.find_workspace(owner, "few-projects"), "by-hand")
    await delete_project(database, project)
    assert (await create_project(database, project.workspace_id, "room-again", None, None))[1]


async def test_a_workspace_counts_for_itself(memory: Memory, projects: Projects, limit: Limit) -> None:
    first, other = projects.make(), projects.make()
    limit(first, events=1)
    await memory.save(first, [{"summary": "x"}])
    assert len(await memory.save(other, [{"summary": f"{n}"} for n in range(5)])) == 5


async def test_a_migration_counts_what_was_there(
    server: EmbeddedServer, database: Database, memory: Memory, project: ProjectRef, limit: Limit
) -> None:
    """A project from before usage was counted, in a workspace that may keep less than that."""
    await memory.save(project, [{"summary": "kept", "content": "text"}])
    await memory.page(project, "a.md", "A", "page")
    limit(project, events=0)
    with owner_connection(server.owner_url) as owner:
        owner.execute("DELETE FROM control.usage WHERE project_id = $1", (project.project_id,))
        owner.execute(f"DELETE FROM {project.schema}.migration WHERE name = '0004_usage'")
        with owner.transaction():
            apply_area(owner, "project", project.schema, "ext", "all", role=project.role)
    assert await usage(database, project) == await counted(memory, project)
    assert migrate(server.owner_url, superuser_allowed=True).failed == {}
    with pytest.raises(QuotaReached):
        await memory.save(project, [{"summary": "more"}])


async def test_nobody_but_the_database_counts(database: Database, project: ProjectRef) -> None:
    for statement in (
        "SELECT control.keep_usage('m_1', -1000, -1000)",
        "UPDATE control.usage SET events = 0",
        "DELETE FROM control.quota",
        "SELECT control.limit_workspace(1, '{}')",
        "SELECT control.set_quota(1, 'main', '{}')",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await _run(database, project, statement)


async def _run(database: Database, project: ProjectRef, statement: str) -> None:
    async with database.write(project) as tx:
        await tx.execute(statement)
