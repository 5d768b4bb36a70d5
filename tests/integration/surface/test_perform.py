"""Carrying out operations: the audit, unexpected failures, clients that leave."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import msgspec
import pytest

from service.access.keys import Caller
from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.operations.operation import Operation, Route, Services, Tool
from service.settings import Settings
from service.tenants.owner import owner_connection
from tests.integration.surface.conftest import MakeKey, Running, run_app


class Wait(msgspec.Struct, frozen=True):
    """How the test operation is to end."""

    mark: str = ""


class Waited(msgspec.Struct, frozen=True):
    """It ended."""

    done: bool = True


async def sleep_in_database(services: Services, caller: Caller, request: Wait) -> Waited:
    project = await services.scopes.one(caller, None, None)
    async with services.database.read(project, statement_ms=600_000) as tx:
        await tx.fetch("SELECT pg_sleep(500), $1::text", request.mark)
    return Waited()


async def fail(services: Services, caller: Caller, request: Wait) -> Waited:
    raise ZeroDivisionError(f"secret {request.mark}")


SLOW = Operation("slow", "read", "Slow", Wait, Waited, sleep_in_database, (Route("POST", "/slow"),), Tool("Slow", "Slow"))
BROKEN = Operation("broken", "read", "Broken", Wait, Waited, fail, (Route("POST", "/broken"),), Tool("Broken", "Broken"))


@asynccontextmanager
async def run_own(database: Database) -> AsyncIterator[Running]:
    async with run_app(database, Settings(embedding_provider="none"), (SLOW, BROKEN)) as served:
        yield served


def audit_of(server: EmbeddedServer, project: ProjectRef) -> list[tuple[Any, ...]]:
    with owner_connection(server.owner_url) as owner:
        rows = owner.execute(
            "SELECT operation, outcome, project_id FROM control.audit WHERE workspace_id = $1 ORDER BY id", (project.workspace_id,)
        ).fetchall()
    return [(row["operation"], row["outcome"], row["project_id"]) for row in rows]


async def test_writes_are_audited_with_their_outcome(
    client: httpx2.AsyncClient, running: Running, base: str, project: ProjectRef, server: EmbeddedServer, make_api_key: MakeKey
) -> None:
    await client.post(f"{base}/events", json={"summary": "secret"})
    await client.put(f"{base}/pages/a.md", json={"body": "x", "expected_version": 5})
    await client.get(f"{base}/status")
    async with running.client(make_api_key(project, "read")) as reader:
        await reader.post(f"{base}/events", json={"summary": "x"})
    assert audit_of(server, project) == [
        ("save_memory", "ok", project.project_id),
        ("write_page", "version_conflict", project.project_id),
        ("save_memory", "forbidden", None),
    ]


async def test_a_write_succeeds_though_the_audit_fails(client: httpx2.AsyncClient, base: str, server: EmbeddedServer, capsys: Any) -> None:
    with owner_connection(server.owner_url) as owner:
        owner.execute("ALTER FUNCTION control.write_audit RENAME TO write_audit_away")
    try:
        saved = await client.post(f"{base}/events", json={"summary": "x"})
    finally:
        with owner_connection(server.owner_url) as owner:
            owner.execute("ALTER FUNCTION control.write_audit_away RENAME TO write_audit")
    assert saved.status_code == 200
    assert "audit not written" in capsys.readouterr().out


@pytest.mark.parametrize("surface", ["rest", "mcp"])
async def test_what_nobody_expected_tells_nothing(database: Database, key: str, surface: str, capsys: Any) -> None:
    async with run_own(database) as served, served.client(key, **{"x-request-id": "find-me"}) as client:
        reply = await _send(client, surface, "broken", "hidden")
    assert "internal_error" in reply.text
    assert "hidden" not in reply.text
    assert "ZeroDivision" not in reply.text
    logged = capsys.readouterr().out
    assert "ZeroDivisionError" in logged
    assert "find-me" in logged


@pytest.mark.parametrize("surface", ["rest", "mcp", "mcp stream", "mcp modern"])
async def test_a_client_that_leaves_ends_its_query(database: Database, server: EmbeddedServer, key: str, surface: str) -> None:
    async with run_own(database) as served:
        host, port = served.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(_raw(key, surface, "leaving"))
        await _until(lambda: _sleeping(server) == 1)
        writer.transport.abort()
        await _until(lambda: _sleeping(server) == 0)
        del reader


async def _until(holds: Any) -> None:
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(holds):  # noqa: ASYNC110  (the database has no event to wait for)
            await asyncio.sleep(0.02)


def _sleeping(server: EmbeddedServer) -> int:
    with owner_connection(server.owner_url) as owner:
        row = owner.execute(
            "SELECT count(*) AS n FROM pg_stat_activity WHERE query LIKE '%%pg_sleep(500)%%' AND state = 'active' AND pid <> pg_backend_pid() "
            "AND query_start < clock_timestamp() - interval '300 ms'"  # it runs, and is not just parsed
        ).fetchone()
    assert row is not None
    return row["n"]


def _message(surface: str, operation: str, mark: str) -> tuple[str, dict[str, Any], dict[str, str]]:
    if surface == "rest":
        return f"/api/v1/{operation}", {"mark": mark}, {"content-type": "application/json"}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    params: dict[str, Any] = {"name": operation, "arguments": {"mark": mark}}
    if surface == "mcp stream":
        params["_meta"] = {"progressToken": 1}
    if surface == "mcp modern":
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": operation}
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }
    return "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers


async def _send(client: httpx2.AsyncClient, surface: str, operation: str, mark: str) -> httpx2.Response:
    path, body, headers = _message(surface, operation, mark)
    return await client.post(path, json=body, headers=headers)


def _raw(key: str, surface: str, mark: str) -> bytes:
    path, body, headers = _message(surface, "slow", mark)
    encoded = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", "host: localhost", f"authorization: Bearer {key}", f"content-length: {len(encoded)}"]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode() + encoded
