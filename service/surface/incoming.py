"""One HTTP request as it comes in: who asks, its body within the limit, and whether the client is still there.

In: what ASGI hands over. Out: a `Caller`, bytes, the result of work that ends when the client leaves.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from service.access.keys import Caller
from service.ending import see_through
from service.errors import BodyTooLarge, Unauthenticated
from service.surface.reply import Receive, Scope

T = TypeVar("T")


class Identifies(Protocol):
    """Whoever tells callers by their bearer tokens."""

    async def identify(self, token: str) -> Caller:
        """Who holds the token; raises `Unauthenticated`."""
        ...


class ClientLeft(Exception):
    """The client closed the connection before the answer was ready; nobody is there to be told."""


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of this lower-case name."""
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), None)


async def identify(keys: Identifies, scope: Scope) -> Caller:
    """Who asks, by the bearer token; raises `Unauthenticated`. Called before any of the body is read."""
    scheme, _, token = (header(scope, b"authorization") or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated
    return await keys.identify(token.strip())


def require_size(size: int, limit: int) -> None:
    """Raises `BodyTooLarge`, which names the limit."""
    if size > limit:
        raise BodyTooLarge(
            f"The body is larger than {limit} bytes.",
            hint="Send less at once: a long text as several pages or events, a batch as several. The server's MUNIMENT_BODY_MAX_BYTES sets "
            "the limit.",
            limit=limit,
        )


async def read_body(receive: Receive, limit: int) -> bytes:
    """The whole body; raises `BodyTooLarge` as soon as it grows past the limit, `ClientLeft` when it never ends."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        chunk = message.get("body", b"")
        size += len(chunk)
        require_size(size, limit)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


async def wait_for_leaving(receive: Receive) -> None:
    """Returns when the client has closed the connection; the body must have been read, or be unwanted."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def while_connected(work: Coroutine[Any, Any, T], leaving: Coroutine[Any, Any, object]) -> T:
    """The result of `work`; when `leaving` ends first, `work` is cancelled, has given back what it held, and `ClientLeft` is raised."""
    task, watch = asyncio.ensure_future(work), asyncio.ensure_future(leaving)
    task.add_done_callback(_heed)
    try:
        await asyncio.wait((task, watch), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientLeft
        return task.result()
    finally:
        watch.cancel()  # it holds nothing that it would have to give back
        task.cancel()
        # It is cancelled once: again, in the middle of giving back, it could not. (`gather` would, when this here is cancelled again.)
        await see_through(task)


def _heed(task: "asyncio.Future[Any]") -> None:
    """Whoever left wants to know of no error any more."""
    if not task.cancelled():
        task.exception()
