"""REST: every route of the catalogue as an ASGI handler below /api/v1.

In: the catalogue, services, keys. Out: Litestar handlers. A handler asks for the key before it reads the body, runs the operation only
while the client is there, and answers JSON or problem details.
"""

import re
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

from litestar.handlers import HTTPRouteHandler
from msgspec import inspect

from service.errors import InvalidRequest, MalformedBody, UnsupportedMediaType
from service.operations.operation import Operation, Route, Services
from service.operations.perform import admit, perform, perform_lines
from service.surface.decode import bare_type, fields_of, read_arguments, takes_anything
from service.surface.incoming import Identifies, header, identify, read_body, wait_for_leaving, while_connected
from service.surface.json_body import clean_value, parse_json, parse_lines
from service.surface.reply import Receive, Reply, Scope, json_reply
from service.surface.rest.conditions import arguments_in_headers, client_has, etag_of
from service.surface.rest.endpoint import serve

ROOT: Final = "/api/v1"
_BRACES: Final = re.compile(r"\{(\w+)(\*?)\}")
_LINES: Final = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})


def make_routes(catalogue: Sequence[Operation], services: Services, keys: Identifies) -> list[HTTPRouteHandler]:
    """A handler for each route of the catalogue, and one for each address that says which methods it has."""
    methods: dict[str, set[str]] = {}
    for route in (route for operation in catalogue for route in operation.routes):
        methods.setdefault(_address(route), {"OPTIONS"}).update(("GET", "HEAD") if route.method == "GET" else (route.method,))
    return [
        # First: Litestar's own, which it makes for an address without, would know only the first method.
        *(_options(address, ", ".join(sorted(allowed))) for address, allowed in methods.items()),
        *(_handler(operation, route, services, keys) for operation in catalogue for route in operation.routes),
    ]


def fields_in_path(path: str) -> list[str]:
    """The names in braces."""
    return [name for name, _ in _BRACES.findall(path)]


def lines_field(operation: Operation) -> str | None:
    """The field that a body of JSON lines fills: the only one that must be given, if it is a list of anything."""
    required = [field for field in fields_of(operation.request).values() if field.required]
    if len(required) != 1 or not isinstance(kind := bare_type(required[0].type), inspect.ListType):
        return None
    return required[0].encode_name if takes_anything(kind.item_type) else None


def _handler(operation: Operation, route: Route, services: Services, keys: Identifies) -> HTTPRouteHandler:
    async def answer(scope: Scope, receive: Receive) -> Reply:
        caller = await identify(keys, scope)
        await admit(services, caller, operation, surface="rest")
        raw = await _arguments(operation, route, scope, receive, services.settings.body_max_bytes)
        request = read_arguments(operation, raw)
        work = perform(services, caller, operation, request, surface="rest")
        given = await while_connected(work, wait_for_leaving(receive))
        if (pieces := perform_lines(services, caller, operation, request)) is not None:
            return await _stream(pieces)
        return _reply(scope, route, given)

    return serve(_address(route), answer, route.method)


def _address(route: Route) -> str:
    return ROOT + _BRACES.sub(lambda found: f"{{{found[1]}:{'path' if found[2] else 'str'}}}", route.path)


def _options(address: str, allowed: str) -> HTTPRouteHandler:
    async def answer(_scope: Scope, _receive: Receive) -> Reply:
        return Reply(204, headers={"allow": allowed})

    return serve(address, answer, "OPTIONS")


async def _stream(pieces: AsyncGenerator[bytes]) -> Reply:
    """An answer that has begun: what keeps it from beginning is a refusal like any other."""
    return Reply(200, await anext(pieces), {"content-type": "application/x-ndjson", "cache-control": "no-store"}, pieces)


def _reply(scope: Scope, route: Route, answer: Any) -> Reply:
    etag = etag_of(answer)
    headers = {"cache-control": "no-store"} if etag is None else {"etag": etag, "cache-control": "private, no-cache"}
    if etag is not None and route.method == "GET" and client_has(scope, etag):
        return Reply(304, headers=headers)
    return json_reply(answer, route.status_of(answer), headers)


async def _arguments(operation: Operation, route: Route, scope: Scope, receive: Any, limit: int) -> dict[str, Any]:
    """Path, headers, and query string or body in one mapping; the same argument in two places must say the same."""
    fields = fields_of(operation.request)
    fixed = {name: clean_value(_segment(value)) for name, value in scope["path_params"].items()} | arguments_in_headers(scope, fields)
    query = scope["query_string"]
    if route.method in ("GET", "DELETE"):
        given = _from_query(query)
        await read_body(receive, limit)
    else:
        if query:
            raise InvalidRequest("Arguments of this address go into the body, not into the query string.")
        given = _from_body(operation, scope, await read_body(receive, limit))
    for name, value in fixed.items():
        if given.setdefault(name, value) not in (value, str(value)):
            raise InvalidRequest(f"{name}: the address or a header says {value!r}, the arguments say otherwise.")
    return given


def _segment(value: Any) -> str:
    """A path's rest comes with a slash before it."""
    return str(value).removeprefix("/")


def _from_query(query: bytes) -> dict[str, Any]:
    """Names given several times become lists."""
    found: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=1000)
    except ValueError as error:
        raise InvalidRequest("The query string has more than 1000 fields.") from error
    for name, value in pairs:
        found.setdefault(clean_value(name), []).append(clean_value(value))
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _from_body(operation: Operation, scope: Scope, body: bytes) -> dict[str, Any]:
    if not body:
        return {}
    kind = (header(scope, b"content-type") or "").partition(";")[0].strip().lower()
    if kind in _LINES and (field := lines_field(operation)) is not None:
        return {field: parse_lines(body)}
    if kind != "application/json" and not kind.endswith("+json"):
        raise UnsupportedMediaType(f"This address reads application/json, not {kind[:80] or 'a body without a content type'}.")
    value = parse_json(body)
    if not isinstance(value, dict):
        raise MalformedBody("The body is not a JSON object.")
    return value
