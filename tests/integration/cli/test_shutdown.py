"""SIGTERM while calls are under way: who still waits is told, who reads nothing holds nothing up, the exit code is 0."""

import asyncio
import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from tests.integration.cli.conftest import COMMAND, ROOT, environment

# Billions of rows to count, of a few hundred events.
ENDLESS = "SELECT count(*) FROM events a, events b, events c, events d WHERE a.summary || b.summary <> c.summary || d.summary"


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", dict[str, Any]]]:
    """A server that would let SQL run for a minute, and how to reach it."""
    words = [*COMMAND, "serve", "--data", str(tmp_path / "data"), "--port", "0", "--json"]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            words,
            cwd=ROOT,
            env=environment(MUNIMENT_SQL_STATEMENT_MS="60000", MUNIMENT_EMBEDDING_PROVIDER="none"),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as started,
    ):
        assert started.stdout is not None
        yield started, json.loads(started.stdout.readline())
        started.kill()


def _running(database: str) -> int:
    with psycopg.connect(database) as connection:
        asked = (
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%\\_read\\_rows(%' AND pid <> pg_backend_pid()"
        )
        row = connection.execute(asked).fetchone()
    assert row is not None
    return row[0]


async def test_calls_under_way_are_told_and_readers_that_stall_hold_nothing_up(
    process: tuple["subprocess.Popen[str]", dict[str, Any]], tmp_path: Path
) -> None:
    server, told = process
    database = json.loads((tmp_path / "data" / "connection.json").read_text())["database"]
    base = f"/api/v1/workspaces/{told['workspace']}/projects/{told['project']}"
    bearer = {"authorization": f"Bearer {told['key']}"}
    accept = {"accept": "application/json, text/event-stream"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    asked = {"name": "query_memories_with_sql", "arguments": {"sql": ENDLESS}}
    async with httpx2.AsyncClient(base_url=told["url"], headers=bearer, timeout=60, trust_env=False) as client:
        events = [{"summary": f"line {n}", "content": "x" * 45_000} for n in range(200)]
        assert (await client.post(f"{base}/events:batch", json={"events": events})).status_code == 200
        with ExitStack() as stalled:
            for _ in range(3):
                _stall(stalled.enter_context(socket.socket()), told["url"], f"{base}/export", told["key"])
            calls = [
                asyncio.create_task(client.post("/api/v1/sql", json={"sql": ENDLESS})),
                asyncio.create_task(client.post("/mcp", json=message | {"params": asked}, headers=accept)),
            ]
            async with asyncio.timeout(60):
                while await asyncio.to_thread(_running, database) < len(calls):
                    pass
            server.send_signal(signal.SIGTERM)
            replies = await asyncio.gather(*calls)
            assert await asyncio.to_thread(server.wait, 60) == 0
    assert [(reply.status_code, reply.json()["code"]) for reply in replies] == [(503, "shutting_down")] * 2
    log = (tmp_path / "log").read_text()
    assert "Traceback" not in log
    assert "never retrieved" not in log


def _stall(client: socket.socket, url: str, path: str, key: str) -> None:
    """Asks for much, and reads the first of it."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    host, port = url.removeprefix("http://").split(":")
    client.connect((host, int(port)))
    client.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\r\n".encode())
    assert client.recv(12) in (b"HTTP/1.1 200", b"HTTP/1.1 503")  # no more than a few exports run at a time
