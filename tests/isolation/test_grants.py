"""Keys that another workspace lets read, by every operation: they read what they were granted and nothing else, and write nothing there.

The matrix is made from the catalogue, with the requests of test_matrix.
"""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import msgspec
import pytest
import pytest_asyncio

from service.access.keys import ALL_SCOPES, Caller, Granted
from service.access.scope import Scopes
from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import MunimentError
from service.memory.event_rows import EventInput
from service.memory.events import read_events, save_event
from service.memory.sessions import start_session
from service.operations import CATALOGUE
from service.operations.operation import Operation, Services
from service.operations.perform import perform, perform_lines
from service.settings import Settings
from tests.conftest import Memory, Projects
from tests.isolation.test_matrix import request_of, rows_of, takes

pytestmark = pytest.mark.parametrize("way", [0, 1], ids=["direct", "pgbouncer-1"], indirect=True, scope="module")
READING = [operation for operation in CATALOGUE if operation.scope == "read" and takes(operation, "project")]
CHANGING = [operation for operation in CATALOGUE if operation.scope != "read"]
FURTHER = {"find_memory_connections": {"id": "evt_1"}}
SECRET = "xylocarpus"
OPEN = "quince"


class World:
    """`given` is granted to the reader of `own`; `kept`, of the same workspace, and `other`, of a third one, are not."""

    def __init__(self, services: Services, own: ProjectRef, given: ProjectRef, kept: ProjectRef, other: ProjectRef) -> None:
        self.services, self.own, self.given, self.kept, self.other = services, own, given, kept, other

    def reader(self) -> Caller:
        """May do everything at home."""
        home, there = self.own, self.given
        granted = (Granted(there.workspace_id, there.workspace, there.role, frozenset({there.project_id})),)
        return Caller("reader", home.workspace_id, home.workspace, home.role, frozenset(ALL_SCOPES), None, home.project_id, granted=granted)

    async def outcome(self, operation: Operation, caller: Caller, target: dict[str, str]) -> Any:
        """The answer, or the refusal, without the names that were asked for."""
        try:
            request = request_of(operation, target | FURTHER.get(operation.name, {}))
            assert request is not None
            return await perform(self.services, caller, operation, request)
        except MunimentError as error:
            problem = error.problem()
            told = problem.error
            for name in sorted(target.values(), key=len, reverse=True):
                told = told.replace(repr(name), "…")
            return problem.code, problem.status, told, problem.hint, problem.members


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def world(database: Database, memory: Memory, projects: Projects) -> AsyncIterator[World]:
    own, given = projects.make(), projects.make()
    kept, other = projects.make(given.workspace), projects.make()
    for project, word in ((given, OPEN), (kept, SECRET), (other, SECRET), (own, "home")):
        await start_session(database, project, SECRET, None)  # what requests name must be there to be read
        events = [{"summary": f"{word} {n}", "entities": [(SECRET, "name")], "tags": [SECRET], "session": SECRET} for n in (1, 2)]
        await memory.save(project, events)
        await memory.page(project, f"{SECRET}.md", word, f"{word} text")
    yield World(Services(database=database, scopes=Scopes(database), settings=Settings(), embedder=None), own, given, kept, other)


def _named(project: ProjectRef) -> list[dict[str, str]]:
    return [{"workspace": project.workspace, "project": project.project}, {"project": f"{project.workspace}/{project.project}"}]


@pytest.mark.parametrize("operation", READING, ids=lambda operation: operation.name)
async def test_what_was_granted_is_read_as_its_own_workspace_reads_it(world: World, operation: Operation) -> None:
    there = world.given
    insider = Caller("in", there.workspace_id, there.workspace, there.role, frozenset(ALL_SCOPES), None, None)
    inside = msgspec.json.encode(await world.outcome(operation, insider, _named(there)[0])).decode()
    for target in _named(there):
        answer = await world.outcome(operation, world.reader(), target)
        text = msgspec.json.encode(answer).decode()
        assert not isinstance(answer, tuple), answer
        assert f"{SECRET} " not in text
        assert "home" not in text
        assert (f"{OPEN} " in text) == (f"{OPEN} " in inside)
        if hasattr(answer, "project") and operation.lines is None:
            assert answer.project == f"{there.workspace}/{there.project}"


@pytest.mark.parametrize("operation", READING, ids=lambda operation: operation.name)
async def test_what_was_not_granted_looks_as_if_it_were_not_there(world: World, operation: Operation) -> None:
    kept, other, given = world.kept, world.other, world.given
    nothing = await world.outcome(operation, world.reader(), {"workspace": given.workspace, "project": "no-such"})
    assert nothing[0] == "not_found"
    assert await world.outcome(operation, world.reader(), {"workspace": given.workspace, "project": kept.project}) == nothing
    for project in (kept, other):
        for named in ({"project": f"{project.workspace}/{project.project}"}, {"project": project.project}):
            assert await world.outcome(operation, world.reader(), named) == nothing
    nowhere = await world.outcome(operation, world.reader(), {"workspace": "no-such", "project": other.project})
    assert await world.outcome(operation, world.reader(), {"workspace": other.workspace, "project": other.project}) == nowhere


@pytest.mark.parametrize("operation", CHANGING, ids=lambda operation: operation.name)
async def test_nothing_but_reading_finds_it(world: World, server: EmbeddedServer, operation: Operation) -> None:
    targets = [{"workspace": world.given.workspace}] if takes(operation, "workspace") else []
    targets += _named(world.given) if takes(operation, "project") else []
    before = rows_of(server, world.given, world.kept)
    for target in targets:
        absent = {"workspace": "no-such", "project": target.get("project", "").replace(world.given.workspace, "no-such")}
        refusal = await world.outcome(operation, world.reader(), target)
        assert isinstance(refusal, tuple)
        assert refusal[0] == "not_found"
        assert refusal == await world.outcome(operation, world.reader(), {name: absent[name] for name in target})
    assert rows_of(server, world.given, world.kept) == before


@pytest.mark.parametrize("operation", CATALOGUE, ids=lambda operation: operation.name)
async def test_operations_that_change_something_never_see_a_grant(world: World, operation: Operation) -> None:
    seen: list[Caller] = []

    async def run(services: Services, caller: Caller, request: Any) -> Any:
        seen.append(caller)
        return operation.answer

    async def lines(services: Services, caller: Caller, request: Any) -> AsyncIterator[bytes]:
        seen.append(caller)
        yield b""

    watched = msgspec.structs.replace(operation, run=run, lines=lines, audited=False)
    request = request_of(operation, {})
    try:
        await perform(world.services, world.reader(), watched, request)
    except MunimentError:  # what stands in for an answer may not have the size of one
        assert seen
    pieces = perform_lines(world.services, world.reader(), watched, request)
    assert pieces is not None
    assert [piece async for piece in pieces] == [b""]
    assert [bool(caller.granted) for caller in seen] == [operation.scope == "read"] * 2


async def test_global_covers_what_was_granted_and_no_more(world: World) -> None:
    search = next(operation for operation in CATALOGUE if operation.name == "memory_query")
    for word, hits in ((OPEN, 2), (SECRET, 4)):
        request = msgspec.convert({"query": word, "global": True, "limit": 100}, search.request)
        answer = await perform(world.services, world.reader(), search, request)
        assert answer.scope.projects == [world.own.project, f"{world.given.workspace}/{world.given.project}"]
        assert len(answer.raw_hits) == hits
        assert f"{SECRET} 1" not in msgspec.json.encode(answer).decode()


async def test_postgres_holds_where_our_checks_do_not(world: World, database: Database) -> None:
    """A grant changes no role: the reader's own reads nothing there, the giver's nothing else, and no transaction of reading writes."""
    granted = await world.services.scopes.one(world.reader(), world.given.workspace, world.given.project)
    assert (granted.role, granted.granted) == (world.given.role, True)
    for forged in (
        msgspec.structs.replace(granted, role=world.own.role),
        msgspec.structs.replace(granted, project_id=world.other.project_id),
        msgspec.structs.replace(granted, project_id=world.own.project_id),
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await read_events(database, forged, ["evt_1"])
    with pytest.raises(PermissionError):
        await save_event(database, granted, EventInput(summary="intruder"), None)

    async def write() -> None:
        async with database.read(granted) as tx:
            await tx.execute("DELETE FROM m_0.event")

    with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
        await write()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 FROM control.reading_grant",
        "SELECT control.find_granted('x')",
        "SELECT control.find_grants(1, NULL, '', '', 10)",
        "SELECT control.grant_reading(NULL, NULL, 1, NULL, 'x', NULL, NULL)",
        "SELECT control.end_grant(1, NULL, 'x')",
    ],
)
async def test_a_workspaces_role_gives_itself_nothing(world: World, database: Database, statement: str) -> None:
    async def run() -> None:
        async with database.write(world.own) as tx:
            await tx.execute(statement)

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await run()
