"""Bodies that are made to cost much: refused early, and with next to no memory, with a key and without."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress

import psutil
import pytest
import pytest_asyncio

from service.db.pools import Database
from service.settings import Settings
from tests.integration.surface.conftest import Running, run_app

MIB = 1024 * 1024
CHUNK = b"%x\r\n" % MIB + b" " * MIB + b"\r\n"
ACCEPT = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
PATHS = ["/mcp", "/api/v1/search"]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def serving(database: Database) -> AsyncIterator[Running]:
    """A server with the limits that hold unless others are set."""
    async with run_app(database, Settings(embedding_provider="none")) as served:
        yield served


@contextmanager
def _memory() -> Iterator[Callable[[], int]]:
    """By how many bytes this process was at most larger than at the beginning."""
    process, ended = psutil.Process(), threading.Event()
    before = most = process.memory_info().rss

    def watch() -> None:
        nonlocal most
        while not ended.wait(0.002):
            most = max(most, process.memory_info().rss)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield lambda: most - before
    finally:
        ended.set()
        watching.join()


def _send_chunks(served: Running, path: str, key: str | None, chunks: int) -> bytes:
    """The answer to a body of so many MiB without a length, of which the server may take as little as it likes."""
    bearer = f"authorization: Bearer {key}\r\n" if key else ""
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\n{bearer}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=30) as client:
        with suppress(ConnectionError):
            client.sendall(head.encode())
            for _ in range(chunks):
                client.sendall(CHUNK)
            client.sendall(b"0\r\n\r\n")
        return client.recv(65536)


@pytest.mark.parametrize("path", PATHS)
async def test_64_mebibytes_without_a_key(serving: Running, path: str) -> None:
    with _memory() as grown:
        said = await asyncio.to_thread(_send_chunks, serving, path, None, 64)
    assert said.split()[1] == b"401"
    assert grown() < 16 * MIB


@pytest.mark.parametrize("path", PATHS)
async def test_64_mebibytes_with_a_key(serving: Running, key: str, path: str) -> None:
    limit = serving.services.settings.body_max_bytes
    with _memory() as grown:
        said = await asyncio.to_thread(_send_chunks, serving, path, key, 64)
    assert said.split()[1] == b"413"
    assert grown() < 3 * limit


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize("whole", [True, False])
async def test_json_that_is_nested_too_deep(serving: Running, key: str, path: str, opening: bytes, whole: bool) -> None:
    closing = b"]" if opening == b"[" else b"1}"
    body = opening * 100_000 + closing * 100_000 * whole
    async with serving.client(key, **ACCEPT) as client:
        with _memory() as grown:
            reply = await client.post(path, content=body)
    assert reply.status_code == 400
    assert json.loads(reply.content)
    # As objects, one a level, it would take 50 MB and more; the process of the tests itself takes some at any moment.
    assert grown() < 32 * MIB


async def test_as_deep_as_a_body_may_be_long(serving: Running, key: str) -> None:
    body = b"[" * serving.services.settings.body_max_bytes
    async with serving.client(key, **ACCEPT) as client:
        with _memory() as grown:
            replies = [await client.post(path, content=body) for path in PATHS]
    assert [reply.status_code for reply in replies] == [400, 400]
    assert grown() < 4 * len(body)
