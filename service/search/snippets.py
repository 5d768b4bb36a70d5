"""The part of a text that shows why it was found.

In: a passage's text, the query's lexemes. Out: HTML in which only `<mark>` is markup, around the words that match.
"""

from collections.abc import Collection, Iterator
from functools import lru_cache
from html import escape
from typing import Final, TypeAlias

from service.memory.scripts import normalise_with_origins
from service.memory.words import TOKEN, Word, read_tokens
from service.search.word_query import WordQuery

LENGTH: Final = 260
MAX_TEXT: Final = 20_000

_Words: TypeAlias = tuple[tuple[int, Word], ...]
"""Words of one token, and where each begins in it."""
Spans: TypeAlias = tuple[tuple[int, int, str], ...]
"""Where something matches, and which lexeme."""


class Marks(dict[str, Spans]):
    """What matches in each token, by lexemes and by beginnings of lexemes; told once for all texts of a search.

    `stubs`: a token in ASCII that matches holds one of them, since stemming cuts a word and changes at most two letters of what is left.
    """

    def __init__(self, lexemes: Collection[str], beginnings: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.lexemes = frozenset(lexemes)
        self.beginnings = beginnings
        self.stubs = frozenset(lexeme[:-2] or lexeme[:1] for lexeme in (*lexemes, *beginnings))

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

    def __missing__(self, token: str) -> Spans:
        """Most tokens match nothing, which a look at their lexemes tells."""
        words, read = _read_token(token)
        spans = self[token] = tuple(self._look_at(words)) if self.beginnings or not self.lexemes.isdisjoint(read) else ()
        return spans

    def _look_at(self, words: _Words) -> Iterator[tuple[int, int, str]]:
        for at, word in words:
            lexeme = self.find(word)
            if lexeme is not None:
                longest = word.end if lexeme in self.lexemes else word.start + max(map(len, self.beginnings))
                yield at + word.start, at + min(word.end, longest), lexeme


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
    pieces = ["…"] if start > 0 else []
    at = start
    for low, high in _join_spans(spans):
        low, high = max(low, at), min(high, end)
        if low < high:
            pieces += [escape(text[at:low]), "<mark>", escape(text[low:high]), "</mark>"]
            at = high
    pieces.append(escape(text[at:end]))
    if end < len(text):
        pieces.append("…")
    return "".join(pieces).strip()


def _find_spans(text: str, marks: Marks) -> list[tuple[int, int, str]]:
    """Where the text matches, and which lexeme, in order."""
    normal, origins = normalise_with_origins(text)
    spans: list[tuple[int, int, str]] = []
    for at, piece in _find_pieces(text, marks.stubs) if text.isascii() else [(0, normal)]:
        for match in TOKEN.finditer(piece):
            for start, end, lexeme in marks[match[0]]:
                low, high = at + match.start() + start, at + match.start() + end
                spans.append((origins[low], origins[high], lexeme) if origins else (low, high, lexeme))
    return sorted(spans)


def _find_pieces(text: str, stubs: Collection[str]) -> list[tuple[int, str]]:
    """What stands between two spaces and holds one of the stubs, and where it begins; no token holds a space."""
    lowered = text.lower()
    ends: dict[int, int] = {}
    for stub in stubs:
        at = lowered.find(stub)
        while at >= 0:
            end = lowered.find(" ", at)
            end = len(text) if end < 0 else end
            ends[lowered.rfind(" ", 0, at) + 1] = end
            at = lowered.find(stub, end)
    return [(start, text[start:end]) for start, end in ends.items()]


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
