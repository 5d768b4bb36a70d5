"""Tool schemas are plain: every client's model takes them."""

from collections.abc import Iterator
from typing import Any

import pytest

from service.operations import CATALOGUE
from service.surface.decode import fields_of
from service.surface.mcp.instructions import make_instructions
from service.surface.mcp.schemas import input_schema, output_schema

ALLOWED = {"type", "description", "properties", "required", "items", "minimum", "maximum", "enum", "format"}
TOOLS = [operation for operation in CATALOGUE if operation.tool is not None]


def walk(schema: Any) -> Iterator[dict[str, Any]]:
    assert isinstance(schema, dict)
    yield schema
    for child in schema.get("properties", {}).values():
        yield from walk(child)
    if "items" in schema:
        yield from walk(schema["items"])


@pytest.mark.parametrize("operation", TOOLS, ids=lambda operation: operation.name)
@pytest.mark.parametrize("make", [lambda o: input_schema(o.request), lambda o: output_schema(o.answer)], ids=["input", "output"])
def test_schemas_are_plain(operation: Any, make: Any) -> None:
    schema = make(operation)
    assert schema["type"] == "object"
    for part in walk(schema):
        assert part.keys() <= ALLOWED
        assert part["type"] in ("object", "array", "string", "integer", "number", "boolean")
        assert ("items" in part) == (part["type"] == "array")
        assert part.get("format", "date-time") == "date-time"
        assert set(part.get("required", ())) <= part.get("properties", {}).keys()


@pytest.mark.parametrize("operation", TOOLS, ids=lambda operation: operation.name)
def test_every_argument_is_described(operation: Any) -> None:
    properties = input_schema(operation.request)["properties"]
    assert properties.keys() == fields_of(operation.request).keys()
    assert [name for name, part in properties.items() if not part.get("description")] == []


def test_instructions_are_short_and_name_the_phrase() -> None:
    text = make_instructions([operation.name for operation in TOOLS])
    assert len(text) < 2000
    assert "ak graph" in text
    assert "ak 그래프" in text
