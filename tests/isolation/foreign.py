"""What of a workspace an outsider may have heard of, and every way to put that into an operation's request.

In: an operation and a text. Out: requests that hold the text in each of their fields that takes one, however deep. They are made from the
types of the request, so that a new field is tried by itself.
"""

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from service.operations.operation import Operation

# What items that may be anything have for fields, in events and in the lines of an export.
_LOOSE = ("summary", "previous", "session", "ingest_key", "line", "path")


@dataclass(frozen=True)
class Heard:
    """A text, and one of its kind that stands for nothing anywhere; none where there can be none."""

    text: str
    absent: str | None = None


def fields_with_text(operation: Operation) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(operation.request) if any(_holding(field.type, ""))]


def requests_with(operation: Operation, field: str, text: str, others: dict[str, Any]) -> Iterator[msgspec.Struct]:
    """Requests whose `field` holds the text; `others` fills those that are required."""
    kinds = {each.encode_name: each.type for each in msgspec.structs.fields(operation.request)}
    for value in _holding(kinds[field], text):
        try:
            yield msgspec.convert({**others, field: value}, operation.request)
        except msgspec.ValidationError:  # too long, or not of the pattern: refused before it is looked at
            continue


def _holding(kind: Any, text: str) -> Iterator[Any]:
    """Values of a type in which the text stands."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        yield from _holding(inner[0], text)
    elif origin in (Union, types.UnionType):
        for each in inner:
            yield from _holding(each, text)
    elif kind is str:
        yield text
    elif kind is Any:
        yield from (text, dict.fromkeys(_LOOSE, text))
    elif origin in (list, tuple):
        for value in _holding(inner[0], text):
            yield [value]
    elif origin is dict:
        yield {"name": text, "ids": [text], text: text}
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = msgspec.structs.fields(kind)
        holding = {each.encode_name: value for each in fields if (value := next(_holding(each.type, text), None)) is not None}
        required = {each.encode_name: holding[each.encode_name] for each in fields if each.required and each.encode_name in holding}
        yield from ([holding] if holding else [])
        yield from ({**required, name: value} for name, value in holding.items() if len(holding) > 1)
