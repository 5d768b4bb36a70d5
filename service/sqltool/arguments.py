"""The parameters of a free SQL query: bound as text, each read by Postgres as the type that it inferred.

In: the query, its JSON values, the types that Postgres inferred. Out: the text with each $n written as an element of the one list that
is bound, and that list. The text of no value ever enters the query.
"""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from service.sqltool.parse import Question
from service.sqltool.rejection import SqlRejection
from service.sqltool.rules.parameters import find_parameters

_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "text": "text",
        "varchar": "text",
        "bpchar": "text",
        "name": "text",
        "int2": "smallint",
        "int4": "integer",
        "int8": "bigint",
        "numeric": "numeric",
        "float4": "real",
        "float8": "double precision",
        "bool": "boolean",
        "date": "date",
        "time": "time",
        "timestamp": "timestamp",
        "timestamptz": "timestamptz",
        "interval": "interval",
        "uuid": "uuid",
        "json": "json",
        "jsonb": "jsonb",
        "jsonpath": "jsonpath",
        "tsvector": "tsvector",
        "tsquery": "tsquery",
        "regconfig": "regconfig",
    }
)


def bind(question: Question, params: Sequence[Any], inferred: Sequence[str]) -> tuple[str, list[str | None]]:
    """The text as it runs and the values as they are bound; raises `SqlRejection` for a value that does not fit its parameter."""
    if len(inferred) != len(params):
        raise SqlRejection("Postgres reads other parameters in this text than the checker.", blocked_by="params")
    kinds = [_cast(number, name) for number, name in enumerate(inferred, 1)]
    pieces: list[str] = []
    end = 0
    for place, number in find_parameters(question).items():
        pieces += [question.text[end : place.start], f"(($1)[{number:d}]::{kinds[number - 1]})"]
        end = place.after
    pieces.append(question.text[end:])
    values = [_encode(number, value, kind) for number, (value, kind) in enumerate(zip(params, kinds, strict=True), 1)]
    return "".join(pieces), values


def _cast(number: int, name: str) -> str:
    kind = _TYPES.get(name.removesuffix("[]"))
    if kind is None:
        raise SqlRejection(
            f"${number} would be of the type {name}.",
            blocked_by="params",
            hint=f"Say which type it is: ${number}::text.",
            allowed_types=sorted(set(_TYPES.values())),
        )
    return kind + name[len(name.removesuffix("[]")) :]


def _encode(number: int, value: Any, kind: str) -> str | None:
    if value is None:
        return None
    if kind in ("json", "jsonb"):
        return _whole(number, json.dumps(value, ensure_ascii=False))
    if kind.endswith("[]"):
        if not isinstance(value, list):
            raise SqlRejection(f"${number} is a list here.", blocked_by="params", hint='Give a list: ["a", "b"].')
        return "{" + ",".join(_element(number, item, kind) for item in value) + "}"
    return _scalar(number, value, kind)


def _element(number: int, item: Any, kind: str) -> str:
    if item is None:
        return "NULL"
    quoted = _scalar(number, item, kind).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'


def _scalar(number: int, value: Any, kind: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return _whole(number, str(value))
    raise SqlRejection(
        f"${number} is of the type {kind} here.",
        blocked_by="params",
        hint="Give text, a number, true, false or null; a list where the query says ANY($1).",
    )


def _whole(number: int, text: str) -> str:
    """Text that can be sent; raises `SqlRejection` for half a character."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SqlRejection(f"${number} holds half a character.", blocked_by="params") from error
    return text
