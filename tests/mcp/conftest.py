"""The running server of the surface tests, asked through MCP."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.integration.surface.conftest import Running, client, key, make_api_key, run_app, running

__all__ = ["INITIALIZE", "call", "client", "key", "make_api_key", "open_client", "post", "run_app", "running"]

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@asynccontextmanager
async def open_client(running: Running, key: str, mode: str) -> AsyncGenerator[Client]:
    """The official client, in one of the protocol's generations."""
    http = httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=30, trust_env=False)
    async with http, Client(streamable_http_client(f"{running.url}/mcp", http_client=http), mode=mode) as opened:
        yield opened


async def post(client: httpx2.AsyncClient, message: Any, path: str = "/mcp", **headers: str) -> httpx2.Response:
    """A message as an old client sends it."""
    body = {"content": message} if isinstance(message, bytes) else {"json": message}
    return await client.post(path, headers=ACCEPT | headers, **body)


async def call(client: httpx2.AsyncClient, name: str, arguments: Any, **headers: str) -> dict[str, Any]:
    """A tool's result, without a handshake."""
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    reply = await post(client, message, **headers)
    assert reply.status_code == 200, reply.text
    return reply.json()["result"]
