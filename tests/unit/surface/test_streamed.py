"""Answers that are sent piece by piece."""

import asyncio
from collections.abc import AsyncGenerator, MutableMapping
from typing import Any

from structlog.testing import capture_logs

from service.errors import DatabaseUnavailable
from service.surface.reply import Reply
from service.surface.rest.streamed import send_pieces


async def _stay() -> MutableMapping[str, Any]:
    return await asyncio.Future()


async def test_an_answer_that_breaks_has_no_end_and_is_told_in_one_line() -> None:
    closed: list[bool] = []
    sent: list[MutableMapping[str, Any]] = []

    async def pieces() -> AsyncGenerator[bytes]:
        try:
            yield b"two\n"
            raise DatabaseUnavailable
        finally:
            closed.append(True)

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    with capture_logs() as logged:
        await send_pieces(Reply(200, b"one\n"), pieces(), _stay, send)
    assert [message.get("body") for message in sent] == [None, b"one\n", b"two\n"]
    assert sent[-1]["more_body"] is True
    assert closed == [True]
    assert [(line["event"], line["code"], line["log_level"]) for line in logged] == [
        ("answer broken off", "database_unavailable", "warning")
    ]


async def test_an_answer_that_is_whole_ends() -> None:
    sent: list[MutableMapping[str, Any]] = []

    async def pieces() -> AsyncGenerator[bytes]:
        yield b"two\n"

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await send_pieces(Reply(200, b"one\n"), pieces(), _stay, send)
    assert [message.get("body") for message in sent] == [None, b"one\n", b"two\n", b""]
    assert sent[-1]["more_body"] is False
