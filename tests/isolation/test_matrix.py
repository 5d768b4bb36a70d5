"""Every operation, by every kind of key, with the names and ids of others: nothing comes back, nothing is written.

The matrix is made from the catalogue, so a new operation joins it by itself: its request is filled by the names and types of its fields.
"""

from collections.abc import AsyncIterator
from itertools import product
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
import pytest_asyncio

from service.access.keys import ALL_SCOPES, Caller
from service.access.scope import ScopeNames, Scopes
from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import MunimentError
from service.memory.sessions import start_session
from service.operations import CATALOGUE
from service.operations.operation import Operation, Services
from service.operations.perform import perform
from service.settings import Settings
from service.tenants.owner import owner_connection
from tests.conftest import Memory, Projects

# One call after the other: a pooler of several connections would use one of them.
pytestmark = pytest.mark.parametrize("way", [0, 1], ids=["direct", "pgbouncer-1"], indirect=True, scope="module")
CANARY = "xylocarpus"
MINE = "periwinkle"

# What a caller could know of somebody else's memory: a field of this name gets this value.
FOREIGN: dict[str, Any] = {
    "id": "evt_1",
    "ids": ["evt_1", "evt_2"],
    "path": f"{CANARY}.md",
    "prefix": CANARY,
    "name": CANARY,
    "session": CANARY,
    "previous": "evt_2",
    "resolves": ["evt_2"],
    "relation": "NEXT",
    "key_id": "abcdefghijkl",
    "role": "reader",
    "provider": "none",
    "from": "evt_1",
    "to": "evt_2",
    "summary": "an intruder's line",
    "body": "an intruder's page",
    "slug": "intruded",
    "events": [{"summary": "an intruder's line", "previous": "evt_2"}],
    "params": {"name": CANARY},
}
QUERIES = {
    "query_memory_graph": "START a = events(entity: $name, k: 200) RETURN a LIMIT 200",
    "memory_query": CANARY,
    "query_memories_with_sql": "SELECT summary FROM events",
}


class World:
    """Two workspaces; in the first a project that holds the canary, in the second the attacker's project and one that a bound key may not touch."""

    def __init__(self, services: Services, victim: ProjectRef, own: ProjectRef, sibling: ProjectRef) -> None:
        self.services, self.victim, self.own, self.sibling = services, victim, own, sibling

    def caller(self, kind: str) -> Caller:
        """`wide` may do all in its workspace, `bound` only in its own project, `reader` only reads there."""
        scopes = frozenset({"read"} if kind == "reader" else ALL_SCOPES)
        bound = None if kind == "wide" else frozenset({self.own.project_id})
        return Caller("attacker", self.own.workspace_id, self.own.workspace, self.own.role, scopes, bound, self.own.project_id)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def world(database: Database, memory: Memory, projects: Projects) -> AsyncIterator[World]:
    victim, own = projects.make("matrix-victim"), projects.make("matrix-attacker")
    sibling = projects.make("matrix-attacker")
    for project, word in ((victim, CANARY), (sibling, CANARY), (own, MINE)):
        await start_session(database, project, word, None)
        ids = await memory.save(
            project,
            [
                {"summary": f"{word} one", "entities": [(word, "name")], "tags": [word]},
                {"summary": f"{word} two", "session": word, "entities": [(word, "name")]},
            ],
        )
        if word == MINE:  # the attacker's own project is small: what has a number in the victim's has none here
            await _empty(database, project, ids)
        else:
            await memory.page(project, f"{word}.md", word, f"{word} text")
    yield World(Services(database=database, scopes=Scopes(database), settings=Settings(), embedder=None), victim, own, sibling)


async def _empty(database: Database, project: ProjectRef, ids: list[str]) -> None:
    async with database.write(project) as tx:
        await tx.fetch("SELECT m_0.m_0_delete_events($1::bigint[])", [int(each[4:]) for each in ids])


def _targets(world: World, kind: str) -> list[dict[str, str]]:
    """Ways to name what is not the key's."""
    ways = [
        {"workspace": world.victim.workspace, "project": world.victim.project},
        {"project": world.victim.project},
        {"workspace": world.victim.workspace},
        {},
        {"project": f"{world.victim.project}' OR '1'='1"},
        {"project": world.victim.schema},
        {"project": world.victim.project.upper()},
        {"project": "../" + world.victim.project},
    ]
    if kind != "wide":
        ways += [{"workspace": world.own.workspace, "project": world.sibling.project}, {"project": world.sibling.project}]
    return ways


def _value(operation: Operation, field: Any) -> Any:
    if field.encode_name == "query" or field.encode_name == "sql":
        return QUERIES.get(operation.name, CANARY)
    kinds = _kinds(field.type)
    if field.encode_name in FOREIGN and (type(FOREIGN[field.encode_name]) in kinds or Literal in kinds):
        return FOREIGN[field.encode_name]
    return next((value for kind, value in ((bool, True), (int, 1), (str, CANARY), (list, []), (dict, {})) if kind in kinds), None)


def _kinds(kind: Any) -> set[Any]:
    """The plain types that a field takes."""
    if get_origin(kind) in (Annotated, Union, UnionType):
        return set[Any]().union(*map(_kinds, get_args(kind)))
    return {get_origin(kind) or kind}


def request_of(operation: Operation, target: dict[str, str]) -> msgspec.Struct | None:
    """The operation's request with foreign values in every required field and every field that names something."""
    fields = msgspec.structs.fields(operation.request)
    values: dict[str, Any] = {f.encode_name: _value(operation, f) for f in fields if f.required or f.encode_name in ("params", "previous")}
    if not all(takes(operation, name) for name in target):
        return None
    return msgspec.convert({**values, **target}, operation.request)


def takes(operation: Operation, field: str) -> bool:
    return field in {each.encode_name for each in msgspec.structs.fields(operation.request)}


def rows_of(server: EmbeddedServer, *projects: ProjectRef) -> list[Any]:
    """Every row of every table of some projects."""
    found: list[Any] = []
    with owner_connection(server.owner_url) as owner:
        for project in projects:
            tables = owner.execute(
                "SELECT relname FROM pg_class WHERE relnamespace = $1::text::regnamespace AND relkind = 'r' ORDER BY 1", (project.schema,)
            ).fetchall()
            for table in tables:
                found += [
                    str(row) for row in owner.execute(f"SELECT t::text FROM {project.schema}.{table['relname']} AS t ORDER BY 1").fetchall()
                ]
    return found


@pytest.mark.parametrize(
    ("operation", "kind"), list(product(CATALOGUE, ("wide", "bound", "reader"))), ids=lambda value: getattr(value, "name", value)
)
async def test_nothing_of_others_is_read_or_written(world: World, server: EmbeddedServer, operation: Operation, kind: str) -> None:
    before = rows_of(server, world.victim, world.sibling)
    tried = 0
    for target in _targets(world, kind):
        request = request_of(operation, target)
        if request is None:
            continue
        tried += 1
        try:
            answer = await perform(world.services, world.caller(kind), operation, request)
        except MunimentError as error:
            shown = f"{error.message} {error.members}"
            shown = shown.replace(repr(target.get("project")), "").replace(repr(FOREIGN["path"]), "")
            assert world.sibling.project not in shown or kind == "wide"
            assert "matrix-victim" not in shown.replace(repr(target.get("workspace")), "")
            continue
        text = msgspec.json.encode(answer).decode()
        assert f"{CANARY} one" not in text
        assert f"{CANARY} two" not in text
        assert f"{CANARY} text" not in text
        assert world.victim.project not in text
    assert tried >= (2 if takes(operation, "workspace") else 1)
    assert rows_of(server, world.victim, world.sibling) == before


@pytest.mark.parametrize("operation", [o for o in CATALOGUE if takes(o, "project")], ids=lambda o: o.name)
async def test_the_foreign_and_the_absent_look_the_same(world: World, operation: Operation, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are answered alike, and cost the same: as many looks into the database, for the same things."""
    answers: list[Any] = []
    looks: list[Any] = []
    control = world.services.database.control

    async def look(name: str, *args: Any) -> Any:
        looks.append((name, len(args)))
        return await control(name, *args)

    monkeypatch.setattr(world.services.database, "control", look)
    for project in (world.victim.project, world.sibling.project, "no-such-project"):
        looks.clear()
        world.services.scopes.forget()
        request = request_of(operation, {"project": project})
        assert request is not None
        with pytest.raises(MunimentError) as refusal:
            await perform(world.services, world.caller("bound"), operation, request)
        problem = refusal.value.problem()
        answers.append((problem.code, problem.status, problem.error.replace(project, "…"), problem.hint, tuple(looks)))
    assert answers[0] == answers[1] == answers[2]


async def test_a_list_of_scopes_cannot_reach_further(world: World) -> None:
    search = next(operation for operation in CATALOGUE if operation.name == "memory_query")
    for scope in (ScopeNames(world.victim.project, world.victim.workspace), ScopeNames(world.sibling.project)):
        with pytest.raises(MunimentError):
            await perform(world.services, world.caller("bound"), search, search.request(query=CANARY, scopes=[scope]))
    answer = await perform(
        world.services, world.caller("bound"), search, msgspec.convert({"query": CANARY, "global": True}, search.request)
    )
    assert answer.scope.projects == [world.own.project]
    assert answer.raw_hits == []
