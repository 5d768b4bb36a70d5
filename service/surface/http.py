"""The HTTP server's app: REST, MCP, probes, behind one gate.

In: services, keys, the server's state. Out: a Litestar app; further handlers (the console's) and lifespans are handed in.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from typing import Any, Final

import msgspec
import structlog
from litestar import Litestar, Request, Response
from litestar.exceptions import HTTPException
from litestar.handlers import asgi
from litestar.types import ControllerRouterHandler, Receive, Scope, Send

from service.errors import InternalError, InvalidRequest, MunimentError, NotFound
from service.operations import CATALOGUE
from service.operations.operation import Operation, Services
from service.operations.perform import is_offered
from service.surface.gate import Gate
from service.surface.health import Readiness, ServerState, make_probes
from service.surface.incoming import Identifies
from service.surface.mcp.server import PATH, McpEndpoint
from service.surface.mcp.tools import ToolSet
from service.surface.reply import Reply, json_reply
from service.surface.resource import ProtectedResource
from service.surface.rest.endpoint import MethodNotAllowed, serve
from service.surface.rest.openapi import make_document
from service.surface.rest.problems import problem_reply
from service.surface.rest.routes import ROOT, make_routes

__all__ = ["Readiness", "ServerState", "build_app"]

Lifespan = Callable[[Litestar], AbstractAsyncContextManager[None]]
_LOG: Final = structlog.stdlib.get_logger("muniment.http")


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """What is said at `/`: what this is, and where its surfaces are."""

    name: str = "Muniment"
    what: str = "The shared memory of teams of people and AI agents."
    version: str
    api: str = ROOT
    openapi: str = f"{ROOT}/openapi.json"
    mcp: str = PATH
    health: tuple[str, ...] = ("/livez", "/readyz", "/metrics")
    docs: str = "docs/using.md in the source of this version"
    hint: str = "Calls take a key: Authorization: Bearer mun_…"


class GatedApp(Litestar):
    """Litestar behind the gate: also what no route answers has passed it."""

    gate: Gate | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self.gate is None or scope["type"] == "lifespan":
            await super().__call__(scope, receive, send)
        else:
            await self.gate(scope, receive, send)


def build_app(
    services: Services,
    keys: Identifies,
    state: ServerState,
    *,
    catalogue: Sequence[Operation] = CATALOGUE,
    handlers: Sequence[ControllerRouterHandler] = (),
    lifespan: Sequence[Lifespan] = (),
) -> Litestar:
    """The app of one server; serve it with its lifespan on."""
    release = version("muniment")
    offered = [operation for operation in catalogue if is_offered(services.settings, operation)]
    tools = McpEndpoint(ToolSet(offered), services, keys, release)
    resource = ProtectedResource(services.settings)
    document = json_reply(make_document(catalogue, release), headers={"cache-control": "no-cache"})

    welcome = json_reply(Welcome(version=release), headers={"cache-control": "no-cache"})

    async def describe(scope: Any, receive: Any) -> Reply:
        return document

    async def greet(scope: Any, receive: Any) -> Reply:
        return welcome

    @asgi(PATH, copy_scope=True)
    async def mcp(scope: Scope, receive: Receive, send: Send) -> None:
        await tools(scope, receive, send)  # type: ignore[arg-type]

    app = GatedApp(
        route_handlers=[
            *make_routes(catalogue, services, keys),
            serve("/", greet),
            serve(f"{ROOT}/openapi.json", describe),
            mcp,
            *make_probes(services, state),
            *resource.handlers(),
            *handlers,
        ],
        lifespan=[*lifespan, lambda app: tools.running()],
        openapi_config=None,
        exception_handlers={Exception: _answer_exception},
        logging_config=None,
    )
    app.gate = Gate(super(GatedApp, app).__call__, services.settings, resource)
    return app


def _answer_exception(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """What Litestar itself raises: no such route, or a handler's own failure."""
    reply = problem_reply(_named(request, error), surface="http")
    return Response(reply.body, status_code=reply.status, headers=dict(reply.headers), media_type=reply.headers["content-type"])


def _named(request: Request[Any, Any, Any], error: Exception) -> MunimentError:
    if isinstance(error, MunimentError):
        return error
    if isinstance(error, HTTPException) and error.status_code < 500:
        if error.status_code == 404:
            return NotFound(f"There is nothing at {request.scope['path'][:200]}.", hint=f"{ROOT}/openapi.json lists what there is.")
        if error.status_code == 405:
            allowed = (error.headers or {}).get("allow", "").split(", ")
            allowed += ["HEAD"] if "GET" in allowed else []
            return MethodNotAllowed(request.method, allowed)
        return InvalidRequest(error.detail)
    _LOG.error("unexpected error", path=request.scope["path"], method=request.method, exc_info=error)
    return InternalError()
