"""Who may reach the server from where, and how much they may send."""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx2
import pytest

from service.db.pools import Database
from service.settings import Settings
from tests.integration.surface.conftest import Running, run_app

PATHS = ["/mcp", "/api/v1/search", "/api/v1/nothing", "/metrics", "/.well-known/oauth-authorization-server"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "", "http://", "http://localhost.evil.example", "http://localhost@evil.example", "file://", "::"],
)
async def test_other_sites_are_refused(anonymous: httpx2.AsyncClient, path: str, method: str, origin: str) -> None:
    reply = await anonymous.request(method, path, headers={"origin": origin})
    assert (reply.status_code, reply.json()["code"]) == (403, "origin_refused")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "localhost.evil.example", "localhost@evil.example", "10.0.0.1"])
async def test_other_hosts_are_refused(anonymous: httpx2.AsyncClient, host: str) -> None:
    reply = await anonymous.get("/api/v1/openapi.json", headers={"host": host})
    assert (reply.status_code, reply.json()["code"]) == (403, "origin_refused")
    assert (await anonymous.get("/livez", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1", "[::1]:80", "LOCALHOST"])
async def test_the_own_machine_is_served(anonymous: httpx2.AsyncClient, host: str) -> None:
    reply = await anonymous.get("/api/v1/openapi.json", headers={"host": host, "origin": f"http://{host}"})
    assert reply.status_code == 200


async def test_forwarded_hosts_are_not_believed(anonymous: httpx2.AsyncClient) -> None:
    reply = await anonymous.get(
        "/api/v1/openapi.json", headers={"host": "evil.example", "x-forwarded-host": "localhost", "forwarded": "host=localhost"}
    )
    assert reply.status_code == 403


async def test_named_hosts_and_origins(database: Database) -> None:
    named = Settings(embedding_provider="none", allowed_hosts=["memory.example"], allowed_origins=["https://app.example"])
    async with run_app(database, named) as served, served.client(host="memory.example") as client:
        same = await client.get("/api/v1/openapi.json", headers={"origin": "https://memory.example"})
        other = await client.get("/api/v1/openapi.json", headers={"origin": "https://app.example"})
        local = await client.get("/api/v1/openapi.json", headers={"host": "localhost"})
        asked = await client.options("/mcp", headers={"origin": "https://app.example", "access-control-request-method": "POST"})
    assert (same.status_code, other.status_code, local.status_code) == (200, 200, 403)
    assert other.headers["access-control-allow-origin"] == "https://app.example"
    assert asked.status_code == 204
    assert "POST" in asked.headers["access-control-allow-methods"]


async def test_any_host_is_not_any_origin(database: Database) -> None:
    async with (
        run_app(database, Settings(embedding_provider="none", allowed_hosts=["*"])) as served,
        served.client(host="any.example") as client,
    ):
        own = await client.get("/api/v1/openapi.json", headers={"origin": "http://any.example"})
        foreign = await client.get("/api/v1/openapi.json", headers={"origin": "http://evil.example"})
    assert (own.status_code, foreign.status_code) == (200, 403)


async def _long(limit: int) -> AsyncIterator[bytes]:
    """Eight times what may be sent, and no more: the server soon takes nothing of it any more."""
    for _ in range(8 * limit // (64 * 1024)):
        yield b" " * 64 * 1024


@pytest.mark.parametrize("path", ["/mcp", "/api/v1/search"])
async def test_a_body_over_the_limit(client: httpx2.AsyncClient, running: Running, path: str) -> None:
    limit = running.services.settings.body_max_bytes
    announced = await client.post(path, content=b" " * (limit + 1), headers={"content-type": "application/json"})
    assert (announced.status_code, announced.json()["code"]) == (413, "body_too_large")
    assert str(limit) in announced.json()["error"]
    chunked = await client.post(path, content=_long(limit), headers={"content-type": "application/json"})
    assert (chunked.status_code, chunked.json()["limit"]) == (413, limit)


@pytest.mark.parametrize("path", ["/mcp", "/api/v1/search"])
async def test_without_a_key_the_body_is_not_read(running: Running, path: str) -> None:
    """The answer comes while the body is still held back, so nothing of it was waited for."""
    host, port = running.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    writer.write(head.encode() + b"1\r\n{\r\n")
    async with asyncio.timeout(60):
        line = await reader.readline()
    writer.close()
    assert line.split()[1] == b"401"


async def test_discovery_of_oauth_is_a_clean_miss(anonymous: httpx2.AsyncClient) -> None:
    for path in ("oauth-protected-resource", "oauth-protected-resource/mcp", "oauth-authorization-server", "openid-configuration"):
        reply = await anonymous.get(f"/.well-known/{path}")
        assert (reply.status_code, reply.headers["content-type"]) == (404, "application/problem+json")
        assert json.loads(reply.content)["code"] == "not_found"
