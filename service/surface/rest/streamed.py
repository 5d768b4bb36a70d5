"""An answer that is sent piece by piece, while its client is there and reads.

In: a `Reply` that has begun, and the rest of it. Out: what is sent. Whoever leaves ends it, so that what it holds is given back; so
does the connection for those who take nothing. An answer that was cut short has no proper end, by which its reader knows.
"""

from collections.abc import AsyncGenerator
from typing import Final

import structlog

from service.errors import MunimentError
from service.surface.incoming import ClientLeft, wait_for_leaving, while_connected
from service.surface.reply import Receive, Reply, Send

_LOG: Final = structlog.stdlib.get_logger("muniment.http")


async def send_pieces(reply: Reply, rest: AsyncGenerator[bytes], receive: Receive, send: Send) -> None:
    """Sends the body that there is, then the rest."""
    try:
        await while_connected(_send_all(reply, rest, send), wait_for_leaving(receive))
    except ClientLeft:
        return
    except MunimentError as error:  # the connection is closed before the answer's end
        _LOG.warning("answer broken off", code=error.code)
    finally:
        await rest.aclose()


async def _send_all(reply: Reply, rest: AsyncGenerator[bytes], send: Send) -> None:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body, "more_body": True})
    async for piece in rest:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
