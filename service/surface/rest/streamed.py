"""An answer that is sent piece by piece, while its client is there and reads.

In: a `Reply` that has begun, and the rest of it. Out: a Litestar response. Whoever leaves ends it, so that what it holds is given back; so
does the connection for those who take nothing. An answer that was cut short has no proper end, by which its reader knows.
"""

from collections.abc import AsyncGenerator
from typing import Any

from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

from service.surface.incoming import ClientLeft, wait_for_leaving, while_connected
from service.surface.reply import Reply


class StreamedResponse(ASGIResponse):
    """Sends the body that there is, then the rest."""

    def __init__(self, reply: Reply, rest: AsyncGenerator[bytes]) -> None:
        super().__init__(status_code=reply.status, headers=dict(reply.headers))
        self._reply = reply
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await while_connected(self._send_all(send), wait_for_leaving(receive))  # type: ignore[arg-type]
        except ClientLeft:
            return
        finally:
            await self._rest.aclose()

    async def _send_all(self, send: Any) -> None:
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._reply.headers.items()]
        await send({"type": "http.response.start", "status": self._reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": self._reply.body, "more_body": True})
        async for piece in self._rest:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
