"""A server as users meet it: the app on uvicorn, on a port of its own, and keys to call it with."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import pytest_asyncio
import structlog
import uvicorn

from service.access.changes import Changes
from service.access.identify import open_identify
from service.access.keys import make_key
from service.access.scope import Scopes
from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.operations import CATALOGUE
from service.operations.operation import Operation, Services
from service.settings import Settings
from service.surface.health import ServerState
from service.surface.http import build_app
from service.surface.wire import make_config
from service.tenants.owner import owner_connection
from tests.conftest import Memory, Projects
from tests.integration.surface.asking import Make

PEPPER = "a pepper for tests"
MakeKey = Callable[..., str]


@dataclass(frozen=True)
class Running:
    """A server that takes requests."""

    url: str
    services: Services
    state: ServerState

    def client(self, key: str | None = None, **headers: str) -> httpx2.AsyncClient:
        bearer = {} if key is None else {"authorization": f"Bearer {key}"}
        return httpx2.AsyncClient(base_url=self.url, headers={**bearer, **headers}, timeout=30, trust_env=False)


class Reader:
    """A key of another workspace than the one that gives, and a client that has it."""

    def __init__(self, client: httpx2.AsyncClient, key: str, home: ProjectRef) -> None:
        self.client, self.home, self.id = client, home, key.split("_")[1]

    async def search(self, **body: Any) -> dict[str, Any]:
        reply = await self.client.post("/api/v1/search", json={"query": "quince", **body})
        assert reply.status_code == 200, reply.text
        return reply.json()


@contextmanager
def free_socket() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        yield listener


@asynccontextmanager
async def run_app(database: Database, settings: Settings, catalogue: Sequence[Operation] = CATALOGUE) -> AsyncIterator[Running]:
    """Serves the catalogue until left."""
    scopes = Scopes(database)
    changes = Changes(None, scopes.forget)
    services = Services(database=database, scopes=scopes, settings=settings, embedder=None, pepper=PEPPER, changes=changes)
    state = ServerState()
    async with open_identify(settings, database, PEPPER, changes) as identify:
        app = build_app(services, identify, state, catalogue=catalogue)
        async with _served(make_config(app, settings, grace_s=5)) as url:
            yield Running(url, services, state)


@asynccontextmanager
async def _served(config: uvicorn.Config) -> AsyncIterator[str]:
    with free_socket() as listener:
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started and not serving.done():  # noqa: ASYNC110  (uvicorn has no event)
            await asyncio.sleep(0)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


@pytest.fixture(autouse=True)
def plain_logs() -> None:
    """A command that ran in this process may have set up logs its own way."""
    structlog.reset_defaults()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def running(database: Database) -> AsyncIterator[Running]:
    """One server for all tests that need no settings of their own."""
    async with run_app(database, Settings(embedding_provider="none", body_max_bytes=1024 * 1024)) as served:
        yield served


@pytest.fixture
def make_api_key(server: EmbeddedServer) -> MakeKey:
    """Makes keys: `make_api_key(project, "read", "write")`, defaulting to the project unless `default=False`."""

    def make(project: ProjectRef, *scopes: str, default: bool = True) -> str:
        key = make_key(PEPPER)
        with owner_connection(server.owner_url) as owner:
            owner.execute(
                "SELECT control.create_key($1::text, $2::bytea, $3::bigint, $4::text, $5::text[], $6::bigint[], $7::bigint, NULL::timestamptz)",
                (key.id, key.hash, project.workspace_id, "test", list(scopes), None, project.project_id if default else None),
            )
        return key.text

    return make


@pytest.fixture
def key(project: ProjectRef, make_api_key: MakeKey) -> str:
    """A key that may do everything in the workspace of `project`."""
    return make_api_key(project, "read", "write", "admin")


@pytest_asyncio.fixture
async def client(running: Running, key: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with running.client(key) as opened:
        yield opened


@pytest_asyncio.fixture
async def anonymous(running: Running) -> AsyncIterator[httpx2.AsyncClient]:
    """A client without a key."""
    async with running.client() as opened:
        yield opened


@pytest.fixture
def base(project: ProjectRef) -> str:
    """The address of the project."""
    return f"/api/v1/workspaces/{project.workspace}/projects/{project.project}"


@pytest.fixture
def root(project: ProjectRef) -> str:
    """The address of the workspace."""
    return f"/api/v1/workspaces/{project.workspace}"


@pytest.fixture
def make(client: httpx2.AsyncClient, root: str) -> Make:
    """Makes a key over REST by the admin's key."""

    async def post(**fields: Any) -> dict[str, Any]:
        reply = await client.post(f"{root}/keys", json=fields)
        assert reply.status_code == 201, reply.text
        return reply.json()

    return post


@pytest_asyncio.fixture
async def reader(running: Running, projects: Projects, memory: Memory, make_api_key: MakeKey) -> AsyncIterator[Reader]:
    home = projects.make()
    await memory.save(home, [{"summary": "quince at home"}])
    key = make_api_key(home, "read", "write", "admin", default=False)
    async with running.client(key) as client:
        yield Reader(client, key, home)


@pytest_asyncio.fixture
async def told(memory: Memory, project: ProjectRef) -> str:
    """How the reader finds the project that gives, in which something is stored."""
    await memory.save(
        project, [{"summary": "quince elsewhere", "content": "in full", "entities": [("Quince", "thing")], "tags": ["fruit"]}]
    )
    await memory.page(project, "quince.md", "Quince", "quince on a page")
    return f"{project.workspace}/{project.project}"
