"""Every operation with our own checks switched off: whoever may touch everything by our word is refused by the database.

The role is the caller's own, which one query takes on at the beginning of each transaction; all else says that the project is the caller's.
"""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import msgspec
import pytest
import pytest_asyncio

from service.access.keys import ALL_SCOPES, Caller
from service.access.scope import ResolvedScope, Scopes
from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.query import QueryEmbedder
from service.embed.query_cache import QueryCache
from service.errors import MunimentError
from service.memory.sessions import start_session
from service.operations import CATALOGUE
from service.operations.operation import Operation, Services
from service.operations.perform import perform
from service.settings import Settings
from tests.conftest import Memory, Projects
from tests.integration.operations.conftest import Orchard
from tests.isolation.test_foreign_objects import everything_of
from tests.isolation.test_matrix import CANARY, request_of, takes

pytestmark = pytest.mark.parametrize("way", [0], ids=["direct"], indirect=True, scope="module")
IN_PROJECTS = [operation for operation in CATALOGUE if takes(operation, "project")]
# What is done by a function of `control` alone: it looks for the project in the caller's workspace, and finds none.
IN_CONTROL = {"delete_project", "rename_project"}
ASKED: dict[str, dict[str, Any]] = {
    "find_memory_connections": {"id": "evt_1"},
    "import_lines": {"lines": [{"line": "tag", "id": 1, "path": "intruder"}]},
    "update_memory": {"summary": "an intruder's line"},
    "forget": {"ids": ["evt_1"]},
    "rename_project": {"name": "An intruder's"},
}


def request_with(operation: Operation, **given: Any) -> msgspec.Struct:
    """The matrix's request, with more in it."""
    return msgspec.convert({**msgspec.to_builtins(request_of(operation, {})), **given}, operation.request)


class Unchecked(Scopes):
    """Takes everybody for whoever may touch the project."""

    def __init__(self, database: Database, project: ProjectRef) -> None:
        super().__init__(database)
        self._project = project

    async def one(self, caller: Caller, workspace: str | None, project: str | None) -> ProjectRef:
        return self._project

    async def many(self, caller: Caller, workspace: str | None, project: str | None, *more: Any) -> ResolvedScope:
        return ResolvedScope(caller.workspace, (self._project,), "named")

    async def readable(self, caller: Caller, workspace: str | None) -> list[ProjectRef]:
        return [self._project]

    def require_workspace(self, caller: Caller, workspace: str | None) -> None:
        """Requires nothing."""


class World:
    """A project with something in it, and a workspace from which it is attacked."""

    def __init__(self, database: Database, victim: ProjectRef, attacker: ProjectRef) -> None:
        self.victim = victim
        self._database, self._attacker = database, attacker

    async def perform(self, operation: Operation, *, forged: bool) -> Any:
        home = self._attacker if forged else self.victim
        project = msgspec.structs.replace(self.victim, workspace_id=home.workspace_id, workspace=home.workspace, role=home.role)
        services = Services(self._database, Unchecked(self._database, project), Settings(), QueryEmbedder(Orchard(), QueryCache(), 5.0))
        caller = Caller("oidc:attacker", home.workspace_id, home.workspace, home.role, frozenset(ALL_SCOPES), None, self.victim.project_id)
        return await perform(services, caller, operation, request_with(operation, **ASKED.get(operation.name, {})))


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def world(database: Database, memory: Memory, projects: Projects) -> AsyncIterator[World]:
    yield World(database, await filled(database, memory, projects.make()), projects.make())


async def filled(database: Database, memory: Memory, project: ProjectRef) -> ProjectRef:
    """What requests of the matrix name is there."""
    await start_session(database, project, CANARY, None)
    told = {"summary": f"{CANARY} told", "entities": [(CANARY, "name")], "tags": [CANARY], "session": CANARY}
    await memory.save(project, [told, told])
    await memory.page(project, f"{CANARY}.md", CANARY, f"{CANARY} told")
    return project


def _causes(error: BaseException | None) -> list[type[BaseException]]:
    return [] if error is None else [type(error), *_causes(error.__cause__ or error.__context__)]


@pytest.mark.parametrize("operation", IN_PROJECTS, ids=lambda operation: operation.name)
async def test_postgres_refuses_what_we_let_through(world: World, server: EmbeddedServer, operation: Operation) -> None:
    before = everything_of(server, world.victim)
    with pytest.raises(MunimentError) as refusal:
        await world.perform(operation, forged=True)
    assert f"{CANARY} told" not in str(refusal.value.problem())
    if operation.name in IN_CONTROL:
        assert refusal.value.code == "not_found"
    else:
        assert asyncpg.InsufficientPrivilegeError in _causes(refusal.value), _causes(refusal.value)
    assert everything_of(server, world.victim) == before


@pytest.mark.parametrize("operation", IN_PROJECTS, ids=lambda operation: operation.name)
async def test_the_same_attack_succeeds_where_it_is_no_attack(
    database: Database, memory: Memory, projects: Projects, operation: Operation
) -> None:
    """So it was the role, and nothing in the request, that was refused."""
    await World(database, await filled(database, memory, projects.make()), projects.make()).perform(operation, forged=False)
