"""Where the fenced code of a Markdown text is: in comes the text, out come its stretches in order, each prose or code."""

import re
from collections.abc import Iterator

import msgspec

from service.memory.windows import matches

# Fences may stand in a quotation or a list, so any indentation and `>` is taken.
_FENCE_LINE = re.compile(r"^[ \t>]*+(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)?(?P<mark>`{3,}+|~{3,}+)(?P<rest>[^\n]*+)", re.MULTILINE)


class Stretch(msgspec.Struct, frozen=True):
    """A piece of a text, from offset `start` up to `end`; the fence lines themselves belong to none."""

    start: int
    end: int
    is_code: bool


def stretches(text: str) -> Iterator[Stretch]:
    """Split Markdown at its code fences; a fence that is never closed holds to the end of the text."""
    start = 0
    fence = ""
    for line in matches(_FENCE_LINE, text):
        mark, rest = line["mark"], line["rest"]
        if fence and (rest.strip() or not mark.startswith(fence)):
            continue
        if not fence and mark[0] == "`" and "`" in rest:
            continue
        yield Stretch(start, line.start(), bool(fence))
        start, fence = line.end(), "" if fence else mark
    yield Stretch(start, len(text), bool(fence))
