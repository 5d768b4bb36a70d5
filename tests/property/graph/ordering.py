"""Sort keys of the evaluator, and rows held against an answer's where their order is promised."""

from datetime import datetime
from typing import Any

from tests.property.graph.relations import TOLERANCE, Measured, Ref

Keys = list[tuple[Any, bool]]


def sortable(value: Any) -> Any:
    """A value as a key: None for null, numbers of nodes and ids, text by code point, lists element by element."""
    if value is None or isinstance(value, Measured):
        return value
    if isinstance(value, Ref):
        return value.number
    if isinstance(value, tuple):
        # Lists as sort keys only break ties; how is not promised.
        return ("free",)
    return getattr(value, "number", value)


def compare_keys(left: Keys, right: Keys) -> int:
    """Which of two rows comes first; nulls last in both directions."""
    for (a, descending), (b, _) in zip(left, right, strict=True):
        if a == b:
            continue
        if a is None or b is None:
            return 1 if a is None else -1
        return (-1 if a < b else 1) * (-1 if descending else 1)
    return 0


def hardly_apart(left: Keys, right: Keys) -> bool:
    """Whether the order of two neighbours hangs on measured numbers within the tolerance, or on what is not promised."""
    for (a, _), (b, _) in zip(left, right, strict=True):
        if a == ("free",):
            return True
        if a == b:
            continue
        return isinstance(a, Measured) and isinstance(b, Measured) and abs(a - b) < TOLERANCE
    return False


def same(got: Any, expected: Any) -> bool:
    """Whether a cell of an answer is the evaluator's, measured numbers to the tolerance."""
    if isinstance(expected, Measured):
        return isinstance(got, int | float) and abs(got - expected) < TOLERANCE * max(1, abs(expected))
    if isinstance(expected, tuple | list):
        return isinstance(got, list) and len(got) == len(expected) and all(map(same, got, expected))
    if isinstance(expected, datetime):
        return got == expected.isoformat().replace("+00:00", "Z")
    return got == expected and type(got) is (type(expected) if type(expected) in (bool, int, float) else type(got))


def differs(got: list[list[Any]], expected: list[tuple[list[Any], Keys]], limit: int) -> str | None:
    """Says how the rows of an answer differ from all expected ones in their order; None where they do not."""
    if len(got) != min(limit, len(expected)):
        return f"{len(got)} rows, expected {min(limit, len(expected))} of {len(expected)}"
    place = 0
    while place < len(got):
        end = place + 1
        while end < len(expected) and hardly_apart(expected[end - 1][1], expected[end][1]):
            end += 1
        waiting = [cells for cells, _ in expected[place:end]]
        for row in got[place:end]:
            found = next((cells for cells in waiting if all(map(same, row, cells))), None)
            if found is None:
                return f"row {got.index(row)} is {row}; expected one of {waiting[:5]}"
            waiting.remove(found)
        place = end
    return None
