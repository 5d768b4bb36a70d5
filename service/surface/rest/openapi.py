"""The OpenAPI 3.1 document, made from the catalogue.

In: operations and the product's version. Out: the document as a JSON-ready dict.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from service.operations.operation import Operation, Route
from service.surface.rest.routes import ROOT, fields_in_path, lines_field

_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "description": "Problem details (RFC 9457). A code may bring further members, such as blocked_by, hint and allowed_*.",
    "required": ["type", "title", "status", "detail", "code", "error"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "description": "Stable; docs/errors.md lists the codes."},
        "error": {"type": "string"},
        "hint": {"type": "string"},
    },
}
_REFUSALS: Final = {
    "400": "The body or the query cannot be read",
    "401": "No valid key",
    "403": "The key, host or origin may not",
    "404": "No such thing, or the key cannot read it",
    "409": "Collides with what is stored",
    "413": "The body is too large",
    "415": "The content type is not read here",
    "422": "An argument has a wrong name, type or value",
    "500": "Something unexpected went wrong",
    "503": "The database does not answer in time",
    "507": "The disk under the database is full",
}


def make_document(catalogue: Sequence[Operation], version: str) -> dict[str, Any]:
    """The whole document; every operation with a route is in it."""
    types = [kind for operation in catalogue if operation.routes for kind in (operation.request, operation.answer)]
    _, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    paths: dict[str, dict[str, Any]] = {}
    for operation in catalogue:
        for route in operation.routes:
            path = ROOT + route.path.replace("*}", "}")
            paths.setdefault(path, {})[route.method.lower()] = _describe(operation, route, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Muniment", "version": version, "summary": "The shared memory of teams of people and AI agents"},
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": _PROBLEM},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "An API key, `mun_…`."}},
            "responses": {
                f"Refusal{status}": {"description": text, "content": {"application/problem+json": {"schema": _ref("Problem")}}}
                for status, text in _REFUSALS.items()
            },
        },
    }


def _describe(operation: Operation, route: Route, components: Mapping[str, Any]) -> dict[str, Any]:
    schema = components[operation.request.__name__]
    in_path = fields_in_path(route.path)
    others = {name: value for name, value in schema["properties"].items() if name not in in_path}
    required = [name for name in schema.get("required", ()) if name in others]
    described: dict[str, Any] = {
        "operationId": operation.name if operation.routes[0] is route else f"{operation.name}_{route.method.lower()}",
        "summary": operation.summary,
        "description": f"Needs the scope `{operation.scope}`.",
        "parameters": [_parameter(name, "path", schema["properties"][name], True) for name in in_path],
        "responses": {
            "2XX": {"description": "Done", "content": _content(operation)},
            **{status: {"$ref": f"#/components/responses/Refusal{status}"} for status in _REFUSALS},
        },
    }
    if route.method in ("GET", "DELETE"):
        described["parameters"] += [_parameter(name, "query", value, name in required) for name, value in others.items()]
    else:
        described["requestBody"] = _body(operation, others, required)
    return described


def _content(operation: Operation) -> dict[str, Any]:
    if operation.lines is not None:
        return {"application/x-ndjson": {"schema": {"type": "string", "description": "One JSON object a line."}}}
    return {"application/json": {"schema": _ref(operation.answer.__name__)}}


def _body(operation: Operation, properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = required
    content: dict[str, Any] = {"application/json": {"schema": schema}}
    if lines_field(operation) is not None:
        content["application/x-ndjson"] = {"schema": {"type": "string", "description": "One JSON value a line."}}
    return {"required": bool(required), "content": content}


def _parameter(name: str, place: str, schema: Mapping[str, Any], required: bool) -> dict[str, Any]:
    """A null in the query string cannot be said: such a field is left out."""
    shown = {key: value for key, value in schema.items() if key != "description"}
    if place == "path" and "anyOf" in shown:
        shown = next(each for each in shown["anyOf"] if each.get("type") != "null")
    return {"name": name, "in": place, "required": required, "description": schema.get("description", ""), "schema": shown}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
