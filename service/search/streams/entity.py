"""The `entity` stream: which names a query can mean.

In: the text of a query. Out: `NameQuery`, spellings to look up: entities, tags, pages, sessions and public ids.
"""

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from service.memory.scripts import STOP_WORDS, UNSPACED, fold_name, fold_word, normalise
from service.memory.words import analyse_word, quote
from service.search.languages import BINDING, bind

MAX_NAME_WORDS: Final = 6
MAX_WORDS: Final = 200  # of a query, read for names
MAX_NAMES: Final = 2_000
MAX_STARTS: Final = 4
_UNSPACED: Final = re.compile(rf"[{UNSPACED}]{{2,}}")
_EDGES: Final = " \t\n\r\"'`“”‘’«»「」『』()[]{}<>,;:!?.…。、，；：！？"
_EVENT: Final = re.compile(r"evt_([1-9][0-9]{0,17})")
_PAGE: Final = re.compile(r"pg_([1-9][0-9]{0,17})")
_LONGEST: Final = 200
_NO_WORD: Final = re.compile(r"([^\w\s])")
_WILD: Final = re.compile(r"([\\%_])")
_BINDING: Final = STOP_WORDS | bind(BINDING)  # no name is meant by its article
_BETWEEN: Final = r"[\u0001-/:-@\[-`{-\u00bf\u2000-\u206f\u3000-\u3020]"  # the words of a name, here and where `entity.words` is made
_BOUNDS: Final = re.compile(_BETWEEN)
_END: Final = f"({_BETWEEN}|$)"  # of a word
_WORD: Final = re.compile(r"\w+")


class Start(msgspec.Struct, frozen=True):
    """A word that a name may begin with, or a word within it, as each way of looking for it has it; `lexeme` tells how rare it is."""

    word: str
    lexeme: str
    tsquery: str
    like: str
    pattern: str
    end: str = ""

    @classmethod
    def of(cls, word: str, lexeme: str) -> "Start":
        """A tsquery for names that have the words of a text, the last of them perhaps longer; patterns for LIKE and for `~`."""
        pieces = [quote(piece) for piece in _BOUNDS.split(word) if piece]
        tsquery = f"({' & '.join(pieces)}:*)" if pieces else ""
        return cls(word, lexeme, tsquery, "%" + _WILD.sub(r"\\\1", word) + "%", _NO_WORD.sub(r"\\\1", word))

    def as_whole(self) -> "Start":
        """The same for names that have the word itself."""
        return msgspec.structs.replace(self, tsquery=self.tsquery.replace(":*)", ")"), end=_END)


class NameQuery(msgspec.Struct, frozen=True):
    """`names` are folded spellings that may be an entity or a tag, `page_names` a page; `spelled` are raw, for sessions and paths."""

    names: tuple[str, ...]
    page_names: tuple[str, ...]
    spelled: tuple[str, ...]
    starts: tuple[Start, ...]
    event_ids: tuple[int, ...]
    page_ids: tuple[int, ...]
    uuids: tuple[uuid.UUID, ...]
    whole: str

    def values(self) -> dict[str, Any]:
        """What the statement `names` takes, entities, tags and the pattern excepted."""
        return {
            "page_names": "\n".join(self.page_names),
            "sessions": "\n".join(self.spelled),
            "uuids": self.uuids,
            "event_ids": self.event_ids,
            "page_ids": self.page_ids,
            "whole": self.whole,
        }


def read_names(text: str) -> NameQuery:
    """Every run of up to six words, bare of punctuation at its ends, and every piece of a run without spaces."""
    words = [word for word in (word.strip(_EDGES) for word in normalise(text).replace("\x00", " ").split()[:MAX_WORDS]) if word]
    spelled = tuple(run for run in _unique(_runs(words)) if fold_word(run) not in STOP_WORDS)
    pieces = _unique(piece for word in words for piece in _pieces(word))
    names = _unique(fold_name(name) for name in (*spelled, *pieces))
    names = tuple(name for name in names if name not in STOP_WORDS)
    whole = fold_name(" ".join(words))
    pages = [name for name in names if " " in name or "/" in name or "." in name or name == whole]
    return NameQuery(
        names=names,
        page_names=_unique((*spelled, *pages)) if len(words) == 1 else _unique((*(s for s in spelled if "/" in s or "." in s), *pages)),
        spelled=spelled,
        starts=_starts(words),
        event_ids=tuple(int(match[1]) for match in map(_EVENT.fullmatch, words) if match),
        page_ids=tuple(int(match[1]) for match in map(_PAGE.fullmatch, words) if match),
        uuids=_uuids(words),
        whole=whole,
    )


def is_telling(name: str) -> bool:
    """Whether a folded name is more than words that bind others, which a text's first word may have become."""
    return not _BINDING.issuperset(name.split())


def choose_starts(
    query: NameQuery, named: Iterable[str], frequencies: Mapping[str, int], of_time: frozenset[str] = frozenset()
) -> list[Start]:
    """The query's rarest words, those of exactly matched names excepted: names may begin like them, or have a word that does.

    A name of one word is often the first of a longer one, which is sought as a whole word then. What names a time names nothing else.
    """
    names = [name.split() for name in named]
    taken = {word for name in names if len(name) > 1 for word in name}
    whole = {word for name in names if len(name) == 1 for word in name}
    left = [start.as_whole() if start.word in whole else start for start in query.starts if start.word not in taken]
    left = [start for start in left if not of_time.issuperset(_WORD.findall(start.word))]
    return sorted(left, key=lambda start: (frequencies.get(start.lexeme, 0), start.word))[:MAX_STARTS]


def started_values(starts: Sequence[Start]) -> dict[str, Any]:
    """The words of names as a tsquery, patterns for LIKE, which is quick, and for the bounds of words, asked of what these find."""
    return {
        "starts": " | ".join(start.tsquery for start in starts if start.tsquery) or None,
        "pieces": [start.like for start in starts],
        "pattern": f"(^|{_BETWEEN})({'|'.join(start.pattern + start.end for start in starts)})",
        "whole_words": f"(^|{_BETWEEN})({'|'.join(start.pattern for start in starts)}){_END}",
    }


def _runs(words: list[str]) -> Iterable[str]:
    for count in range(1, MAX_NAME_WORDS + 1):
        for start in range(len(words) - count + 1):
            run = " ".join(words[start : start + count])
            if len(run) <= _LONGEST:
                yield run


def _pieces(word: str) -> Iterable[str]:
    """In a run without spaces any piece of 2 to 8 characters may be a name."""
    for match in _UNSPACED.finditer(word):
        run = match.group()[:100]
        for size in range(2, min(8, len(run)) + 1):
            for start in range(len(run) - size + 1):
                yield run[start : start + size]


def _starts(words: list[str]) -> tuple[Start, ...]:
    starts: dict[str, str] = {}
    for word in words:
        folded = fold_name(word)
        long = len(folded) >= 3 or _UNSPACED.fullmatch(folded)
        lexeme = analyse_word(word) if long and len(folded) <= 100 and fold_word(word) not in _BINDING else None
        if lexeme:
            starts.setdefault(folded, lexeme)
    return tuple(Start.of(word, lexeme) for word, lexeme in starts.items())


def _uuids(words: list[str]) -> tuple[uuid.UUID, ...]:
    found: list[uuid.UUID] = []
    for word in words:
        if len(word) in (32, 36):
            try:
                found.append(uuid.UUID(word))
            except ValueError:
                continue
    return tuple(found)


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))[:MAX_NAMES]
