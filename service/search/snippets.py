"""The part of a text that shows why it was found.

In: a passage's text, the query's lexemes. Out: HTML in which only `<mark>` is markup, around the words that match.
"""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from html import escape
from typing import Final, TypeAlias

from service.memory.scripts import normalise_with_origins
from service.memory.words import TOKEN, Word, read_tokens
from service.search.word_query import WordQuery

LENGTH: Final = 260
MAX_TEXT: Final = 20_000

_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]")
_Words: TypeAlias = tuple[tuple[int, Word], ...]
"""Words of one token, and where each begins in it."""
Spans: TypeAlias = tuple[tuple[int, int, str], ...]
"""Where something matches, and which lexeme."""


class Marks(dict[str, Spans]):
    """What matches between two spaces, by lexemes and by beginnings of lexemes; told once for all texts of a search.

    `stubs`: a word in ASCII that matches holds one of them.
    """

    def __init__(self, lexemes: Collection[str], beginnings: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.lexemes = frozenset(lexemes)
        self.beginnings = beginnings
        self.stubs = frozenset(map(stub_of, (*lexemes, *beginnings)))

    @classmethod
    def of(cls, query: WordQuery) -> "Marks":
        """The lexemes of a query's terms and phrases."""
        terms = (*query.terms, *query.phrases)
        whole = {lexeme for term in terms if not term.prefix for lexeme in term.lexemes}
        return cls(whole, tuple(term.lexemes[0] for term in terms if term.prefix))

    def find(self, word: Word) -> str | None:
        """The lexeme by which a word matches."""
        if word.main in self.lexemes:
            return word.main
        for lexeme in word.others:
            if lexeme in self.lexemes:
                return lexeme
        if self.beginnings:
            for lexeme in (word.main, *word.others):
                if lexeme and lexeme.startswith(self.beginnings):
                    return lexeme
        return None

    def __missing__(self, piece: str) -> Spans:
        spans = self[piece] = tuple(self._look_at(piece))
        return spans

    def _look_at(self, piece: str) -> Iterator[tuple[int, int, str]]:
        for match in TOKEN.finditer(piece):
            words, read = _read_token(match[0])
            if not self.beginnings and self.lexemes.isdisjoint(read):
                continue  # as of most tokens
            for at, word in words:
                lexeme = self.find(word)
                if lexeme is not None:
                    start = match.start() + at
                    longest = word.end if lexeme in self.lexemes else word.start + max(map(len, self.beginnings))
                    yield start + word.start, start + min(word.end, longest), lexeme


def stub_of(lexeme: str) -> str:
    """What each word of this stem begins with: stemming cuts a word and changes the last letter of what is left, of dying (die) two."""
    return lexeme[:1] if len(lexeme) == 3 and lexeme.endswith("ie") else lexeme[:-1] or lexeme


@lru_cache(maxsize=1 << 14)
def _read_token(token: str) -> tuple[_Words, frozenset[str]]:
    """A token's words, and the lexemes of all."""
    words = tuple((at, word) for at, words, _ in read_tokens(token) for word in words)
    return words, frozenset(lexeme for _, word in words for lexeme in (word.main, *word.others) if lexeme)


def make_snippet(text: str, marks: Marks) -> str:
    """At most about 260 characters around the densest matches; the beginning when nothing matches."""
    text = text[:MAX_TEXT]
    spans = _find_spans(text, marks)
    start, end = _choose_window(text, spans)
    write = str if escape(text[start:end]) == text[start:end] else escape  # most texts hold nothing to escape
    pieces = ["…"] if start > 0 else []
    at = start
    for low, high in _join_spans(spans):
        low, high = max(low, at), min(high, end)
        if low < high:
            pieces += [write(text[at:low]), "<mark>", write(text[low:high]), "</mark>"]
            at = high
    pieces.append(write(text[at:end]))
    if end < len(text):
        pieces.append("…")
    return "".join(pieces).strip()


def _find_spans(text: str, marks: Marks) -> list[tuple[int, int, str]]:
    """Where the text matches, and which lexeme, in order."""
    normal, origins = normalise_with_origins(text)
    places = _find_places(normal, marks.stubs)
    spans = [(at + low, at + high, lexeme) for at, end in places.items() for low, high, lexeme in marks[normal[at:end]]]
    return sorted([(origins[low], origins[high], lexeme) for low, high, lexeme in spans] if origins else spans)


def _find_places(text: str, stubs: Collection[str]) -> dict[int, int]:
    """Where pieces begin and end that stand between two spaces and may match: those with a stub or a letter beyond ASCII.

    No token holds a space.
    """
    lowered = text.lower()
    if len(lowered) != len(text):  # İ is longer when it is small
        return {0: len(text)}
    places: dict[int, int] = {}

    def take(at: int) -> int:
        end = text.find(" ", at)
        end = len(text) if end < 0 else end
        places[text.rfind(" ", 0, at) + 1] = end
        return end

    for stub in stubs:
        at = lowered.find(stub)
        while at >= 0:
            at = lowered.find(stub, take(at))
    if not text.isascii():
        found = _BEYOND_ASCII.search(text)
        while found:
            found = _BEYOND_ASCII.search(text, take(found.start()))
    return places


def _choose_window(text: str, spans: list[tuple[int, int, str]]) -> tuple[int, int]:
    """The window with the most different lexemes, the first of those, moved to the bounds of words."""
    if len(text) <= LENGTH:
        return 0, len(text)
    best, first, last = 0, 0, 0
    inside: dict[str, int] = {}
    low = 0
    for high, (_, end, lexeme) in enumerate(spans):
        inside[lexeme] = inside.get(lexeme, 0) + 1
        while low < high and end - spans[low][0] > LENGTH:
            gone = spans[low][2]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            low += 1
        if len(inside) > best:
            best, first, last = len(inside), spans[low][0], end
    start = max(0, min(first - (LENGTH - min(LENGTH, last - first)) // 3, len(text) - LENGTH))
    if start > 0:
        space = text.find(" ", start, max(start, min(first, start + 30)))
        start = space + 1 if space >= 0 else start
    end = min(len(text), start + LENGTH)
    if end < len(text):
        space = text.rfind(" ", max(last, end - 30), end)
        end = space if space > start else end
    return start, end


def _join_spans(spans: list[tuple[int, int, str]]) -> list[tuple[int, int]]:
    """Spans that overlap or touch as one."""
    joined: list[tuple[int, int]] = []
    for start, end, _ in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined
