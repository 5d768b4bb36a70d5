"""Plain ASGI apps as Litestar handlers."""

from collections.abc import Awaitable, Callable
from typing import Any

from litestar.handlers import ASGIRouteHandler, asgi
from litestar.types import Receive, Scope, Send

from service.surface.rest.endpoint import Answer, endpoint


def mount(path: str, app: Callable[[Any, Any, Any], Awaitable[None]]) -> ASGIRouteHandler:
    """A handler that passes every request for this address to the app."""

    @asgi(path, copy_scope=True)
    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, send)

    return handle


def mount_get(path: str, answer: Answer) -> ASGIRouteHandler:
    """A handler of GET."""
    return mount(path, endpoint(answer, ["GET", "HEAD"]))
