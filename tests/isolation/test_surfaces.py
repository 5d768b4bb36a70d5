"""Every operation on every surface, with real keys over HTTP: another workspace's names lead nowhere, and a key for reading writes nothing.

Addresses, tools and what goes into them are read from the catalogue.
"""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import msgspec
import pytest
import pytest_asyncio

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.operations import CATALOGUE
from service.operations.operation import Operation, Route
from service.settings import Settings
from tests.conftest import Memory, Projects
from tests.integration.surface.conftest import MakeKey, make_api_key, run_app
from tests.isolation.test_foreign_objects import everything_of
from tests.isolation.test_matrix import CANARY, request_of, takes
from tests.isolation.test_unchecked import ASKED
from tests.mcp.conftest import post

__all__ = ["make_api_key"]
pytestmark = pytest.mark.parametrize("way", [0], ids=["direct"], indirect=True, scope="module")
REFUSED = {400, 403, 404, 405, 409, 413, 415, 422}


class World:
    """A server; a project with something in it; keys of another workspace, one for everything and one for reading."""

    def __init__(self, client: httpx2.AsyncClient, victim: ProjectRef, home: ProjectRef, keys: dict[str, str]) -> None:
        self._client, self.victim, self.home, self._keys = client, victim, home, keys

    def arguments(self, operation: Operation, project: ProjectRef) -> dict[str, Any]:
        names = {"workspace": project.workspace, "project": project.project}
        request = request_of(operation, {name: value for name, value in names.items() if takes(operation, name)})
        return {**msgspec.to_builtins(request), **ASKED.get(operation.name, {})}

    async def rest(self, route: Route, given: dict[str, Any], key: str) -> httpx2.Response:
        fields = re.findall(r"\{(\w+)\*?\}", route.path)
        path = re.sub(r"\{(\w+)\*?\}", lambda found: str(given[found[1]]), route.path)
        rest = {name: value for name, value in given.items() if name not in fields and value is not None}
        sent: dict[str, Any] = {"json": rest}
        if route.method in ("GET", "DELETE"):
            sent = {"params": {name: value if isinstance(value, (str, int, list)) else json.dumps(value) for name, value in rest.items()}}
        return await self._client.request(route.method, f"/api/v1{path}", headers=self._bearer(key), **sent)

    async def tool(self, operation: Operation, given: dict[str, Any], key: str) -> dict[str, Any]:
        params = {"name": operation.name, "arguments": {name: value for name, value in given.items() if value is not None}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return (await post(self._client, message, **self._bearer(key))).json()

    def _bearer(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self._keys[key]}"}


@pytest_asyncio.fixture
async def world(database: Database, memory: Memory, projects: Projects, make_api_key: MakeKey) -> AsyncIterator[World]:
    victim, home = projects.make(), projects.make()
    told = {"summary": f"{CANARY} told", "entities": [(CANARY, "name")], "tags": [CANARY], "session": CANARY}
    await memory.save(victim, [told, told])
    await memory.page(victim, f"{CANARY}.md", CANARY, f"{CANARY} told")
    keys = {"full": make_api_key(home, "read", "write", "admin"), "reading": make_api_key(home, "read")}
    async with run_app(database, Settings(embedding_provider="none")) as served, served.client() as client:
        yield World(client, victim, home, keys)


@pytest.mark.parametrize("operation", [each for each in CATALOGUE if takes(each, "workspace")], ids=lambda each: each.name)
async def test_anothers_names_lead_nowhere(world: World, server: EmbeddedServer, operation: Operation) -> None:
    before = everything_of(server, world.victim)
    given = world.arguments(operation, world.victim)
    for key in ("full", "reading"):
        for route in operation.routes:
            reply = await world.rest(route, given, key)
            if "{workspace}" in route.path or route.method != "GET":
                assert reply.status_code in REFUSED, (route, reply.text)
            assert f"{CANARY} told" not in reply.text, route
        if operation.tool is not None:
            answer = await world.tool(operation, given, key)
            assert "error" in answer or answer["result"]["isError"], answer
            assert f"{CANARY} told" not in json.dumps(answer)
    assert everything_of(server, world.victim) == before


@pytest.mark.parametrize("operation", [each for each in CATALOGUE if each.scope != "read"], ids=lambda each: each.name)
async def test_a_key_for_reading_writes_nothing_at_home(world: World, server: EmbeddedServer, operation: Operation) -> None:
    before = everything_of(server, world.home)
    given = world.arguments(operation, world.home)
    for route in operation.routes:
        reply = await world.rest(route, given, "reading")
        assert (reply.status_code, reply.json()["code"]) == (403, "forbidden"), (route, reply.text)
    if operation.tool is not None:
        answer = await world.tool(operation, given, "reading")
        assert "error" in answer or answer["result"]["isError"], answer
    assert everything_of(server, world.home) == before
