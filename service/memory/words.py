"""The words of a text, the same way for writing and for searching.

In: any text. Out: a tsvector literal with positions (`analyse`), the pieces of a text with their places (`read_words`).
Pure, linear in the text, and never an error whatever the text holds.

Words are folded and stemmed; identifiers stand whole and in parts; text written without spaces becomes overlapping
pairs of characters and its last character alone. Stop words are left out and keep their positions.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec
import Stemmer

from service.memory.scripts import MARKS, STOP_WORDS, UNSPACED, fold_word, normalise

MAX_LEXEME: Final = 100  # characters; longer runs are indexed by their start
MAX_COMPOUND: Final = 512  # characters of a chain such as a path or an encoded blob that are read at all
MAX_PARTS: Final = 8  # more humps than this are noise, not an identifier
MAX_POSITION: Final = 16_383  # limits of tsvector
MAX_POSITIONS: Final = 255
MAX_BYTES: Final = 1_000_000
_LONGEST_KEPT: Final = 40  # characters of a token whose words are kept for the next text

_RUN: Final = rf"[\w{MARKS}]+"
_JOINT: Final = r"[-._/\\:@#+~=&%$'\u2018\u2019\u02bc\u2010\u2011]{1,3}"
TOKEN: Final = re.compile(rf"[A-Za-z](?:\+\+|#)(?!\w)|{_RUN}(?:{_JOINT}{_RUN})*")
PIECE: Final = re.compile(rf"(?P<unspaced>[{UNSPACED}]+)|(?:(?![{UNSPACED}_])[\w{MARKS}])+")
_SEGMENT: Final = re.compile(r"[^/\\]+")
_CONTRACTION: Final = re.compile(r"(?P<base>[^\W\d_]+)['\u2018\u2019\u02bc](?P<ending>s|re|ll|ve|d|m|t)", re.IGNORECASE)
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
_STEMMER: Final = Stemmer.Stemmer("english", 0)


_Entry: TypeAlias = tuple[str, int, int]  # a quoted lexeme, the bytes it takes in a tsvector, its place from the token's first word


class Analysed(msgspec.Struct, frozen=True):
    """The words of a text: a tsvector literal, and how many there are."""

    tsvector: str
    length: int


class Word(msgspec.Struct, frozen=True):
    """A stretch of a text: its place, its position among the words, and the lexemes that it is found by.

    `main` is the lexeme of a phrase; None when a stop word stands here or when only a whole identifier is meant.
    """

    start: int
    end: int
    position: int
    main: str | None
    others: tuple[str, ...] = ()


def quote(lexeme: str) -> str:
    """A lexeme as tsvector and tsquery literals write it."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def analyse(text: str, heading: str = "") -> Analysed:
    """The words of a text, those of its heading first and marked with weight C: they count twice."""
    found: dict[str, str] = {}
    repeated: dict[str, int] = {}
    filled: set[int] = set()
    position = 1
    size = 0
    for part, weight in ((heading, "C"), (text, "")):
        for token in TOKEN.findall(normalise(part)):
            entries, width = _read_entries(token) if len(token) <= _LONGEST_KEPT else _entries_of(token)
            for entry, bytes_, offset in entries:
                at = position + offset
                places = found.get(entry)
                if places is None:
                    size += bytes_
                    if size > MAX_BYTES:
                        continue
                    size += 2
                    found[entry] = f"{entry}:{at if at < MAX_POSITION else MAX_POSITION}{weight}"
                elif (count := repeated.get(entry, 1)) < MAX_POSITIONS:
                    size += 2
                    repeated[entry] = count + 1
                    found[entry] = f"{places},{at if at < MAX_POSITION else MAX_POSITION}{weight}"
                filled.add(at)
            position += width
    return Analysed(" ".join(found.values()), len(filled))


def read_words(text: str, position: int = 1) -> Iterator[Word]:
    """The words of a normalised text in order, numbered from `position`."""
    for start, words, width in read_tokens(text):
        for word in words:
            yield Word(start + word.start, start + word.end, position + word.position, word.main, word.others)
        position += width


def read_tokens(text: str) -> Iterator[tuple[int, tuple[Word, ...], int]]:
    """The tokens of a normalised text: where each begins, its words counted from there, and how many positions they take."""
    for match in TOKEN.finditer(text):
        token = match.group()
        words, width = _read_token(token) if len(token) <= _LONGEST_KEPT else split_token(token)
        yield match.start(), words, width


def analyse_word(text: str) -> str | None:
    """The rarest lexeme of one written word: its whole when it is an identifier; None when it says nothing."""
    words = list(read_words(normalise(text)))
    wholes = [word.others[0] for word in words if word.main is None and word.others]
    return next(iter(wholes), None) or next((word.main for word in words if word.main), None)


def split_token(token: str) -> tuple[tuple[Word, ...], int]:
    """The words of one token, placed from 0, and how many positions it takes."""
    contraction = _CONTRACTION.fullmatch(token)
    if contraction:
        return _split_contraction(token, contraction)
    if token[-1] in "+#":
        return (Word(0, len(token), 0, token.lower(), (token[0].lower(),)),), 1
    words: list[Word] = []
    at: list[tuple[int, int, int]] = []
    position = 0
    for piece in PIECE.finditer(token[:MAX_COMPOUND]):
        if piece.lastgroup:
            words.extend(split_unspaced(piece.group(), piece.start(), position))
            position += len(piece.group()) + 1
        else:
            words.append(_read_run(piece.group(), piece.start(), position))
            at.append((piece.start(), piece.end(), position))
            position += 1
    if len(at) > 1 and len(at) == position:
        words.extend(_find_wholes(token, at))
    return tuple(words), position


_read_token = lru_cache(maxsize=1 << 14)(split_token)


def _entries_of(token: str) -> tuple[tuple[_Entry, ...], int]:
    """What a token adds to a tsvector, and how many positions it takes."""
    if token.isascii() and token.islower() and token.isalpha() and len(token) <= _LONGEST_KEPT:
        lexeme = None if token in STOP_WORDS else _STEMMER.stemWord(token)
        return ((f"'{lexeme}'", 4 * len(lexeme) + 8, 0),) if lexeme else (), 1
    words, width = split_token(token)
    entries = [
        (quote(lexeme), 4 * len(lexeme) + 8, word.position)
        for word in words
        for lexeme in ((word.main, *word.others) if word.main else word.others)
    ]
    return tuple(entries), width


_read_entries = lru_cache(maxsize=1 << 15)(_entries_of)


def _split_contraction(token: str, match: re.Match[str]) -> tuple[tuple[Word, ...], int]:
    base = match["base"]
    if match["ending"].lower() == "t" and base[-1:].lower() == "n":
        return (Word(0, len(token), 0, None),), 1
    word = _read_run(base, 0, 0)
    return (Word(0, len(token), 0, word.main, word.others),), 1


def _find_wholes(token: str, runs: list[tuple[int, int, int]]) -> Iterator[Word]:
    """The identifier as a whole, and each piece of a path that is an identifier of several runs itself."""
    places = [(runs[0][0], runs[-1][1])]
    places += [match.span() for match in _SEGMENT.finditer(token[:MAX_COMPOUND])]
    seen: set[tuple[int, int]] = set()
    for low, high in places:
        inside = [run for run in runs if low <= run[0] and run[1] <= high]
        if len(inside) < 2:
            continue
        start, end, position = inside[0][0], inside[-1][1], inside[0][2]
        if end - start <= MAX_LEXEME and (start, end) not in seen:
            seen.add((start, end))
            yield Word(start, end, position, None, (fold_word(token[start:end]),))


def _read_run(run: str, start: int, position: int) -> Word:
    folded = fold_word(run[:MAX_LEXEME])[:MAX_LEXEME]
    main = None if folded in STOP_WORDS else _stem(folded)
    humps = () if run[1:].islower() or run.isdigit() else _split_humps(run)
    return Word(start, start + len(run), position, main, tuple(hump for hump in humps if hump != main))


def _split_humps(run: str) -> tuple[str, ...]:
    """The parts of a name written in camel case, stemmed; none when it is no such name."""
    if run.isupper() or not run.isascii() or len(run) > MAX_LEXEME or (run[:-1].isupper() and run.endswith("s")):
        return ()
    humps = [hump.lower() for hump in _HUMP.findall(run)]
    if not 1 < len(humps) <= MAX_PARTS:
        return ()
    return tuple(dict.fromkeys(_stem(hump) for hump in humps if hump not in STOP_WORDS))


def _stem(word: str) -> str:
    return _STEMMER.stemWord(word) if word.isalpha() else word


def split_unspaced(run: str, start: int, position: int) -> Iterator[Word]:
    """Overlapping pairs of characters, and the last one alone."""
    folded = run.casefold()
    if len(folded) != len(run):
        folded = run
    for index in range(len(run) - 1):
        yield Word(start + index, start + index + 2, position + index, folded[index : index + 2])
    yield Word(start + len(run) - 1, start + len(run), position + len(run) - 1, folded[-1])
