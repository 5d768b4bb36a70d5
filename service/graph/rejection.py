"""Rejections of a graph query, and near misses.

In: what is wrong, where in the text, what is allowed instead. Out: `GraphRejection`, whose members are the answer's
`blocked_by`, `line`, `column`, `excerpt` and the `allowed_*` lists.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Literal

from service.errors import MunimentError

BlockedBy = Literal["syntax", "grammar", "params"]
EXCERPT_WIDTH = 72


class GraphRejection(MunimentError):
    """The graph query was rejected: it cannot be read, is outside the subset, or a parameter does not fit."""

    code = "graph_rejected"
    status = 400

    def __init__(self, message: str, *, blocked_by: BlockedBy, hint: str | None = None, at: int | None = None, **members: Any) -> None:
        super().__init__(message, hint=hint, blocked_by=blocked_by, **members)
        self.blocked_by: BlockedBy = blocked_by
        self.at = at

    def located(self, text: str) -> "GraphRejection":
        """The same rejection with the line, the column and the marked excerpt of `text` it points at."""
        if self.at is None or "line" in self.members:
            return self
        line_start = text.rfind("\n", 0, self.at) + 1
        line, column = text.count("\n", 0, self.at) + 1, self.at - line_start + 1
        excerpt = _excerpt(text, line_start, self.at)
        message = f"line {line}, column {column}: {self.message}"
        if self.blocked_by == "syntax":
            message = f"{message}\n{excerpt}"
        members = {name: value for name, value in self.members.items() if name != "blocked_by"}
        place = {"line": line, "column": column, "excerpt": excerpt}
        return GraphRejection(message, blocked_by=self.blocked_by, hint=self.hint, at=self.at, **members, **place)


def _excerpt(text: str, line_start: int, at: int) -> str:
    line_end = text.find("\n", line_start)
    line = text[line_start : line_end if line_end >= 0 else len(text)].rstrip("\r").replace("\t", " ")
    column = at - line_start
    first = max(0, column - EXCERPT_WIDTH // 2)
    return f"{line[first : first + EXCERPT_WIDTH]}\n{' ' * (column - first)}^"


def syntax(message: str, at: int, hint: str | None = None, **members: Any) -> GraphRejection:
    """The text cannot be read at offset `at`."""
    return GraphRejection(message, blocked_by="syntax", hint=hint, at=at, **members)


def grammar(message: str, at: int | None, hint: str, **members: Any) -> GraphRejection:
    """The text is readable, but outside the subset; `hint` says what to write instead."""
    return GraphRejection(message, blocked_by="grammar", hint=hint, at=at, **members)


def misfit(message: str, at: int | None, hint: str, **members: Any) -> GraphRejection:
    """A parameter or literal is missing or of the wrong type or range."""
    return GraphRejection(message, blocked_by="params", hint=hint, at=at, **members)


def nearest(word: str, allowed: Iterable[str]) -> str | None:
    """The allowed word that `word` was probably meant to be."""
    names = {name.casefold(): name for name in allowed}
    close = get_close_matches(word.casefold(), names, n=1, cutoff=0.6)
    return names[close[0]] if close else None


def suggestion(word: str, allowed: Iterable[str], otherwise: str) -> str:
    """A hint that names the likely word, or else `otherwise`."""
    likely = nearest(word, allowed)
    return f"did you mean {likely}?" if likely else otherwise
