"""The answer of a free SQL query.

In: rows as Postgres wrote them, the names of the columns, the limits. Out: `SqlAnswer`. No I/O.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from service.sqltool.views import VIEWS

MOST_ROWS: Final = 10_000


class SqlAnswer(msgspec.Struct, frozen=True):
    """The response to `query_memories_with_sql`; rows are lists in the order of the columns."""

    columns: list[str]
    rows: list[list[Any]]
    row_count: int
    truncated: bool
    notes: list[str]


_LONGEST_INTEGER: Final = 300


def _float(text: str) -> float | str:
    """A number that no double holds stays text."""
    value = float(text)
    return text if value in (float("inf"), float("-inf")) else value


_DECODER: Final = msgspec.json.Decoder(dict[str, Any], float_hook=_float)


def _read_row(line: str) -> list[Any]:
    """The values of a row; integers of thousands of digits, which no decoder takes, stay text."""
    try:
        return list(_DECODER.decode(line).values())
    except msgspec.ValidationError:
        return list(json.loads(line, parse_int=lambda digits: int(digits) if len(digits) < _LONGEST_INTEGER else digits).values())


def make_answer(columns: Sequence[str], lines: Sequence[str | None], most_bytes: int) -> SqlAnswer:
    """Rows from their JSON; a null line says that the byte limit was reached."""
    notes: list[str] = []
    too_long = bool(lines) and lines[-1] is None
    rows = [_read_row(line) for line in lines[:MOST_ROWS] if line is not None]
    if too_long:
        notes.append(f"rows cut at {most_bytes} bytes: {len(rows)} given; select fewer or shorter columns, such as left(content, 200)")
    elif len(lines) > MOST_ROWS:
        notes.append(f"rows cut at {MOST_ROWS}; count(*) counts all")
    return SqlAnswer(columns=list(columns), rows=rows, row_count=len(rows), truncated=bool(notes), notes=notes)


def describe_views(wanted: str | None) -> SqlAnswer:
    """Every column of one view, or of all."""
    names = [name for name in VIEWS if wanted is None or name == wanted]
    rows = [[name, column.name, column.type, column.meaning] for name in names for column in VIEWS[name]]
    return SqlAnswer(columns=["view", "column", "type", "meaning"], rows=rows, row_count=len(rows), truncated=False, notes=[])
