"""What commands print: results on stdout, problems and progress on stderr.

In: answers and problems. Out: text for people (tables, bold matches), or JSON. What came from a memory is printed as plain text: no escape
sequence in it reaches the terminal.
"""

import html
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from service.errors import Problem

_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MARK: Final = re.compile(r"<mark>(.*?)</mark>", re.DOTALL)
_MOST_ALLOWED: Final = 30  # words of a list beside an error; --json has them all
_PIPE_WIDTH: Final = 100_000  # a line of a table is one line in a file, however long


def plain(text: str) -> str:
    """Text without control characters and those that turn the direction of writing."""
    return _UNSEEN.sub("\ufffd", text.replace("\r\n", "\n"))


def line(text: str) -> str:
    """The same on one line."""
    return " ".join(plain(text).split())


def stdout() -> Console:
    """Where results go; as wide as the terminal, and on a pipe as wide as the text."""
    terminal = sys.stdout.isatty()
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False, width=None if terminal else _PIPE_WIDTH)


def print_json(value: Any) -> None:
    """A value, or the bytes of an answer as they came, on one line."""
    text = value if isinstance(value, bytes) else msgspec.json.encode(value)
    sys.stdout.write(text.decode().strip() + "\n")


def print_problem(problem: Problem, *, as_json: bool) -> None:
    """The lines `error:` and `hint:` on stderr, with short lists of what is allowed; with `as_json` the object on stdout instead."""
    if as_json:
        print_json({"code": problem.code, "status": problem.status, "error": problem.error, "hint": problem.hint, **problem.members})
        return
    error, _, rest = plain(problem.error).partition("\n")
    excerpt = problem.members.get("excerpt")
    shown = plain(excerpt) if isinstance(excerpt, str) else rest
    lines = [f"error: {error}", *(f"  {each}" for each in shown.splitlines())]
    for name, allowed in problem.members.items():
        if name.startswith("allowed_") and isinstance(allowed, list):
            listed = line(", ".join(map(str, allowed))) if len(allowed) <= _MOST_ALLOWED else f"{len(allowed)}, listed with --json"
            lines.append(f"{name.replace('_', ' ')}: {listed}")
    if problem.hint:
        lines.append(f"hint: {line(problem.hint)}")
    sys.stderr.write("\n".join(lines) + "\n")


def print_notes(console: Console, notes: Iterable[str]) -> None:
    for note in notes:
        console.print(Text(f"note: {line(note)}", style="dim"), soft_wrap=True)


def marked(snippet: str) -> Text:
    """A snippet on one line, its `<mark>` parts in bold."""
    text = Text()
    for number, part in enumerate(_MARK.split(" ".join(snippet.split()))):
        text.append(plain(html.unescape(part)), style="bold" if number % 2 else "")
    return text


def table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """Columns and rows; text that is too wide for the terminal goes on in the next line of its cell."""
    made = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        made.add_column(Text(line(column)), overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return made


def moment(value: datetime | str | None) -> str:
    """A point in time to the second, in UTC; text that is none stays as it is."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return line(value)
    return "" if value is None else f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def _shown(value: Any) -> str:
    """A value of a table's cell."""
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return "" if value is None else line(str(value))


def show_rows(rows: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    """Rows of one shape as a table, or as a JSON list."""
    if as_json:
        print_json(rows)
        return
    stdout().print(table(list(rows[0]) if rows else [], [[_shown(value) for value in row.values()] for row in rows]))


def progress(*, counted: bool) -> Progress:
    """A bar on stderr when that is a terminal, and nothing otherwise; `counted`: how much there is to do is known."""
    parts = [BarColumn(), MofNCompleteColumn()] if counted else [TextColumn("{task.completed:.0f}")]
    console = Console(file=sys.stderr, highlight=False)
    shown = sys.stderr.isatty()
    return Progress(
        SpinnerColumn(), TextColumn("{task.description}"), *parts, TimeElapsedColumn(), console=console, disable=not shown, transient=True
    )
