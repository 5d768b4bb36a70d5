"""With our own checks out of the way, Postgres refuses: a forged project reference meets "permission denied"."""

import asyncio

import asyncpg
import msgspec
import pytest

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.memory.event_rows import EventInput
from service.memory.events import read_events, save_event
from service.tenants.owner import owner_connection
from tests.conftest import Memory, Projects
from tests.isolation.conftest import Way


def _forged(victim: ProjectRef, attacker: ProjectRef) -> ProjectRef:
    """The victim's schema under the attacker's role, as a fault of ours could make it."""
    return msgspec.structs.replace(victim, workspace_id=attacker.workspace_id, workspace=attacker.workspace, role=attacker.role)


async def test_another_workspaces_schema_is_closed(database: Database, memory: Memory, projects: Projects) -> None:
    victim, attacker = projects.make(), projects.make()
    (saved,) = await memory.save(victim, [{"summary": "private"}])
    forged = _forged(victim, attacker)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await read_events(database, forged, [saved])
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await save_event(database, forged, EventInput(summary="intruder"), None)
    assert len(await memory.rows(victim, "SELECT 1 FROM m_0.event")) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 FROM control.api_key",
        "SELECT control.find_key('x')",
        "SELECT control.create_key('x', '', 1, '', '{read}', NULL, NULL, NULL)",
        "SELECT control.issue_key(NULL, 'x', '', 1, '', '{read}', NULL, NULL, NULL)",
        "SELECT control.find_keys(1, NULL, NULL, NULL, 10)",
        "SELECT control.set_member(NULL, 'x', 1, 'x', 'admin', '{}', NULL)",
        "SELECT control.open_workspace(NULL, 1, 'x', 'x', 'x', '', '{read}', NULL)",
        "SELECT control.change_member(NULL, 'x', 1, 'x', 'admin', '{}', NULL)",
        "SELECT control.begin_closing(1, 'main')",
        "SELECT control.leave_operator(1)",
        "SELECT control.close_workspace(1, 'main')",
        "INSERT INTO control.due (project_id) VALUES (1)",
        "CREATE TABLE m_0.extra ()",
        "DROP TABLE m_0.event",
        "ALTER TABLE m_0.event DISABLE TRIGGER ALL",
        "CREATE TABLE public.x ()",
        "SET SESSION AUTHORIZATION muniment_owner",
        "SELECT pg_read_file('/etc/passwd')",
    ],
)
async def test_a_workspaces_role_reaches_nothing_else(database: Database, project: ProjectRef, statement: str) -> None:
    async def run() -> None:
        async with database.write(project) as tx:
            await tx.execute(statement)

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await run()


async def test_a_workspaces_role_makes_work_for_its_own_projects_alone(
    database: Database, memory: Memory, projects: Projects, server: EmbeddedServer
) -> None:
    """By its role, whatever it names: a foreign project and one that is not there are refused alike."""
    own, sibling, foreign = projects.make("marking"), projects.make("marking"), projects.make()
    for project in (own, foreign):
        await memory.save(project, [{"summary": "marks its own project by itself"}])
    before = _due(server)

    async def mark(project_id: int, *first: str) -> str:
        try:
            async with database.write(own) as tx:
                for text in first:
                    await tx.execute(text)
                await tx.execute("SELECT control.mark_due($1)", project_id)
        except asyncpg.InsufficientPrivilegeError as error:
            return str(error)
        return ""

    named = f"SET LOCAL ROLE {own.role}"
    assert await mark(foreign.project_id) == await mark(2**40) == await mark(foreign.project_id, "RESET ROLE", named) != ""
    assert "mark_due" in await mark(foreign.project_id, "RESET ROLE")
    assert _due(server) == before
    for project in (own, sibling):
        assert await mark(project.project_id) == ""
    assert _due(server) == before | {own.project_id: 2, sibling.project_id: 1}


def _due(server: EmbeddedServer) -> dict[int, int]:
    """How often each project was said to have work."""
    with owner_connection(server.owner_url) as owner:
        return {row["project_id"]: row["saves"] for row in owner.execute("SELECT project_id, saves FROM control.due").fetchall()}


async def test_the_login_behind_the_role_owns_nothing(database: Database, memory: Memory, projects: Projects) -> None:
    """An injected statement can take its role off; what is left may read no table at all."""
    project = projects.make()
    await memory.save(project, [{"summary": "private"}])
    for statement in ("SELECT summary FROM m_0.event", "SELECT 1 FROM control.api_key", "SELECT 1 FROM control.workspace"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await _run_without_role(database, project, statement)


async def test_one_connection_serves_many_and_mixes_nothing(way: Way, memory: Memory, projects: Projects) -> None:
    """Pool size 1, two workspaces with the same names, calls that raise or are cancelled in the middle."""
    pair = [projects.make(), projects.make()]
    for number, project in enumerate(pair):
        await memory.save(project, [{"summary": f"row of {number}", "entities": [("Same Name", "name")]}])
    single = await way.open(max_size=1)

    async def call(n: int) -> str | None:
        async with single.read(pair[n % 2]) as tx:
            if n % 7 == 3:
                raise RuntimeError("in the middle")
            if n % 7 == 5:
                await tx.fetch("SELECT pg_sleep(30)")
            return await tx.fetchval("SELECT e.summary FROM m_0.event AS e")

    async def one(n: int) -> str | None:
        try:
            async with asyncio.timeout(0.02 if n % 7 == 5 else 30):
                return await call(n)
        except (RuntimeError, TimeoutError):
            return None

    for first in range(0, 200, 20):
        seen = await asyncio.gather(*(one(n) for n in range(first, first + 20)))
        assert all(text in (None, f"row of {(first + n) % 2}") for n, text in enumerate(seen))
    async with single.read(pair[0]) as tx:
        state = await tx.fetchrow("SELECT current_user::text AS role, current_setting('search_path') AS path")
    assert state is not None
    assert (state["role"], state["path"].split(",")[0]) == (pair[0].role, pair[0].schema)
    await single.close()


async def _run_without_role(database: Database, project: ProjectRef, statement: str) -> None:
    async with database.read(project) as tx:
        await tx.execute("RESET ROLE")
        await tx.execute(statement)
