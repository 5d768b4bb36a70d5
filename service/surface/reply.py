"""An HTTP answer: whole before it is sent, or begun and followed by the rest."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeAlias

import msgspec

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]


class Reply(msgspec.Struct, frozen=True):
    """Status, body and headers, their names in lower case; `rest` follows the body, where the whole is too large to be held."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}
    rest: AsyncGenerator[bytes] | None = None

    async def send(self, send: Send) -> None:
        """Sends it; a status that has no body goes without one."""
        headers = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in self.headers.items()]
        if self.status not in (204, 304):
            headers.append((b"content-length", str(len(self.body)).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if self.status in (204, 304) else self.body})


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """A value as JSON."""
    return Reply(status, msgspec.json.encode(value), {"content-type": "application/json", **(headers or {})})
