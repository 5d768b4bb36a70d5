"""A model provider on HTTP that answers well, or as badly as a test asks.

In: requests to `/v1/embeddings`, `/api/embed`, `/v1/chat/completions` and `/rerank`. Out: answers; what was asked is in `calls`.
Whatever it says in a bad answer holds `GOSSIP` and gives the key away, so that tests can see whether either is passed on.
"""

import asyncio
import contextlib
import json
import traceback
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest

KEY = "sk-quokka-0123456789"
GOSSIP = "the wombat in our data centre"


class Call(msgspec.Struct, frozen=True):
    """One request."""

    target: str
    headers: Mapping[str, str]
    body: Any

    @property
    def texts(self) -> list[str]:
        return self.body["input"]


class Reply(msgspec.Struct, frozen=True):
    """One answer; `cut` ends the connection after so many bytes of the body, `hang` never answers."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}
    cut: int | None = None
    hang: bool = False

    def encoded(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} {'OK' if self.status == 200 else GOSSIP}", f"content-length: {len(self.body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + self.body[: self.cut]


def refusal(status: int, message: str = "", **headers: str) -> Reply:
    """An error as providers word it, with more than should be passed on."""
    told = {"error": {"message": f"{message} {GOSSIP}; you sent {KEY}", "type": "error"}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(told).encode(), {"x-debug": f"{GOSSIP} {KEY}", **named})


HANG = Reply(hang=True)
PROSE = Reply(body=f"<html>Welcome! {GOSSIP} {KEY}</html>".encode())

Behaviour = Callable[[Call], Awaitable[Reply]]
Rule = Callable[[Call], Reply | None]


class Misbehaving:
    """`script` answers the next calls, one each; then `rule`, where it has an answer; else `well` does. `hung` holds the calls that hang."""

    def __init__(self, well: Behaviour) -> None:
        self.well = well
        self.script: deque[Reply] = deque()
        self.rule: Rule = lambda call: None
        self.calls: list[Call] = []
        self.hung: asyncio.Queue[Call] = asyncio.Queue()
        self.url = ""
        self.released = asyncio.Event()

    def behave(self) -> None:
        """Forgets what was asked and how to be bad."""
        self.script.clear()
        self.calls.clear()
        self.rule = lambda call: None

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while await self.answer(reader, writer):
                pass
        writer.close()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = [line.split(": ", 1) for line in head[1:] if line]
        headers = {name.lower(): value for name, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        call = Call(head[0].split(" ")[1], headers, json.loads(body))
        self.calls.append(call)
        reply = self.script.popleft() if self.script else self.rule(call) or await self.well(call)
        if reply.hang:
            self.hung.put_nowait(call)
            await self.released.wait()
            return False
        writer.write(reply.encoded())
        await writer.drain()
        return reply.cut is None


@contextlib.asynccontextmanager
async def misbehaving(well: Behaviour) -> AsyncIterator[Misbehaving]:
    """A server on a free port."""
    provider = Misbehaving(well)
    server = await asyncio.start_server(provider.handle, "127.0.0.1", 0, limit=1 << 24)
    provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield provider
    finally:
        provider.released.set()
        server.close()


def assert_discreet(error: BaseException) -> None:
    """Neither the key nor the provider's words are in an error, what it hangs on, or how it is printed."""
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or each in seen:
            continue
        seen.append(each)
        waiting += [each.__cause__, each.__context__]
        members = getattr(each, "members", {})
        told = f"{each} {each!r} {members} {each.args} {vars(each)} {''.join(traceback.format_exception(each))}"
        assert KEY not in told
        assert GOSSIP not in told


def watch_logs(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Fails a test in whose logs or output the key or the provider's words are; the body of a fixture."""
    caplog.set_level("DEBUG")
    yield
    printed = capfd.readouterr()
    told = " ".join([printed.out, printed.err, *(f"{record.getMessage()} {record.__dict__}" for record in caplog.get_records("call"))])
    assert KEY not in told
    assert GOSSIP not in told
