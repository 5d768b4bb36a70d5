"""Answers fit the plain schemas made of their types."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import jsonschema
import msgspec

from service.surface.mcp.schemas import input_schema, output_schema, without_nulls


class Inner(msgspec.Struct, frozen=True):
    """Something inside."""

    at: datetime | None
    note: str | None = None


class Outer(msgspec.Struct, frozen=True):
    """An answer with all that is hard to say plainly."""

    inner: Inner | None
    inners: list[Inner]
    rows: list[list[Any]]
    either: int | str
    counts: dict[str, int]
    kind: Literal["a", "b"]
    gone: str | None = None
    choice: Literal["x", "y"] | None = None


def test_an_answer_with_nulls_fits_its_schema() -> None:
    answer = Outer(None, [Inner(None), Inner(datetime(2026, 1, 1, tzinfo=UTC), "x")], [[None, 1, "a"]], "text", {"n": 1}, "a")
    schema = output_schema(Outer)
    content = without_nulls(msgspec.to_builtins(answer), schema)
    jsonschema.validate(content, schema)
    assert content["inners"] == [{}, {"at": "2026-01-01T00:00:00Z", "note": "x"}]
    assert content["rows"] == [[None, 1, "a"]]
    assert "rows" not in schema["properties"]
    assert {"gone", "choice"}.isdisjoint(content)
    assert schema["properties"]["kind"] == {"type": "string", "enum": ["a", "b"]}
    assert schema["properties"]["choice"] == {"type": "string", "enum": ["x", "y"]}
    assert schema["required"] == ["counts", "inners", "kind"]


class Ask(msgspec.Struct, frozen=True):
    """Arguments."""

    must: str
    limit: int = 10
    anything: dict[str, Any] = {}
    items: list[Any] = []
    when: Annotated[str | int | float | None, msgspec.Meta(description="A time.")] = None


def test_arguments_are_plain_and_tell_their_default() -> None:
    schema = input_schema(Ask)
    assert schema["required"] == ["must"]
    assert schema["properties"]["limit"] == {"type": "integer", "description": "Default: 10."}
    assert schema["properties"]["anything"] == {"type": "object"}
    assert schema["properties"]["when"] == {"type": "string", "description": "A time."}
    assert schema["properties"]["items"] == {"type": "array", "items": {"type": "object"}}
