"""What a query is given – literals and parameters – as values that Postgres gets bound.

In: `Given` values and how they are used. Out: slots, each of which turns the call's `params` into one bound value of a fixed
type, so that the compiled text does not depend on the parameters. Postgres never coerces text: a value of another type than
the column it is compared with becomes one that equals nothing, or null where an order is asked. Raises `params` rejections.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Any, cast

import msgspec

from service.graph.ast import Comparison, Constant, Listing, Param, Scalar
from service.graph.rejection import GraphRejection, misfit, nearest
from service.graph.relations.protocol import Choice, Fraction, Kind, Label, Rule, Whole
from service.memory.scripts import fold_name

PREFIXES: Mapping[Label, str] = {"Event": "evt", "Entity": "ent", "Tag": "tag"}
_ID = re.compile(r"(evt|ent|tag)_([1-9][0-9]{0,18})", re.ASCII)
_LAST_ID = 2**63 - 1
_HIGHEST = 1e308
_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_FARTHEST = 10**30
# Stands for values of unlike types where a column may be null: nothing stored equals it, and null stays null.
_NEVER = {"integer": Decimal("NaN"), "float": float("nan"), "time": datetime.max.replace(tzinfo=UTC)}
ARRAYS: Mapping[Kind, str] = {
    "id": "bigint[]",
    "text": "text[]",
    "integer": "numeric[]",
    "float": "float8[]",
    "time": "timestamptz[]",
}

Answer = Scalar | Sequence[Scalar]
Bound = object
Given = Param | Constant | Listing


def number_of(public_id: object, label: Label) -> int | None:
    """The number behind a public id of this label; None for anything else."""
    found = _ID.fullmatch(public_id) if isinstance(public_id, str) else None
    if found is None or found.group(1) != PREFIXES[label]:
        return None
    number = int(found.group(2))
    return number if number <= _LAST_ID else None


def whole(text: str) -> str:
    """Text without halves of characters: U+FFFD stands for each."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean(text: str) -> str:
    """Text as it is stored and compared: NFC, and U+FFFD for what Postgres cannot hold."""
    return unicodedata.normalize("NFC", whole(text.replace("\x00", "\ufffd")))


def resolve(given: Given, params: Mapping[str, object]) -> Answer:
    """The value of a literal or parameter; rejects a missing parameter and what is neither scalar nor a flat list."""
    match given:
        case Constant(value=value):
            return value
        case Listing(items=items):
            return [_scalar(resolve(item, params), item) for item in items]
        case Param(name=name, at=at):
            if name not in params:
                likely = nearest(name, params)
                hint = f"add {name} to params" + (f", or write ${whole(likely)}" if likely else "")
                raise misfit(f"the parameter ${name} is missing", at, hint)
            value = params[name]
            if isinstance(value, list | tuple):
                return [_scalar(item, given) for item in cast("Sequence[object]", value)]
            return _scalar(value, given)


def _scalar(value: object, given: Given) -> Scalar:
    if isinstance(value, float) and not (float("-inf") < value < float("inf")):
        raise misfit(f"{shown(given)} is not a finite number", given.at, "pass a finite number")
    if value is None or isinstance(value, str | int | float):
        return value
    hint = "pass text, a number, true, false, null or a flat list"
    raise misfit(f"{shown(given)} is neither a scalar nor a flat list of scalars", given.at, hint)


def shown(given: Given) -> str:
    """How a rejection calls a value."""
    match given:
        case Param(name=name):
            return f"${name}"
        case Constant(value=str(value)):
            return repr(value)
        case Constant(value=value):
            return {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)
        case Listing():
            return "the list"


def _alike(value: Scalar, kind: Kind, label: Label, given: Given) -> Bound:
    """`value` as the column's type, or None when it is of another type."""
    match kind:
        case "id":
            return number_of(value, label)
        case "text" | "list":
            return clean(value) if isinstance(value, str) else None
        case "integer":
            if isinstance(value, bool) or not isinstance(value, int | float):
                return None
            # Nothing stored lies beyond; Postgres's numeric does not take any number of digits.
            return Decimal(min(max(value, -_FARTHEST), _FARTHEST))
        case "float":
            if isinstance(value, bool) or not isinstance(value, int | float):
                return None
            return float(min(max(value, -_HIGHEST), _HIGHEST))
        case "time":
            return _time(value, given) if isinstance(value, str) else None


def _time(value: str, given: Given) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
        return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).astimezone(UTC)
    except (ValueError, OverflowError):
        hint = "write ISO 8601, such as 2026-01-31T09:00:00Z"
        text = "" if isinstance(given, Constant) else f": {value[:60]!r}"
        raise misfit(f"{shown(given)} is not a timestamp{text}", given.at, hint) from None


class Equals(msgspec.Struct, frozen=True):
    """Bound as an array of one for `column = ANY(array)`; an array that matches nothing for an unlike value."""

    given: Param | Constant
    kind: Kind
    label: Label = "Event"

    def bind(self, params: Mapping[str, object]) -> Bound:
        return _array([one(self.given, params)], self.kind, self.label, self.given)


class Members(msgspec.Struct, frozen=True):
    """Bound as an array for `column = ANY(array)`; null stays null."""

    given: Given
    kind: Kind
    label: Label = "Event"

    def bind(self, params: Mapping[str, object]) -> Bound:
        values = listed(self.given, params)
        return None if values is None else _array(values, self.kind, self.label, self.given)


def one(given: Given, params: Mapping[str, object]) -> Scalar:
    """A scalar; rejects a list."""
    value = resolve(given, params)
    if isinstance(value, Sequence) and not isinstance(value, str):
        raise misfit(f"{shown(given)} is a list where one value is wanted", given.at, "pass one value, or compare by x.property IN $list")
    return value


def listed(given: Given, params: Mapping[str, object]) -> Sequence[Scalar] | None:
    """The list right of IN; None for null."""
    values = resolve(given, params)
    if values is None:
        return None
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise misfit(f"{shown(given)} is not a list, and IN needs one", given.at, "pass a list, or compare with =")
    return values


def _array(values: Sequence[Scalar], kind: Kind, label: Label, given: Given) -> list[Bound]:
    found: list[Bound] = []
    for value in values:
        alike = None if value is None else _alike(value, kind, label, given)
        if value is None or alike is not None:
            found.append(alike)
        elif kind in _NEVER:
            found.append(_NEVER[kind])
    return found


class Ordered(msgspec.Struct, frozen=True):
    """Bound as the column's type for <, <=, >, >=; null for an unlike value."""

    given: Param | Constant
    kind: Kind

    def bind(self, params: Mapping[str, object]) -> Bound:
        value = one(self.given, params)
        return None if value is None else _alike(value, self.kind, "Event", self.given)


class Piece(msgspec.Struct, frozen=True):
    """Bound as folded text for CONTAINS."""

    given: Param | Constant

    def bind(self, params: Mapping[str, object]) -> Bound:
        value = resolve(self.given, params)
        if value is None:
            return None
        if not isinstance(value, str):
            raise misfit(f"{shown(self.given)} is not text, and CONTAINS looks for text", self.given.at, "pass a piece of a name")
        piece = fold_name(clean(value))
        if piece.isascii() and len(piece) < 2:
            raise misfit(
                f"{shown(self.given)} is too short for CONTAINS", self.given.at, "give at least 2 ASCII characters, or 1 other character"
            )
        return piece


class Verdict(msgspec.Struct, frozen=True):
    """A comparison of two given values, made here: true, false or null."""

    op: Comparison
    left: Param | Constant
    right: Param | Constant

    def bind(self, params: Mapping[str, object]) -> bool | None:
        values = one(self.left, params), one(self.right, params)
        return _compare(self.op, values[0], values[1])


class Found(msgspec.Struct, frozen=True):
    """Whether a given value is in a given list: true, false or null."""

    left: Param | Constant
    right: Given

    def bind(self, params: Mapping[str, object]) -> bool | None:
        value, values = one(self.left, params), listed(self.right, params)
        if values is None:
            return None
        verdicts = [_compare("=", value, other) for other in values]
        return True if True in verdicts else None if None in verdicts else False


def _compare(op: Comparison, left: Scalar, right: Scalar) -> bool | None:
    if left is None or right is None:
        return None
    a, b = (clean(side) if isinstance(side, str) else side for side in (left, right))
    alike = _family(a) is _family(b)
    if op in ("=", "<>"):
        return (alike and a == b) is (op == "=")
    if not alike:
        return None
    return _ORDERS[op](a, b)


def _family(value: object) -> type:
    return bool if isinstance(value, bool) else str if isinstance(value, str) else float


class Fitting(msgspec.Struct, frozen=True):
    """A parameter of a relation, checked by its rule: a number, or a list of words."""

    given: Given
    key: str
    relation: str
    rule: Rule

    def bind(self, params: Mapping[str, object]) -> Bound:
        value = resolve(self.given, params)
        match self.rule:
            case Whole(low=low, high=high):
                if isinstance(value, int) and not isinstance(value, bool) and low <= value <= (_LAST_ID if high is None else high):
                    return value
                raise self._misfit(f"an integer from {low}" + ("" if high is None else f" to {high}"))
            case Fraction(low=low, high=high):
                if isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
                    return float(value)
                raise self._misfit(f"a number from {low:g}" + ("" if high == _HIGHEST else f" to {high:g}"))
            case Choice():
                return self._words(self.rule, value)

    def _words(self, rule: Choice, value: Answer) -> list[str]:
        words = [value] if isinstance(value, str) else list(value) if rule.many and isinstance(value, Sequence) else []
        if words and all(word in rule.options for word in words):
            return [str(word) for word in words]
        likely = next((nearest(word, rule.options) for word in words if isinstance(word, str) and word not in rule.options), None)
        raise self._misfit("one of " + ", ".join(rule.options), likely, **{rule.listed: list(rule.options)})

    def _misfit(self, wanted: str, likely: str | None = None, **members: list[str]) -> GraphRejection:
        hint = f"did you mean {likely}?" if likely else f"give {wanted}"
        return misfit(f"{self.relation} {{{self.key}}} is not {wanted}", self.given.at, hint, **members)
