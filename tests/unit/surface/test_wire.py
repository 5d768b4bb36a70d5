"""The clock of a connection, whose hands the tests turn."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from uvicorn.server import ServerState

from service.settings import Settings
from service.surface.reply import Receive, Send
from service.surface.wire import make_config

HEAD = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n"


class Loop:
    """The running loop, but for what is to be called later."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.later: list[Callable[[], None]] = []

    def create_task(self, work: Any, **more: Any) -> asyncio.Task[Any]:
        return self._loop.create_task(work, **more)

    def call_later(self, delay: float, call: Callable[..., None], *args: Any) -> asyncio.TimerHandle:
        handle = self._loop.call_at(float("inf"), call, *args)
        self.later.append(lambda: None if handle.cancelled() else call(*args))
        return handle

    def pass_time(self) -> None:
        """Rings every clock that is wound up."""
        due, self.later = self.later, []
        for ring in due:
            ring()


class Wire(asyncio.Transport):
    """What the server writes, and whether it has closed."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: Any) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Connection:
    """A connection to an app that asks for the body once it is let."""

    def __init__(self) -> None:
        self.loop, self.wire, self.let = Loop(), Wire(), asyncio.Event()

        async def app(scope: Any, receive: Receive, send: Send) -> None:
            await self.let.wait()
            while (await receive()).get("more_body"):
                pass
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

        config = make_config(app, Settings(), grace_s=1)
        config.load()
        self._protocol: Any = config.http_protocol_class(config, ServerState(), {}, _loop=self.loop)
        self._protocol.connection_made(self.wire)

    async def take(self, data: bytes) -> None:
        self._protocol.data_received(data)
        await _turn()


async def _turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
async def connection() -> Connection:
    return Connection()


async def test_a_body_that_does_not_come_is_not_waited_for(connection: Connection) -> None:
    await connection.take(HEAD + b"\r\n")
    connection.loop.pass_time()
    assert connection.wire.written.startswith(b"HTTP/1.1 408 ")


async def test_who_waits_for_continue_has_all_the_time_from_then_on(connection: Connection) -> None:
    await connection.take(HEAD + b"expect: 100-continue\r\n\r\n")
    connection.loop.pass_time()
    assert connection.wire.written == b""
    connection.let.set()
    await _turn()
    assert connection.wire.written.startswith(b"HTTP/1.1 100 ")
    connection.loop.pass_time()  # most of this time had passed before
    await connection.take(b"{}")
    assert b"HTTP/1.1 204 " in connection.wire.written


async def test_who_was_told_to_continue_is_not_waited_for_for_ever(connection: Connection) -> None:
    connection.let.set()
    await connection.take(HEAD + b"expect: 100-continue\r\n\r\n")
    for _ in range(2):
        connection.loop.pass_time()
    assert b"HTTP/1.1 408 " in connection.wire.written
