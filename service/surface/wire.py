"""A client's connection, held to its time: whoever sends or takes an answer drop by drop is not waited for.

In: bytes of clients, through uvicorn. Out: requests for the app, whose headers are within h11's bounds; what is no request, or comes
too slowly, is answered with a problem and the connection closed. (The faster parser that uvicorn knows takes any number of headers.)
"""

import asyncio
import gc
import socket
from collections.abc import Generator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, ClassVar, Final, Literal, TypeAlias

import h11
import msgspec
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from service.errors import MunimentError
from service.settings import Settings
from service.surface.rest.problems import problem_reply

LEAST_BODY: Final = 16 * 1024
_ENDING_S: Final = 2

Part: TypeAlias = Literal["headers", "body"]


class MalformedRequest(MunimentError):
    """The request is not HTTP as it should be."""

    code = "malformed_request"
    status = 400


class RequestTimeout(MunimentError):
    """The request came too slowly."""

    code = "request_timeout"
    status = 408


class Patience(msgspec.Struct, frozen=True):
    """How long clients are waited for, in seconds: for headers, for each 16 KiB of a body, and until they take some of an answer."""

    headers_s: float
    body_s: float
    reading_s: float


def make_config(app: Any, settings: Settings, *, grace_s: int) -> uvicorn.Config:
    """How the app is served; after SIGTERM running calls have `grace_s` seconds to end."""
    held = Patience(settings.header_timeout_ms / 1000, settings.body_timeout_ms / 1000, settings.reading_timeout_ms / 1000)

    class Protocol(PatientProtocol):
        patience = held

    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # nothing here reads them
        lifespan="on",
        timeout_graceful_shutdown=grace_s,
    )


class Server(uvicorn.Server):
    """Leaves signals to us, so that the database is stopped too and the exit code is 0."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """What was loaded stays: the collector looks through it no more, which would hold up every call that makes many objects."""
        await super().startup(sockets)
        gc.collect()
        gc.freeze()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Calls that were cut off give back what they hold before it is closed."""
        await super().shutdown(sockets)
        if tasks := set(self.server_state.tasks):
            await asyncio.wait(tasks, timeout=_ENDING_S)

    async def wait_started(self, serving: "asyncio.Task[None]") -> None:
        """Returns when requests are taken; raises what kept the server from starting."""
        while not self.started:
            if serving.done():
                serving.result()
                raise RuntimeError("the HTTP server ended while it was starting")
            await asyncio.sleep(0.005)


class PatientProtocol(H11Protocol):
    """One connection. The clock runs while the server waits for the client, and only then."""

    patience: ClassVar[Patience]
    _clock: asyncio.TimerHandle | None = None
    _part: Part | None = None
    _arrived = 0
    _held = False
    _stalled: asyncio.TimerHandle | None = None
    _untaken = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._arrived += len(data)
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._untaken = self.transport.get_write_buffer_size()
        self._stalled = self._stalled or self.loop.call_later(self.patience.reading_s, self._look_whether_taken)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def send_400_response(self, msg: str) -> None:
        self._refuse(MalformedRequest(hint="Its headers may also be too large: 16 KiB in all are read for certain."))

    def _watch(self) -> None:
        """Starts the clock when the server begins to wait for a part of a request, and stops it when the part is there."""
        part = None if self.transport.is_closing() else self._awaited()
        if part != self._part:
            self._stop()
            self._start(part)

    def _awaited(self) -> Part | None:
        """What the client is to send next; between two requests uvicorn's own clock runs until the first byte."""
        state = self.conn.their_state
        if state is h11.SEND_BODY:
            return "body"
        begun = self.cycle is None or self.conn.trailing_data[0]  # pyright: ignore[reportUnnecessaryComparison]
        return "headers" if state is h11.IDLE and begun else None

    def _start(self, part: Part | None) -> None:
        self._part, self._arrived = part, 0
        if part == "headers":
            self._clock = self.loop.call_later(self.patience.headers_s, self._give_up, part)
        elif part == "body":
            self._held = self._holds()
            self._clock = self.loop.call_later(self.patience.body_s, self._look_at_body)

    def _stop(self) -> None:
        self._part = None
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _holds(self) -> bool:
        """Whether the client is to wait: the server does not read, or has not asked for the body."""
        return self.flow.read_paused or self.cycle.waiting_for_100_continue

    def _look_at_body(self) -> None:
        """While the client is to wait nothing is missing, and then it has all its time; once it is answered, nothing is wanted."""
        unwanted = self.cycle.response_complete
        if not unwanted and (self._held or self._holds() or self._arrived >= LEAST_BODY):
            self._start("body")
        else:
            self._give_up("body")

    def _look_whether_taken(self) -> None:
        self._stalled = None
        left = self.transport.get_write_buffer_size()
        if left < self._untaken:
            self.pause_writing()
        else:
            self.transport.abort()

    def _give_up(self, part: Part) -> None:
        self._stop()
        nothing_came = part == "headers" and not self.conn.trailing_data[0]
        if nothing_came or self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self._leave()
            self.transport.close()
        else:
            self._refuse(RequestTimeout(f"The {part} of the request came too slowly."))

    def _refuse(self, error: MunimentError) -> None:
        """Answers in the app's place, and closes; an answer that has begun is broken off."""
        if self._leave():
            self.transport.abort()
            return
        reply = problem_reply(error, surface="http")
        headers = [*reply.headers.items(), ("content-length", str(len(reply.body))), ("connection", "close")]
        for event in (
            h11.Response(status_code=reply.status, headers=headers, reason=HTTPStatus(reply.status).phrase.encode()),
            h11.Data(data=reply.body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _leave(self) -> bool:
        """Tells the app that its client is gone; whether it had begun to answer."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison]
            return False
        cycle.disconnected = True
        cycle.message_event.set()
        return cycle.response_started
