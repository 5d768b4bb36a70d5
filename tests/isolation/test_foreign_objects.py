"""Every text that an outsider may have heard of, in every field of every operation: it means nothing, and no more than what there is not.

Operations, fields and their kinds are read from the catalogue; cursors, ids of keys and the like are those that the other workspace was given.
"""

import json
import re
from collections.abc import AsyncIterator
from itertools import product
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from service.access.keys import ALL_SCOPES, Caller
from service.access.scope import Scopes
from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import MunimentError
from service.operations import CATALOGUE
from service.operations.operation import Operation, Services
from service.operations.perform import perform, perform_lines
from service.settings import Settings
from service.tenants.owner import owner_connection
from tests.conftest import Memory, Projects
from tests.isolation.foreign import Heard, fields_with_text, requests_with
from tests.isolation.test_matrix import request_of, rows_of, takes

pytestmark = pytest.mark.parametrize("way", [0], ids=["direct"], indirect=True, scope="module")
KNOWN = "xylocarpus"
HIDDEN = "zanzibarite"
OTHER_WORKSPACE = "heard-of"


class World:
    """A workspace whose names are known and whose memory is not, and another one that tries them."""

    def __init__(self, services: Services, victim: ProjectRef, home: ProjectRef) -> None:
        self.services, self.victim, self.home = services, victim, home
        self.heard: list[Heard] = []

    async def insider(self, name: str, /, **given: Any) -> Any:
        place = self.victim
        caller = Caller("oidc:insider", place.workspace_id, place.workspace, place.role, frozenset(ALL_SCOPES), None, place.project_id)
        return await _perform(self.services, caller, name, given)

    def outsider(self, own: ProjectRef, kind: str) -> Caller:
        bound = frozenset({own.project_id}) if kind == "bound" else None
        return Caller("oidc:outsider", own.workspace_id, own.workspace, own.role, frozenset(ALL_SCOPES), bound, own.project_id)


async def _perform(services: Services, caller: Caller, name: str, given: dict[str, Any]) -> Any:
    operation = next(each for each in CATALOGUE if each.name == name)
    return msgspec.to_builtins(await perform(services, caller, operation, msgspec.convert(given, operation.request)))


async def _fill(world: World, memory: Memory) -> list[Heard]:
    """Two of everything that can be listed, and what is known of it."""
    victim = world.victim
    for name in (KNOWN, HIDDEN):
        await world.insider("start_session", session=name)
        await memory.save(victim, [{"summary": HIDDEN, "content": HIDDEN, "entities": [(name, "name")], "tags": [name], "session": name}])
        await memory.page(victim, f"{name}.md", HIDDEN, HIDDEN)
        await world.insider("set_member", subject=name, role="reader")
    keys = [await world.insider("create_key", name=HIDDEN) for _ in range(2)]
    for key in keys:
        await world.insider("grant_reading", key_id=key["id"][::-1])
    cursors: list[Any] = []
    for operation in CATALOGUE:
        if takes(operation, "cursor"):
            required = msgspec.to_builtins(request_of(operation, {}))
            answer = await world.insider(
                operation.name, **{**required, "limit": 1, "name": ""} if takes(operation, "name") else {"limit": 1}
            )
            cursors.append(answer.get("next_cursor"))
    assert sum(cursor is not None for cursor in cursors) >= len(cursors) - 2, cursors  # there is one workspace to see, one project in it
    slug, schema = victim.project, victim.schema
    return [
        *(Heard(f"{kind}_{number}", f"{kind}_90000{number}") for kind in ("evt", "ent", "tag", "pg") for number in (1, 2)),
        *(Heard(text, text.replace(KNOWN, "xylocarpum")) for text in (KNOWN, f"{KNOWN}.md", f"sessions/{KNOWN}.md")),
        *(Heard(text, f"{text[:-1]}q") for text in (slug, f"{victim.workspace}/{slug}")),
        Heard(victim.workspace, f"{victim.workspace[:-1]}q"),
        *(Heard(key["id"], f"{key['id'][:-2]}qq") for key in keys),
        Heard(keys[0]["key"]),
        *(Heard(cursor) for cursor in cursors if cursor),
        Heard(f"SELECT summary FROM {schema}.event"),
        Heard(f"x'; SELECT summary FROM {schema}.event; --"),
        Heard("START a = events(ids: ['evt_1', 'evt_2']) RETURN a"),
        Heard(f"START a = events(entity: '{KNOWN}') MATCH (a)-[:SHARES]-(b) RETURN b"),
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def world(database: Database, memory: Memory, projects: Projects) -> AsyncIterator[World]:
    services = Services(database=database, scopes=Scopes(database), settings=Settings(), embedder=None, pepper="pepper")
    made = World(services, projects.make(OTHER_WORKSPACE), projects.make())
    made.heard = await _fill(made, memory)
    yield made


def everything_of(server: EmbeddedServer, project: ProjectRef) -> list[Any]:
    """All rows of a project, and those of `control` about its workspace."""
    with owner_connection(server.owner_url) as owner:
        tables = owner.execute(
            "SELECT c.relname AS name FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid "
            "WHERE c.relnamespace = 'control'::regnamespace AND c.relkind = 'r' AND a.attname = 'workspace_id' AND c.relname <> 'audit' "
            "ORDER BY 1"
        ).fetchall()
        found = [
            str(row)
            for table in tables
            for row in owner.execute(
                f"SELECT (to_jsonb(t) - 'last_used_at')::text FROM control.{table['name']} AS t WHERE workspace_id = $1 ORDER BY 1",
                (project.workspace_id,),
            ).fetchall()
        ]
        found += [
            str(row) for row in owner.execute("SELECT d FROM control.due AS d WHERE project_id = $1", (project.project_id,)).fetchall()
        ]
        found += [
            str(row) for row in owner.execute("SELECT w FROM control.workspace AS w WHERE id = $1", (project.workspace_id,)).fetchall()
        ]
    return found + rows_of(server, project)


async def _outcome(world: World, caller: Caller, operation: Operation, request: msgspec.Struct) -> str:
    """The answer with all its pieces, or the refusal."""
    try:
        answer = await perform(world.services, caller, operation, request)
        pieces = perform_lines(world.services, caller, operation, request)
        return msgspec.json.encode(answer).decode() + "".join([piece.decode() async for piece in pieces or _none()])
    except MunimentError as error:
        return msgspec.json.encode(error.problem()).decode()


async def _none() -> AsyncIterator[bytes]:
    for piece in ():
        yield piece


def _plain(told: str, text: str) -> str:
    """What was told, without the words of the question and without times."""
    quoted = json.dumps(text, ensure_ascii=False)[1:-1]
    for word in (quoted, quoted.rpartition("/")[2]):
        told = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "…", told)
    return re.sub(r'((?:\w+_|")ms":)[0-9.]+', r"\1", told)


@pytest.mark.parametrize(
    ("operation", "kind"), list(product(CATALOGUE, ("wide", "bound"))), ids=lambda value: getattr(value, "name", value)
)
async def test_what_was_heard_of_elsewhere_means_nothing(
    world: World, server: EmbeddedServer, projects: Projects, operation: Operation, kind: str
) -> None:
    own = projects.make(world.home.workspace)
    caller = world.outsider(own, kind)
    before = everything_of(server, world.victim)
    others = msgspec.to_builtins(request_of(operation, {}))
    for field in fields_with_text(operation):
        told: list[str] = []
        for heard in world.heard:
            absent = heard.absent if operation.scope == "read" else None
            pair = (requests_with(operation, field, text or heard.text, others) for text in (heard.text, absent))
            for request, like in zip(*pair, strict=True):
                told.append(await _outcome(world, caller, operation, request))
                assert HIDDEN not in told[-1], (field, heard)
                if absent is not None:
                    assert _plain(told[-1], heard.text) == _plain(await _outcome(world, caller, operation, like), absent), (field, heard)
        assert told, field
    assert everything_of(server, world.victim) == before
