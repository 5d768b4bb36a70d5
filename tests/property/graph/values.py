"""Values and how they compare: ids, text, moments, three-valued logic."""

import unicodedata
from datetime import UTC, datetime
from typing import Any

from tests.property.graph.relations import TOLERANCE, Measured, Ref, Unsure

PREFIX = {"Event": "evt", "Entity": "ent", "Tag": "tag"}


class Id(str):
    """A public id; sorts by its number."""

    number: int


def id_of(ref: Ref) -> Id:
    made = Id(f"{PREFIX[ref.label]}_{ref.number}")
    made.number = ref.number
    return made


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def fold(text: str) -> str:
    return unicodedata.normalize("NFKC", nfc(text)).casefold()


def compare(op: str, left: Any, right: Any) -> bool | None:
    """A comparison in three-valued logic."""
    if left is None or right is None:
        return None
    if isinstance(left, str) and isinstance(right, str):
        left, right = nfc(left), nfc(right)
    alike = family(left) == family(right)
    if (
        alike
        and (isinstance(left, Measured) or isinstance(right, Measured))
        and abs(left - right) < TOLERANCE
        and not (isinstance(left, Measured) and isinstance(right, Measured) and left == right)
    ):
        raise Unsure
    if op in ("=", "<>"):
        return (alike and left == right) == (op == "=")
    if not alike:
        return None
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[op]


def within(value: Any, values: list[Any] | None) -> bool | None:
    if values is None:
        return None
    verdicts = [compare("=", value, given_for(value, other)) for other in values]
    return True if True in verdicts else None if None in verdicts else False


def given_for(other: Any, value: Any) -> Any:
    """A literal or parameter beside a moment is read as one; without a zone it is UTC."""
    if not (isinstance(other, datetime) and isinstance(value, str)):
        return value
    found = datetime.fromisoformat(value)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def family(value: Any) -> str:
    if isinstance(value, Ref):
        return "node"
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "text" if isinstance(value, str) else type(value).__name__
