"""A client that closes its connection in the middle of a graph query: the database works on it no more, and the pool is whole."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
import pytest_asyncio

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.settings import Settings
from tests.conftest import Memory, Projects
from tests.integration.surface.conftest import MakeKey, Running, run_app

# The promise is two seconds; a machine that runs other tests beside is given more, and less than the query would be.
SOON_S = 5
LONG = {
    "query": "START a = events(ids: $ids) MATCH (a)" + "-[:PARTICIPATED_IN]-()-[:PARTICIPATED_IN]-()" * 5 + " RETURN count(*)",
    "params": {"ids": [f"evt_{number}" for number in range(1, 21)]},
}
CALL = {"name": "query_memory_graph", "arguments": LONG}
BODIES: dict[str, tuple[str, dict[str, Any]]] = {
    "rest": ("/api/v1/graph", LONG),
    "mcp": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}),
    "stream": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**CALL, "_meta": {"progressToken": "p"}}}),
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def crowd(projects: Projects, memory: Memory) -> ProjectRef:
    """Fifty events that share thirty names."""
    project = projects.make()
    names = [(f"Name {number}", "thing") for number in range(30)]
    await memory.save(project, [{"summary": f"event {number}", "entities": names} for number in range(50)])
    return project


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def own(server: EmbeddedServer, database: Database, migrated: Any) -> AsyncIterator[Database]:
    opened = await Database.open(migrated.api_url, max_size=4, statement_ms=120_000)
    yield opened
    await opened.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def patient(own: Database) -> AsyncIterator[Running]:
    """A server that would go on for a minute."""
    settings = Settings(embedding_provider="none", graph_deadline_ms=60_000, graph_statement_ms=60_000, graph_row_budget=10**12)
    async with run_app(own, settings) as served:
        yield served


@pytest_asyncio.fixture
async def owner(server: EmbeddedServer) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(server.owner_url)
    yield connection
    await connection.close()


async def leave(running: Running, key: str, surface: str, owner: asyncpg.Connection, walking: str) -> None:
    """Asks, waits until the database is at it, and closes the connection."""
    path, body = BODIES[surface]
    content = json.dumps(body)
    where = urlsplit(running.url)
    _, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(
        f"POST {path} HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Length: {len(content)}\r\n\r\n{content}".encode()
    )
    await writer.drain()
    async with asyncio.timeout(30):
        # Not while it is parsed, nor before it is begun: Postgres takes no notice of a cancelling that comes between the two.
        while not await owner.fetchval(f"{walking} AND query_start < clock_timestamp() - interval '300 ms'"):
            pass
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize("surface", BODIES)
async def test_nothing_works_on_for_a_client_that_left(
    patient: Running, own: Database, crowd: ProjectRef, make_api_key: MakeKey, owner: asyncpg.Connection, surface: str
) -> None:
    walking = (
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid() "
        f"AND query LIKE '%{crowd.schema}.participation%'"
    )
    await leave(patient, make_api_key(crowd, "read"), surface, owner, walking)
    async with asyncio.timeout(SOON_S):
        while await owner.fetchval(walking) or own._pool.get_idle_size() < own._pool.get_size():
            pass
    async with own.read(crowd) as tx:
        assert await tx.fetchval("SELECT count(*) FROM m_0.event") == 50
