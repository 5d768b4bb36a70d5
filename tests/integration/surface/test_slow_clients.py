"""Clients that send or read drop by drop, on real sockets: they are not waited for, cost next to nothing, and hold up nobody."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from typing import Any

import psutil
import pytest
import pytest_asyncio

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.settings import Settings
from tests.conftest import Memory
from tests.integration.surface.conftest import Running, run_app

HEAD = b"POST /api/v1/search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
MANY = 500


@pytest_asyncio.fixture
async def hasty(database: Database) -> AsyncIterator[Running]:
    """A server that waits for nobody; but what is sent at once arrives in its time, on a busy machine too."""
    settings = Settings(embedding_provider="none", header_timeout_ms=1_000, body_timeout_ms=500, reading_timeout_ms=200)
    async with run_app(database, settings) as served:
        yield served


def _port(served: Running) -> int:
    return int(served.url.rpartition(":")[2])


class Dripping:
    """A connection on which one byte after the other is sent, for as long as the server takes them."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, served: Running, first: bytes) -> "Dripping":
        made = cls(*await asyncio.open_connection("127.0.0.1", _port(served)))
        made.writer.write(first)
        return made

    async def drip(self, drop: bytes) -> bytes:
        """What the server says until it closes."""
        dripping = asyncio.create_task(self._drip(drop))
        try:
            async with asyncio.timeout(60):
                said = bytearray()
                try:
                    while piece := await self.reader.read(65536):
                        said += piece
                except ConnectionResetError:
                    pass
                return bytes(said)
        finally:
            dripping.cancel()
            await asyncio.gather(dripping, return_exceptions=True)
            self.writer.transport.abort()

    async def _drip(self, drop: bytes) -> None:
        while True:
            self.writer.write(drop)
            await self.writer.drain()
            await asyncio.sleep(0.01)  # the pace of the client, which nothing is waiting for


def _problem(said: bytes) -> tuple[int, dict[str, Any]]:
    head, _, body = said.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


async def test_headers_that_never_end(hasty: Running) -> None:
    status, problem = _problem(await (await Dripping.open(hasty, b"GET /livez HTTP/1.1\r\nhost: localhost\r\nx: ")).drip(b"a"))
    assert (status, problem["code"]) == (408, "request_timeout")
    assert "headers" in problem["error"]


async def test_headers_of_a_second_request_that_never_end(hasty: Running) -> None:
    first = b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n"
    said = await (await Dripping.open(hasty, first + b"GET /livez HTTP/1.1\r\nx: ")).drip(b"a")
    assert [part.split()[0] for part in said.split(b"HTTP/1.1 ")[1:]] == [b"200", b"408"]


async def test_a_connection_on_which_nothing_comes(hasty: Running) -> None:
    assert await (await Dripping.open(hasty, b"")).drip(b"") == b""


@pytest.mark.parametrize("framing", [b"content-length: 100000\r\n\r\n", b"transfer-encoding: chunked\r\n\r\n"])
@pytest.mark.parametrize("path", [b"/api/v1/search", b"/mcp"])
async def test_a_body_that_never_ends(hasty: Running, key: str, framing: bytes, path: bytes) -> None:
    head = HEAD.replace(b"/api/v1/search", path) + b"authorization: Bearer " + key.encode() + b"\r\n" + framing
    drop = b"1\r\n \r\n" if b"chunked" in framing else b" "
    status, problem = _problem(await (await Dripping.open(hasty, head)).drip(drop))
    assert (status, problem["code"]) == (408, "request_timeout")
    assert "body" in problem["error"]


async def test_a_body_that_nobody_wants_any_more(hasty: Running) -> None:
    """The refusal has been sent; the rest of the body is not taken for ever."""
    status, problem = _problem(await (await Dripping.open(hasty, HEAD + b"content-length: 100000\r\n\r\n")).drip(b" "))
    assert (status, problem["code"]) == (401, "unauthenticated")


async def test_a_body_may_wait_for_its_continue(hasty: Running, key: str) -> None:
    head = HEAD + b"authorization: Bearer " + key.encode() + b"\r\ncontent-length: 2\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", _port(hasty))
    writer.write(head)
    async with asyncio.timeout(60):
        assert (await reader.readuntil(b"\r\n\r\n")).split()[1] == b"100"
        writer.write(b"{}")
        assert (await reader.read()).split()[1] == b"422"
    writer.close()


async def test_an_answer_that_nobody_takes(hasty: Running, key: str, base: str, memory: Memory, project: ProjectRef) -> None:
    """The server breaks it off: it never comes to its end, and what it held is given back."""
    await memory.save(project, [{"summary": f"line {n}", "content": "x" * 40_000} for n in range(150)])
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", _port(hasty)))
        client.sendall(f"GET {base}/export HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\r\n".encode())
        async with asyncio.timeout(60):
            while _is_served(client):  # noqa: ASYNC110  (a client that does not read is told by nobody)
                await asyncio.sleep(0.01)
        async with asyncio.timeout(60), hasty.services.database._long:  # pyright: ignore[reportPrivateUsage]
            pass
    async with hasty.client(key) as client_again:
        assert (await client_again.get(f"{base}/status")).status_code == 200


def _is_served(client: socket.socket) -> bool:
    """Whether the server's end of the connection is there."""
    address = client.getsockname()
    ends = psutil.Process().net_connections("tcp4")
    return any(end.raddr and (end.raddr.ip, end.raddr.port) == address and end.status == psutil.CONN_ESTABLISHED for end in ends)


async def test_many_slow_clients_hold_up_nobody(database: Database, key: str, base: str) -> None:
    settings = Settings(embedding_provider="none", header_timeout_ms=2_000, body_timeout_ms=2_000)
    kinds = (
        b"GET /livez HTTP/1.1\r\nx: ",
        HEAD + b"authorization: Bearer " + key.encode() + b"\r\ncontent-length: 100000\r\n\r\n{",
        b"",
    )
    async with run_app(database, settings) as served, served.client(key) as other:
        assert (await other.get(f"{base}/status")).status_code == 200
        with ExitStack() as closing:
            before = psutil.Process().memory_info().rss
            slow = [closing.enter_context(socket.create_connection(("127.0.0.1", _port(served)))) for _ in range(MANY)]
            for number, client in enumerate(slow):
                client.sendall(kinds[number % len(kinds)])
                client.setblocking(False)
            for _ in range(20):
                assert (await other.get(f"{base}/status")).status_code == 200
            grown = psutil.Process().memory_info().rss - before
            async with asyncio.timeout(60):
                said = await _until_closed(slow)
        assert grown < 50 * 1024 * 1024
    statuses = [answer.split()[1] if answer else b"" for answer in said]
    assert [statuses.count(each) for each in (b"408", b"")] == [334, 166]


async def _until_closed(clients: Sequence[socket.socket]) -> list[bytes]:
    """What each was told before the server closed."""
    loop = asyncio.get_running_loop()

    async def read(client: socket.socket) -> bytes:
        said = b""
        while piece := await loop.sock_recv(client, 65536):
            said += piece
        return said

    return await asyncio.gather(*map(read, clients))


@pytest.mark.parametrize(
    "request_",
    [
        b"GET http://localhost/livez HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET http://evil.example/api/v1/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n",
        b"GET /api/v1/openapi.json HTTP/1.1\r\nhost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET /livez HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * 4_000_000 + b"\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    ],
)
async def test_what_is_no_request_gets_a_problem(running: Running, request_: bytes) -> None:
    status, problem = _problem(await (await Dripping.open(running, request_[:-4] + b"\r\nconnection: close\r\n\r\n")).drip(b""))
    assert (status, problem["code"], problem["status"]) == (400, "malformed_request", 400)


async def test_a_body_that_is_no_chunk_is_told(running: Running, key: str) -> None:
    head = HEAD + b"authorization: Bearer " + key.encode() + b"\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"
    status, problem = _problem(await (await Dripping.open(running, head)).drip(b""))
    assert (status, problem["code"]) == (400, "malformed_request")
