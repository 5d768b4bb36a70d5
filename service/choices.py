"""What a place in a request or a setting may say, where that is one of few values.

In: a type, and the place as msgspec names it in its complaints (`scopes[0]`, `events[...].kind`). Out: the values.
"""

import re
from typing import Any, Final

from msgspec import inspect

_STEP: Final = re.compile(r"\[[^\]]*\]|[^.\[\]]+")


def choices_at(kind: Any, where: str = "") -> tuple[Any, ...]:
    """The values that are allowed there; none where any value of a type may be."""
    found = [inspect.type_info(kind)]
    for step in _STEP.findall(where):
        found = [inner for each in _plain(found) for inner in _within(each, step)]
    return tuple(dict.fromkeys(value for each in _plain(found) for value in _values(each)))


def _plain(kinds: list[inspect.Type]) -> list[inspect.Type]:
    """The types without descriptions, and each alternative by itself."""
    plain: list[inspect.Type] = []
    for kind in kinds:
        if isinstance(kind, inspect.Metadata):
            plain += _plain([kind.type])
        elif isinstance(kind, inspect.UnionType):
            plain += _plain([*kind.types])
        else:
            plain.append(kind)
    return plain


def _within(kind: inspect.Type, step: str) -> list[inspect.Type]:
    if isinstance(kind, inspect.StructType):
        return [field.type for field in kind.fields if field.encode_name == step]
    if isinstance(kind, inspect.ListType | inspect.SetType | inspect.FrozenSetType | inspect.VarTupleType):
        return [kind.item_type]
    return [kind.value_type] if isinstance(kind, inspect.DictType) else []


def _values(kind: inspect.Type) -> list[Any]:
    if isinstance(kind, inspect.LiteralType):
        return [*kind.values]
    return [member.value for member in kind.cls] if isinstance(kind, inspect.EnumType) else []
