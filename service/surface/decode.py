"""Arguments as callers give them, turned into an operation's request; the same for every surface.

In: an operation and a mapping of names to values, JSON's as `parse_json` gives them. Out: its request Struct, or an `InvalidRequest`
that names the argument and says what it takes. Numbers, booleans, lists and objects that come as text are understood where the field
takes no text.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import inspect

from service.choices import choices_at
from service.errors import InvalidRequest, MalformedBody
from service.operations.operation import Operation
from service.surface.json_body import clean_value, parse_json
from service.surface.wording import describe_error, is_choice, place_of

_TEXTUAL: Final = (inspect.StrType, inspect.AnyType, inspect.DateTimeType, inspect.DateType, inspect.UUIDType, inspect.EnumType)
_TRUTH: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def read_arguments(operation: Operation, raw: Mapping[str, Any]) -> Any:
    """The request; raises `InvalidRequest`.

    Null for an argument that may be left out means that it is left out, unless the request tells the two apart.
    """
    fields = fields_of(operation.request)
    given: dict[str, Any] = {}
    for name, value in raw.items():
        field = fields.get(operation.aliases.get(name, name))
        if field is None:
            raise _unknown(operation, name, fields)
        if field.encode_name in given:
            raise InvalidRequest(f"{name}: the same argument as {field.encode_name!r}; give one of them.")
        if value is not None or field.required or _tells_null(field):
            given[field.encode_name] = _fit(value, field.type, field.encode_name)
    try:
        return msgspec.convert(given, operation.request)
    except msgspec.ValidationError as error:
        raise _unreadable(operation, str(error), fields) from error


@lru_cache(256)
def fields_of(request: type[msgspec.Struct]) -> Mapping[str, inspect.Field]:
    """A request's fields by the names under which callers give them."""
    info = inspect.type_info(request)
    if not isinstance(info, inspect.StructType):
        raise TypeError(f"not a Struct: {request!r}")
    return {field.encode_name: field for field in info.fields}


def _tells_null(field: inspect.Field) -> bool:
    """Whether null says something: the default is `UNSET` then, which msgspec does not show."""
    return not field.required and field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT


def bare_type(kind: inspect.Type) -> inspect.Type:
    """What a field takes when it is not left out, without its description."""
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    if not isinstance(kind, inspect.UnionType):
        return kind
    kinds = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
    return bare_type(kinds[0]) if len(kinds) == 1 else kind


def takes_anything(kind: inspect.Type) -> bool:
    """Whether nothing is known of the value."""
    return isinstance(bare_type(kind), inspect.AnyType)


def takes_text(kind: inspect.Type) -> bool:
    """Whether a text may stand for itself."""
    kind = bare_type(kind)
    if isinstance(kind, inspect.UnionType):
        return any(takes_text(each) for each in kind.types)
    if isinstance(kind, inspect.LiteralType):
        return any(isinstance(value, str) for value in kind.values)
    return isinstance(kind, _TEXTUAL)


def _unreadable(operation: Operation, complaint: str, fields: Mapping[str, inspect.Field]) -> InvalidRequest:
    """The refusal; where few values are allowed it lists them."""
    allowed = [str(value) for value in choices_at(operation.request, place_of(complaint))] if is_choice(complaint) else []
    if not allowed:
        return InvalidRequest(describe_error(complaint), hint=f"{operation.name} takes: {', '.join(fields)}.")
    return InvalidRequest(describe_error(complaint), hint=f"Choose of: {', '.join(allowed)}.", allowed_values=allowed)


def _unknown(operation: Operation, name: str, fields: Mapping[str, inspect.Field]) -> InvalidRequest:
    shown = clean_value(name)[:80]
    near = get_close_matches(shown, [*fields, *operation.aliases], n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"{operation.name} takes: {', '.join(fields) or 'nothing'}."
    return InvalidRequest(f"{shown}: there is no such argument.", hint=hint, allowed_arguments=list(fields))


def _fit(value: Any, kind: inspect.Type, where: str) -> Any:
    """The value in the shape that its field asks for, where that can be told; anything else is left to the conversion to refuse."""
    kind = bare_type(kind)
    if isinstance(value, str):
        return clean_value(value) if takes_text(kind) else _from_text(value, kind, where)
    if isinstance(value, list) and isinstance(kind, inspect.ListType) and not takes_anything(kind.item_type):
        return [_fit(item, kind.item_type, f"{where}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, dict) and isinstance(kind, inspect.StructType):
        known = {field.encode_name: field for field in kind.fields}
        return {
            name: _fit(item, known[name].type, f"{where}.{name}") if name in known else item
            for name, item in value.items()
            if item is not None or name not in known or known[name].required
        }
    if isinstance(value, float) and isinstance(kind, inspect.IntType) and value.is_integer():
        return int(value)
    return value


def _from_text(text: str, kind: inspect.Type, where: str) -> Any:
    if isinstance(kind, inspect.ListType):
        return _list_from(text, kind, where)
    if isinstance(kind, inspect.StructType):
        sole = _sole_text(kind)
        if sole is not None and not text.lstrip().startswith("{"):
            return {sole: clean_value(text)}
        return _fit(_read(text, where, "an object", dict), kind, where)
    if isinstance(kind, inspect.DictType):
        return _read(text, where, "an object", dict)
    if isinstance(kind, inspect.BoolType):
        return _TRUTH.get(text.strip().lower(), text)
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        return _number(text, isinstance(kind, inspect.IntType))
    return text


def _list_from(text: str, kind: inspect.ListType, where: str) -> Any:
    """A list written as JSON; or, where the items are texts, as texts with commas between them."""
    item = bare_type(kind.item_type)
    plain = takes_text(item) or (isinstance(item, inspect.StructType) and _sole_text(item) is not None)
    if text.lstrip().startswith("[") or not plain:
        return _fit(_read(text, where, "a list", list), kind, where)
    return _fit([part.strip() for part in text.split(",") if part.strip()], kind, where)


def _sole_text(kind: inspect.StructType) -> str | None:
    """The one field that must be given, if that is a text: then the text alone is enough."""
    required = [field for field in kind.fields if field.required]
    return required[0].encode_name if len(required) == 1 and takes_text(required[0].type) else None


def _read(text: str, where: str, expected: str, shape: type) -> Any:
    try:
        value = parse_json(text.encode(errors="replace"))
    except MalformedBody as error:
        raise InvalidRequest(f"{where}: expected {expected}, got text that is no JSON.") from error
    if not isinstance(value, shape):
        raise InvalidRequest(f"{where}: expected {expected}.")
    return value


def _number(text: str, whole: bool) -> Any:
    try:
        value = msgspec.json.decode(text.strip().encode(errors="replace"), type=int | float)
    except msgspec.DecodeError:
        return text
    return int(value) if whole and isinstance(value, float) and value.is_integer() else value
