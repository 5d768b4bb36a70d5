"""What every HTTP request passes first: its host, its origin, its announced size; then it gets an id and its answer the headers.

In: an ASGI app and settings. Out: the app behind the gate. Forwarded headers are not read: whoever sends them is not known.
"""

import asyncio
import re
import uuid
from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import structlog

from service.errors import InternalError, MunimentError, OriginRefused
from service.settings import Settings
from service.surface.incoming import ClientLeft, header, require_size
from service.surface.reply import Message, Receive, Reply, Scope, Send
from service.surface.resource import ProtectedResource
from service.surface.rest.problems import send_problem
from service.surface.wire import MalformedRequest


class ShuttingDown(MunimentError):
    """The server ends, and the call did not end before it."""

    code = "shutting_down"
    status = 503
    hint = "Try again: another replica, or the server once it is up, answers."


_LOG: Final = structlog.stdlib.get_logger("muniment.http")
_LOCAL: Final = ("localhost", "127.0.0.1", "[::1]")
_PROBES: Final = frozenset({"/livez", "/readyz"})
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
_AUTHORITY: Final = re.compile(r"[A-Za-z0-9._-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")
_CORS: Final = {
    "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
    "access-control-allow-headers": (
        "Authorization, Content-Type, Accept, If-Match, If-None-Match, Idempotency-Key, X-Request-Id, "
        "Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID"
    ),
    "access-control-max-age": "600",
}


class Gate:
    """An ASGI app in front of another."""

    def __init__(self, app: Any, settings: Settings, resource: ProtectedResource) -> None:
        self._app = app
        self._resource = resource
        self._hosts = tuple(name.lower() for name in settings.allowed_hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in settings.allowed_origins)
        self._body_max = settings.body_max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = header(scope, b"x-request-id") or ""
        request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        answer = _Answer(send, {"x-request-id": request_id, "x-content-type-options": "nosniff"}, lambda: self._resource.challenge(scope))
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._pass(scope, receive, answer)
            except ClientLeft:
                return
            except MunimentError as error:
                await send_problem(error, answer, surface="http")
            except asyncio.CancelledError:  # only the server's own end cancels a request
                if not answer.started:
                    await send_problem(ShuttingDown(), answer, surface="http")
            except Exception:
                _LOG.exception("unexpected error", path=scope["path"], method=scope["method"])
                if answer.started:
                    raise
                await send_problem(InternalError(request_id=request_id), answer, surface="http")

    async def _pass(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        self._check_host(scope)
        origin = header(scope, b"origin")
        if origin is not None:
            self._check_origin(scope, origin)
            answer.headers |= {
                "access-control-allow-origin": origin,
                "access-control-expose-headers": "ETag, X-Request-Id, WWW-Authenticate",
                "vary": "Origin",
            }
            if scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method"):
                await Reply(204, headers=_CORS).send(answer)
                return
        length = header(scope, b"content-length")
        if length is not None and length.isdecimal():
            require_size(int(length), self._body_max)
        await self._app({**scope, "method": "GET"} if scope["method"] == "HEAD" else scope, receive, answer)

    def _check_host(self, scope: Scope) -> None:
        if not scope["raw_path"].startswith(b"/") or sum(name == b"host" for name, _ in scope["headers"]) > 1:
            raise MalformedRequest("The request must name a path, and one host in its header.")
        if scope["path"] in _PROBES:
            return
        host = (header(scope, b"host") or "").lower()
        known = _AUTHORITY.fullmatch(host) is not None and (
            self._serves(scope, host) or (scope["path"] == "/metrics" and _name_of(host) == _own_address(scope))
        )
        if not known:
            raise OriginRefused(f"This server does not serve the host {host[:80]!r}.")

    def _check_origin(self, scope: Scope, origin: str) -> None:
        """Another site's page must not reach this server through its reader's browser."""
        origin = origin.lower()
        if origin in self._origins:
            return
        parts = urlsplit(origin) if re.fullmatch(r"https?://[^/?#@\s]+", origin) else None
        if parts is None or _AUTHORITY.fullmatch(parts.netloc) is None:
            raise OriginRefused("The request's origin is refused.")
        # Where any host is served, only the page's own server is known to be meant.
        same = parts.netloc == (header(scope, b"host") or "").lower()
        if not (same or ("*" not in self._hosts and self._serves(scope, parts.netloc))):
            raise OriginRefused(f"The origin {origin[:80]!r} is refused.")

    def _serves(self, scope: Scope, authority: str) -> bool:
        name = _name_of(authority)
        if authority == self._resource.host:
            return True
        if not self._hosts:
            return name in _LOCAL or name == _own_address(scope)
        return "*" in self._hosts or _is_in(self._hosts, authority, name)


class _Answer:
    """`send` with headers of every answer, and of every 401; and whether one has begun."""

    def __init__(self, send: Send, headers: dict[str, str], challenge: Callable[[], str]) -> None:
        self._send = send
        self.headers = headers
        self._challenge = challenge
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            if message["status"] == HTTPStatus.UNAUTHORIZED:
                self.headers["www-authenticate"] = self._challenge()
            message["headers"] = [
                *message.get("headers", ()),
                *((k.encode(), v.encode("latin-1", "replace")) for k, v in self.headers.items()),
            ]
        await self._send(message)


def _is_in(hosts: Collection[str], authority: str, name: str) -> bool:
    """A listed host without a port stands for every port."""
    return authority in hosts or name in hosts


def _name_of(authority: str) -> str:
    return authority.partition("]")[0] + "]" if authority.startswith("[") else authority.partition(":")[0]


def _own_address(scope: Scope) -> str | None:
    """The address that this connection came in on, as a Host header writes it."""
    server = scope.get("server")
    if not server:
        return None
    return f"[{server[0]}]" if ":" in server[0] else server[0]
