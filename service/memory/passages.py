"""Cuts pages and events into passages that fit an embedding model.

In: a page's title and Markdown, or an event's summary and content. Out: `Piece`s in reading order; number 0 is the head, whose
vector stands for the whole. Every word of the text is in some piece, except what no reader would call a word (see `elide`).
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

import msgspec

from service.memory.boundaries import find_boundary
from service.memory.outline import Section, join_path, outline, shared_path, strip_front_matter

LIMIT = 200
"""Estimated tokens in a piece, its title path included."""

_SMALL = 24
"""A piece under this many tokens says too little alone: it joins the next one, even a little over the limit."""

_SECTION = 60
"""A section under this many tokens joins the next one when both fit."""

_PAGE_FILL = 0.5
_EVENT_FILL = 0.8
"""The part of a piece that must be full before a paragraph's end may close it: an event's head shall reach far."""

_KEPT_OF_RUN = 40
_KEPT_OF_BULK = 200
_KEPT_BLANKS = 200
_WRAPPED_LINE = 60
_STRETCH = 50_000
"""Characters of a long text that are looked at in one go."""

# Scripts written without spaces: Thai, Lao, Burmese, Khmer, and what East Asia writes (Hangul too: a syllable is a token).
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fff\u3001-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"[{_SPACELESS}]|[^\W{_SPACELESS}]+|[^\w\s]")
# The look-behind lets a match begin only where a run does, which keeps the search linear in texts of many long words.
_UNBROKEN = rf"[^\s{_SPACELESS}\"'<>(){{}}\[\],;|]"
_RUN = re.compile(rf"(?<!{_UNBROKEN})({_UNBROKEN}{{{_KEPT_OF_RUN}}}){_UNBROKEN}{{161,}}+")
_BULK = re.compile(rf"(?<![^\s{_SPACELESS}])([^\s{_SPACELESS}]{{{_KEPT_OF_BULK}}})[^\s{_SPACELESS}]{{1801,}}+")
# What is no such block to its end is taken as it is, lest each of its lines be tried as the first.
_WRAPPED = re.compile(
    r"^(?:([A-Za-z0-9+/]{40})[A-Za-z0-9+/]{20,}+\n(?:[A-Za-z0-9+/]{60,}+\n){2,}+[A-Za-z0-9+/=]*+$|(?:[A-Za-z0-9+/]{60,}+\n)++)",
    re.MULTILINE,
)
# Behind it goes on no run, no blank, and no block of lines; nor does one begin.
_BETWEEN_WORDS = re.compile(rf" (?<=\S )(?=\S{{1,{_WRAPPED_LINE - 1}}}\s)")
_BLANKS = re.compile(r"(?<!\s)(\s{40})\s{161,}+")


class Piece(msgspec.Struct, frozen=True):
    """A passage: `title_path` is the page's title and the headings above the text, `text` is what stands there."""

    number: int
    title_path: str
    text: str

    @property
    def for_model(self) -> str:
        """What is embedded: the text below its title path; the head carries its title in the text already."""
        return f"{self.title_path}\n{self.text}" if self.title_path and self.number else self.text


class _Part:
    """What one piece may hold, measured when it is asked for: most texts are one part, whose size nobody needs."""

    def __init__(self, path: str, text: str, cost: float | None = None) -> None:
        self.path = path
        self.text = text
        self._cost = cost

    @property
    def cost(self) -> float:
        if self._cost is None:
            self._cost = estimate_tokens(self.text)
        return self._cost


def split_page(title: str, body: str) -> list[Piece]:
    """Cuts a Markdown page along its headings; piece 0 begins with the title. Front matter is no text and is left out."""
    title = elide(_clean(title)).strip()
    text = elide(strip_front_matter(_clean(body)))
    page = outline(title, text)
    root = join_path([title])
    parts = list(_cut(title, root, (), _PAGE_FILL)) if _adds_title(title, page.sections) else []
    for section in page.sections:
        parts += _cut(text[section.start : section.end], section.path, _shifted(page.fences, section), _PAGE_FILL)
    return _joined(parts, root)


def split_event(summary: str, content: str | None) -> list[Piece]:
    """Cuts an event: piece 0 is the summary and as much of the content as fits with it, the others hold the rest."""
    # A content that begins with its summary, as a transcript's does, is not said twice.
    told = bool(content) and content.lstrip().startswith(summary.rstrip("…"))
    text = elide(_clean(content if content and told else "\n\n".join(filter(None, (summary, content)))))
    fences = outline("", text).fences if "```" in text or "~~~" in text else ()
    return _joined(list(_cut(text, "", fences, _EVENT_FILL)), "")


def elide(text: str) -> str:
    """Shortens what is no language: unbroken runs over 200 characters (base64, hashes, also in lines) to their first 40, and runs
    without a space over 2,000 (minified code) to their first 200, each with an ellipsis; blank runs over 200 to 40."""
    return "".join([_elide(text[start:end]) for start, end in _stretches(text)]) if len(text) > _STRETCH else _elide(text)


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """Cuts a long text where that changes nothing for `elide`, if it can be cut."""
    start = 0
    while len(text) - start > 2 * _STRETCH:
        found = _BETWEEN_WORDS.search(text, start + _STRETCH)
        end = found.end() if found else len(text)
        yield start, end
        start = end
    yield start, len(text)


def _elide(text: str) -> str:
    if _may_be_elided(text):
        text = _WRAPPED.sub(_shortened, _RUN.sub(r"\1…", text))
        text = _BLANKS.sub(r"\1", _BULK.sub(r"\1…", text))
    return text


def _may_be_elided(text: str) -> bool:
    """Whether a word is as long as a wrapped line of base64, or more than a run's worth of blanks stand beside others."""
    words = [len(word) for word in text.split()]
    return max(words, default=0) >= _WRAPPED_LINE or len(text) - sum(words) - len(words) >= _KEPT_BLANKS


def _shortened(block: re.Match[str]) -> str:
    return f"{block[1]}…" if block[1] else block[0]


def estimate_tokens(text: str) -> float:
    """About how many tokens a model sees: one a character of a spaceless script or a sign, else a quarter of a word's length."""
    return sum([max(size, 4) for size in map(len, _TOKEN.findall(text))]) / 4


def _clean(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _adds_title(title: str, sections: Sequence[Section]) -> bool:
    """False when the body opens with the title as its heading: saying it twice would weigh it twice."""
    return not (sections and sections[0].heading == title)


def _shifted(fences: Sequence[tuple[int, int]], section: Section) -> list[tuple[int, int]]:
    low, high = (bisect_left(fences, at, key=itemgetter(0)) for at in (section.start, section.end))
    return [(start - section.start, end - section.start) for start, end in fences[low:high]]


def _cut(text: str, path: str, fences: Sequence[tuple[int, int]], fill: float) -> Iterator[_Part]:
    """Cuts one section into parts that fit below its title path."""
    # Neither has more tokens than characters: what is short is not measured here.
    limit = LIMIT - estimate_tokens(path) if len(path) + len(text) > LIMIT else LIMIT
    start = 0
    while start < len(text):
        end = _reach(text, start, limit, fences, fill) if len(text) - start > limit else len(text)
        if part := text[start:end].strip():
            yield _Part(path, part)
        start = end


def _reach(text: str, start: int, limit: float, fences: Sequence[tuple[int, int]], fill: float) -> int:
    """Where the part that begins at `start` ends: at the best boundary once it is filled to `fill`."""
    quarters, floor = 0, start
    most, filled = 4 * limit, 4 * limit * fill
    for token in _TOKEN.finditer(text, start):
        begins, ends = token.span()
        quarters += max(ends - begins, 4)
        if quarters > most:
            return _spare_fence(text, start, find_boundary(text, start, floor, begins), begins, limit, fences)
        if quarters <= filled:
            floor = ends
    return len(text)


def _spare_fence(text: str, start: int, at: int, end: int, limit: float, fences: Sequence[tuple[int, int]]) -> int:
    """Moves a cut at `at` out of a code fence: behind it when it closes before `end`, before it when it then fits a part."""
    found = bisect_right(fences, at, key=itemgetter(0)) - 1
    opens, closes = fences[found] if found >= 0 else (at, at)
    if not opens < at < closes:
        return at
    if closes <= end:
        return closes
    # Eight characters a token is more than code has: a longer fence is not measured.
    fits = closes - opens < 8 * limit and estimate_tokens(text[opens:closes]) <= limit
    return opens if start < opens and fits else at


def _joined(parts: Sequence[_Part], title: str) -> list[Piece]:
    """Numbers the parts, small ones put together with what follows; a text of nothing gives one empty head."""
    kept: list[_Part] = []
    for part in parts:
        if kept and kept[-1].cost < _SECTION and (both := _put_together(kept[-1], part)):
            kept[-1] = both
        else:
            kept.append(part)
    return [Piece(number, part.path, part.text) for number, part in enumerate(kept)] or [Piece(0, title, "")]


def _put_together(first: _Part, second: _Part) -> _Part | None:
    """Both parts as one; None when they do not fit and the first can stand alone."""
    path = shared_path(first.path, second.path)
    cost = first.cost + second.cost
    if first.cost >= _SMALL and cost + estimate_tokens(path) > LIMIT:
        return None
    return _Part(path, f"{first.text}\n\n{second.text}", cost)
