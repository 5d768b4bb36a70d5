"""Searching a long text piece by piece, so that other threads run in between: a search holds the interpreter until it has found something.

In: a pattern and a text. Out: the matches that `finditer` gives. A text of up to 64 kB is searched at once.
"""

import re
from collections.abc import Iterator
from typing import Final

WINDOW: Final = 1 << 16
_REACH: Final = 1 << 12
"""Characters behind a window, up to the next blank, in which a match that begins in the window must show itself."""

_LONGEST_WORD: Final = 1 << 13
_LONGEST: Final = 1 << 20
"""Characters of a match in a text longer than a window: what matches more ends here."""

_BLANK: Final = re.compile(r"\s")


def matches(pattern: re.Pattern[str], text: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
    """The matches of a pattern that never matches nothing, in order."""
    last = len(text) if end is None else end
    while last - start > WINDOW + _REACH + _LONGEST_WORD:
        cut = start + WINDOW
        far = cut + _REACH + _LONGEST_WORD
        blank = _BLANK.search(text, cut + _REACH, far)
        stop = blank.start() if blank else far
        while start < cut:
            seen = pattern.search(text, start, stop)
            if seen is None or seen.start() >= cut:
                start = cut
                continue
            # A window's end is no end of the text: what was seen is read again without it.
            found = pattern.match(text, seen.start(), min(last, seen.start() + _LONGEST))
            if found is not None:
                yield found
            start = seen.start() + 1 if found is None else found.end()
    yield from pattern.finditer(text, start, last)
