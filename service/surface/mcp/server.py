"""MCP over Streamable HTTP, without sessions: each POST stands alone, so any replica can take it.

In: tools, services, keys. Out: `McpEndpoint`, an ASGI app for /mcp with a lifespan. The key is asked for on every request, before its
body is read. An answer is JSON; a call that carries a progress token gets a stream.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from difflib import get_close_matches
from typing import Any, Final

import mcp_types as types
import msgspec
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from service.access.keys import Caller
from service.errors import MunimentError, UnsupportedMediaType
from service.operations.operation import Services
from service.operations.perform import admit, perform
from service.surface.decode import read_arguments
from service.surface.incoming import ClientLeft, Identifies, header, identify, read_body, wait_for_leaving, while_connected
from service.surface.mcp.instructions import make_instructions
from service.surface.mcp.messages import MalformedMessage, parse_message, wants_stream
from service.surface.mcp.tools import ToolSet, error_result
from service.surface.reply import Message, Receive, Reply, Scope, Send
from service.surface.rest.endpoint import MethodNotAllowed
from service.surface.rest.problems import problem_reply, send_problem

PATH: Final = "/mcp"
_CALL: Final = "muniment.call"
Context = ServerRequestContext[Any, Any]


class Call(msgspec.Struct, frozen=True):
    """What a tool's handler must know of the request it serves."""

    caller: Caller
    left: asyncio.Event


class McpEndpoint:
    """The ASGI app. `running()` must be entered before the first request, once."""

    def __init__(self, tools: ToolSet, services: Services, keys: Identifies, version: str) -> None:
        self._tools = tools
        self._services = services
        self._keys = keys
        self._limit = services.settings.body_max_bytes
        server: Server[Any] = Server(
            "muniment",
            version=version,
            title="Muniment",
            instructions=make_instructions(tools.names),
            cache_hints={"tools/list": CacheHint(ttl_ms=60_000, scope="private")},
            get_tool_input_schema=tools.input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self._whole = _manager(server, self._limit, as_json=True)
        self._streamed = _manager(server, self._limit, as_json=False)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Serves until left."""
        async with self._whole.run(), self._streamed.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await _refuse(scope["method"]).send(send)
            return
        try:
            caller = await identify(self._keys, scope)
            _require_json(scope)
            message = parse_message(await read_body(receive, self._limit))
        except ClientLeft:
            return
        except MalformedMessage as error:
            await error.reply().send(send)
            return
        except MunimentError as error:
            await send_problem(error, send, surface="mcp")
            return
        await self._serve(message, Call(caller, asyncio.Event()), scope, receive, send)

    async def _serve(self, message: dict[str, Any], call: Call, scope: Scope, receive: Receive, send: Send) -> None:
        """Hands the request on with its body read, and notes when the client leaves."""
        scope[_CALL] = call
        body = msgspec.json.encode(message)
        unread = True

        async def replay() -> Message:
            nonlocal unread
            if unread:
                unread = False
                return {"type": "http.request", "body": body, "more_body": False}
            await call.left.wait()
            return {"type": "http.disconnect"}

        async def watch() -> None:
            await wait_for_leaving(receive)
            call.left.set()

        watching = asyncio.ensure_future(watch())
        try:
            manager = self._streamed if wants_stream(message, header(scope, b"accept") or "") else self._whole
            await manager.handle_request(scope, replay, send)
        finally:
            watching.cancel()

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._tools.shown_to(_call_of(ctx).caller))

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        call = _call_of(ctx)
        operation = self._tools.operation(params.name)
        if operation is None:
            near = get_close_matches(params.name, self._tools.names, n=1)
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name[:80]!r}." + (f" Did you mean {near[0]}?" if near else ""))
        await ctx.session.report_progress(0, 1)
        try:
            await admit(self._services, call.caller, operation, surface="mcp")
            request = read_arguments(operation, params.arguments or {})
            work = perform(self._services, call.caller, operation, request, surface="mcp")
            answer = await while_connected(work, _left(call))
        except ClientLeft as error:
            raise MCPError(types.INTERNAL_ERROR, "The client left.") from error
        except MunimentError as error:
            return error_result(error)
        await ctx.session.report_progress(1, 1)
        return self._tools.result(operation, answer)


def _require_json(scope: Scope) -> None:
    kind = (header(scope, b"content-type") or "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise UnsupportedMediaType(f"This address reads application/json, not {kind[:80] or 'a body without a content type'}.")


def _manager(server: Server[Any], limit: int, *, as_json: bool) -> StreamableHTTPSessionManager:
    """Host and origin are checked at the gate, by settings that the SDK does not know."""
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    # The body is within our limit already, and re-encoding may lengthen it a little.
    return StreamableHTTPSessionManager(
        server, json_response=as_json, stateless=True, security_settings=security, max_request_body_size=8 * limit
    )


async def _left(call: Call) -> None:
    await call.left.wait()


def _call_of(ctx: Context) -> Call:
    return ctx.request.scope[_CALL]  # type: ignore[union-attr]


def _refuse(method: str) -> Reply:
    """No streams to listen to and no sessions to end: a client that meets 405 goes on without."""
    if method == "OPTIONS":
        return Reply(204, headers={"allow": "POST"})
    return problem_reply(MethodNotAllowed(method, ["POST"]), surface="mcp")
