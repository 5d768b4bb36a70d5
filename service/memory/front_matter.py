"""The YAML block at the head of a Markdown page: in comes the page's text, out come its title, tags, aliases and time, and the body below.

Read with PyYAML's base loader, which is safe and leaves scalars as they are written: a title `2024`, `1.10` or `yes` stays that text.
"""

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

import msgspec
import yaml
from yaml.composer import ComposerError
from yaml.error import MarkedYAMLError
from yaml.reader import ReaderError

from service.memory.text import clean_name, clean_text
from service.memory.timestamps import InvalidTimestamp, parse_timestamp

_LONGEST_BLOCK = 65_536
_DEEPEST = 10
_MOST_WORDS = 200
_LONGEST_WORD = 200
_LONGEST_TEXT = 1000
_BLOCK = re.compile(
    r"\ufeff?---[ \t]*+\r?\n(?P<yaml>(?:(?!(?:---|\.\.\.)[ \t]*+\r?(?:\n|\Z))[^\n]*+\n)*+)(?:---|\.\.\.)[ \t]*+\r?(?:\n|\Z)"
)
_STORED = "the page is stored with it as text"
_AT_END = re.compile(r"end of stream|<stream end>")
_TIME_KEYS = ("timestamp", "date", "created", "created_at")


class FrontMatter(msgspec.Struct, frozen=True):
    """What stood at the head of a page. `problem` says, for people, what could not be read and what became of it, `problem_line` where
    on the page that is; bad YAML is left in the body."""

    body: str
    title: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    timestamp: datetime | None = None
    problem: str | None = None
    problem_line: int = 1


class _PlainLoader(yaml.BaseLoader):
    """A loader without anchors, which can blow a few lines up to gigabytes, and without deep nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise ComposerError(None, None, "anchors and aliases are not read", event.start_mark)
        if self.depth >= _DEEPEST:
            raise ComposerError(None, None, f"nested deeper than {_DEEPEST} levels", event.start_mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def front_matter(text: str) -> FrontMatter:
    """Split a page into its front matter and its body.

    Known keys: `title`, `tags` or `tag`, `aliases` or `alias`, and a time under `timestamp`, `date`, `created` or `created_at`; others are
    dropped. A block that is no YAML mapping stays in the body, since a page may begin with a ruled line; YAML that cannot be read stays
    there too, with a `problem`.
    """
    found = _BLOCK.match(text)
    if found is None:
        return FrontMatter(text.removeprefix("\ufeff"))
    if len(found["yaml"]) > _LONGEST_BLOCK:
        return FrontMatter(text.removeprefix("\ufeff"), problem=f"The front matter is longer than {_LONGEST_BLOCK} characters; {_STORED}.")
    try:
        fields = yaml.load(clean_text(found["yaml"]), _PlainLoader)  # noqa: S506 - based on BaseLoader
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # an escape beyond Unicode is a ValueError
        reason, line = _told(error)
        problem = f"The front matter cannot be read as YAML ({reason}); {_STORED}."
        return FrontMatter(text.removeprefix("\ufeff"), problem=problem, problem_line=line)
    if fields in (None, ""):
        return FrontMatter(text[found.end() :])
    if not isinstance(fields, dict):
        return FrontMatter(text.removeprefix("\ufeff"))
    return _from_fields({str(key).lower(): value for key, value in fields.items()}, text[found.end() :])


def _from_fields(fields: dict[str, Any], body: str) -> FrontMatter:
    timestamp: datetime | None = None
    problem: str | None = None
    written = next((_as_text(fields[key]) for key in _TIME_KEYS if fields.get(key)), None)
    if written is not None:
        try:
            timestamp = parse_timestamp(written)
        except InvalidTimestamp as error:
            problem = f"{error.message.removesuffix('.')}; the page is stored without a time of its own."
    return FrontMatter(
        body=body,
        title=_as_text(fields.get("title")),
        tags=_as_words(fields.get("tags") or fields.get("tag"), between=r"[,\s]+"),
        aliases=_as_words(fields.get("aliases") or fields.get("alias"), between=","),
        timestamp=timestamp,
        problem=problem,
    )


def _as_text(value: object) -> str | None:
    """A scalar as written; a list or mapping (an unquoted `{{title}}` of a template) as JSON; nothing for an empty value."""
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value else ""
    text = clean_name(written[:_LONGEST_TEXT])
    return None if text in {"", "~", "null"} else text


def _as_words(value: object, between: str) -> tuple[str, ...]:
    """A list, or text that holds one, as names without a leading `#`, each once."""
    items = re.split(between, value) if isinstance(value, str) else cast("Sequence[object]", value) if isinstance(value, list) else ()
    named = ((_as_text(item) or "").lstrip("#").strip() for item in items)
    return tuple(dict.fromkeys(name for name in named if 0 < len(name) <= _LONGEST_WORD))[:_MOST_WORDS]


def _told(error: Exception) -> tuple[str, int]:
    """What is wrong, and in which line of the page: where what is never closed begins, not the end of the block, where that is noticed."""
    if isinstance(error, ReaderError):
        return str(error.reason), 1
    if not isinstance(error, MarkedYAMLError):
        return "an escape that stands for no character", 1
    at = error.problem_mark
    if error.context_mark is not None and (at is None or _AT_END.search(error.problem or "")):
        at = error.context_mark
    reason = " ".join((error.problem or error.context or "").split())[:200]
    return reason.replace("'<stream end>'", "the end"), 1 if at is None else at.line + 2
