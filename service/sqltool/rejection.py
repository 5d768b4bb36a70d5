"""Refusals of a free SQL query.

In: what is refused, by which rule, where in the text, what is allowed instead. Out: `SqlRejection`, whose members are the answer's
`blocked_by`, `line`, `column`, `excerpt` and the `allowed_*` lists.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final, Literal

from service.errors import MunimentError

BlockedBy = Literal["syntax", "size", "statement", "construct", "table", "function", "name", "type", "params", "database"]
_EXCERPT_WIDTH: Final = 72


class SqlRejection(MunimentError):
    """The SQL query was refused: it cannot be read, is more than one read-only query, asks for what is not listed, or fails in Postgres."""

    code = "sql_rejected"
    status = 400

    def __init__(self, message: str, *, blocked_by: BlockedBy, hint: str | None = None, at: int | None = None, **members: Any) -> None:
        super().__init__(message, hint=hint, blocked_by=blocked_by, **members)
        self.blocked_by: BlockedBy = blocked_by
        self.at = at

    def located(self, text: str) -> "SqlRejection":
        """The same refusal with the line, the column and the marked excerpt of `text` it points at."""
        if self.at is None or self.at > len(text):
            return self
        start = text.rfind("\n", 0, self.at) + 1
        line, column = text.count("\n", 0, self.at) + 1, self.at - start + 1
        members = {name: value for name, value in self.members.items() if name != "blocked_by"}
        place: dict[str, Any] = {"line": line, "column": column, "excerpt": _excerpt(text, start, self.at)}
        message = f"line {line}, column {column}: {self.message}"
        return SqlRejection(message, blocked_by=self.blocked_by, hint=self.hint, **members, **place)


def _excerpt(text: str, start: int, at: int) -> str:
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)].rstrip("\r").replace("\t", " ")
    first = max(0, at - start - _EXCERPT_WIDTH // 2)
    return f"{line[first : first + _EXCERPT_WIDTH]}\n{' ' * (at - start - first)}^"


def suggestion(word: str, allowed: Iterable[str], otherwise: str) -> str:
    """A hint that names the likely word, or else `otherwise`."""
    close = get_close_matches(word.lower(), list(allowed), n=1, cutoff=0.6)
    return f"Did you mean {close[0]}?" if close else otherwise
