"""Finds where a text may be cut.

In: a text and the range in which a cut may fall. Out: an offset, after a paragraph if there is one, else after a line, a
sentence, a space, and in the worst case between two characters that a reader sees as two.
"""

import re
import unicodedata

CONTENT_PART = 50_000
"""Characters of one stored part of a long content."""

_SENTENCE = re.compile(r"[。！？]|[.!?…][\"')\]»”]*(?=\s)")
_SPACE = re.compile(r"\s(?=\S)")
_REGIONAL = re.compile("[\U0001f1e6-\U0001f1ff]")
_JOINER = "\u200d"
_LONGEST_CLUSTER = 32


def split_content(content: str, limit: int = CONTENT_PART) -> list[str]:
    """Cuts a content into parts of at most `limit` characters; joined, they are the content again, character for character."""
    parts: list[str] = []
    start = 0
    while len(content) - start > limit:
        end = find_boundary(content, start, start + limit // 2, start + limit)
        parts.append(content[start:end])
        start = end
    return [*parts, content[start:]]


def find_boundary(text: str, start: int, floor: int, end: int) -> int:
    """The best offset for a cut in `start < offset <= end`; paragraphs, lines and sentences count from `floor` on."""
    for mark in ("\n\n", "\n"):
        if (at := text.rfind(mark, floor, end)) >= max(floor, start + 1):
            return at + len(mark)
    for pattern, least in ((_SENTENCE, max(floor, start)), (_SPACE, start)):
        if at := _last_end(pattern, text, least, end):
            return at
    return _between_characters(text, start, end)


def _last_end(pattern: re.Pattern[str], text: str, least: int, end: int) -> int | None:
    """Where the last match ends that is over by `end`; the character at `end` is looked at, not taken."""
    at = None
    for found in pattern.finditer(text, least, end + 1):
        if found.end() <= end:
            at = found.end()
    return at


def _between_characters(text: str, start: int, end: int) -> int:
    """Steps back from `end` until no visible character is torn; a cluster longer than any real one is torn after all."""
    for at in range(end, max(start, end - _LONGEST_CLUSTER), -1):
        if at >= len(text) or not (_belongs_together(text[at - 1], text[at]) or _tears_flag(text, start, at)):
            return at
    return end


def _belongs_together(left: str, right: str) -> bool:
    if _JOINER in (left, right) or "\U0001f3fb" <= right <= "\U0001f3ff":
        return True
    return unicodedata.category(right) in ("Mn", "Mc", "Me") or (left, right) == ("\r", "\n")


def _tears_flag(text: str, start: int, at: int) -> bool:
    """A flag is two regional letters: a cut among several is right only behind an even number of them."""
    if not _REGIONAL.match(text, at):
        return False
    first = at
    while first > start and _REGIONAL.match(text, first - 1):
        first -= 1
    return (at - first) % 2 == 1
