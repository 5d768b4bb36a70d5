"""What goes over the wire at /mcp, good and bad."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.settings import Settings
from tests.integration.surface.conftest import MakeKey, Running, run_app
from tests.mcp.conftest import INITIALIZE, call, post

LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def initialize(version: Any) -> dict[str, Any]:
    return INITIALIZE | {"params": INITIALIZE["params"] | {"protocolVersion": version}}


@pytest.mark.parametrize(
    ("asked", "answered"),
    [("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-11-25", "2025-11-25"), ("9999-01-01", "2025-11-25")],
)
async def test_versions_are_negotiated(client: httpx2.AsyncClient, asked: str, answered: str) -> None:
    reply = await post(client, initialize(asked))
    assert reply.headers["content-type"] == "application/json"
    assert reply.json()["result"]["protocolVersion"] == answered


@pytest.mark.parametrize("version", [None, 5, ["2025-06-18"]])
async def test_a_version_that_is_no_text_is_refused(client: httpx2.AsyncClient, version: Any) -> None:
    reply = await post(client, initialize(version))
    assert reply.json()["error"]["code"] == -32602


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
@pytest.mark.parametrize("headers", [{}, {"x-forwarded-proto": "https", "x-forwarded-host": "evil.example"}])
async def test_both_spellings_answer_without_a_redirect(
    client: httpx2.AsyncClient, running: Running, path: str, headers: dict[str, str]
) -> None:
    assert (await post(client, INITIALIZE, path, **headers)).status_code == 200
    async with running.client() as anonymous:
        assert (await post(anonymous, INITIALIZE, path, **headers)).status_code == 401


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"[]", -32600),
        (b"[1]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]', -32600),
        (b"null", -32600),
        (b'"x"', -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
        (b"{", -32700),
        (b"", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 100_000, -32700),
    ],
)
@pytest.mark.parametrize("headers", [{}, {"mcp-protocol-version": "2026-07-28"}])
async def test_bodies_that_are_no_message(client: httpx2.AsyncClient, body: bytes, code: int, headers: dict[str, str]) -> None:
    reply = await post(client, body, **headers)
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, code)


async def test_an_old_session_id_is_ignored(client: httpx2.AsyncClient) -> None:
    result = await call(client, "memory_status", {}, **{"mcp-session-id": "0123456789abcdef"})
    assert result["structuredContent"]["counts"]["events"] == 0


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
async def test_only_post_is_taken(client: httpx2.AsyncClient, method: str) -> None:
    reply = await client.request(method, "/mcp", headers={"accept": "text/event-stream"})
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("message", [INITIALIZE, LIST])
async def test_an_unknown_key_is_refused_for_every_method(running: Running, message: dict[str, Any]) -> None:
    async with running.client("mun_" + "a" * 12 + "_" + "b" * 43) as stranger:
        reply = await post(stranger, message)
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"].startswith("Bearer")


async def test_two_servers_take_the_calls_in_turn(running: Running, database: Database, key: str) -> None:
    async with run_app(database, Settings(embedding_provider="none")) as other, running.client(key) as one, other.client(key) as two:
        assert (await post(one, INITIALIZE)).status_code == 200
        for client in (two, one) * 5:
            result = await call(client, "memory_status", {}, **{"mcp-session-id": "from-elsewhere"})
            assert not result.get("isError")


async def test_arguments_that_cannot_be_stored_are_replaced(client: httpx2.AsyncClient) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"save_memory","arguments":{"summary":"\\ud83d and \\u0000"}}}'
    saved = (await post(client, body)).json()["result"]["structuredContent"]
    read = await call(client, "get_memory_content", {"ids": [saved["id"]]})
    assert read["structuredContent"]["events"][0]["summary"] == "\ufffd and \ufffd"


async def test_values_as_text_and_text_that_looks_like_a_value(client: httpx2.AsyncClient) -> None:
    saved = await call(
        client, "save_memory", {"summary": '{"a": 1}', "tags": '[{"name": "area/auth"}]', "entities": ["parser"], "session": None}
    )
    read = await call(client, "get_memory_content", {"ids": json.dumps([saved["structuredContent"]["id"]])})
    event = read["structuredContent"]["events"][0]
    assert event["summary"] == '{"a": 1}'
    assert "area/auth" in json.dumps(event["tags"])
    assert "parser" in json.dumps(event["entities"])


async def test_refusals_name_what_is_allowed(client: httpx2.AsyncClient) -> None:
    result = await call(client, "memory_query", {"query": "x", "limt": 3})
    error = json.loads(result["content"][0]["text"])
    assert result["isError"] is True
    assert (error["code"], error["hint"]) == ("invalid_request", "Did you mean 'limit'?")
    assert "limit" in error["allowed_arguments"]


async def test_a_tool_that_is_not_there(client: httpx2.AsyncClient) -> None:
    reply = await post(client, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "save_memry", "arguments": {}}})
    assert reply.json()["error"]["code"] == -32602
    assert "save_memory" in reply.json()["error"]["message"]


async def test_the_graph_can_be_off(database: Database, project: ProjectRef, make_api_key: MakeKey) -> None:
    async with (
        run_app(database, Settings(embedding_provider="none", graph=False)) as off,
        off.client(make_api_key(project, "read")) as client,
    ):
        tools = (await post(client, LIST)).json()["result"]["tools"]
        instructions = (await post(client, INITIALIZE)).json()["result"]["instructions"]
    assert "memory_query" in {tool["name"] for tool in tools}
    assert "query_memory_graph" not in json.dumps(tools) + instructions


async def test_many_handshakes_leave_nothing(client: httpx2.AsyncClient) -> None:
    before = len(asyncio.all_tasks())
    for _ in range(50):
        assert (await post(client, INITIALIZE)).status_code == 200
    assert len(asyncio.all_tasks()) <= before + 5


@pytest.mark.parametrize("headers", [{}, {"content-type": "text/plain"}, {"content-type": "application/x-www-form-urlencoded"}])
async def test_another_content_type_gets_a_problem(client: httpx2.AsyncClient, headers: dict[str, str]) -> None:
    reply = await client.post("/mcp", content=json.dumps(LIST), headers={"accept": "application/json, text/event-stream"} | headers)
    assert (reply.status_code, reply.json()["code"]) == (415, "unsupported_media_type")
    assert reply.headers["content-type"] == "application/problem+json"
