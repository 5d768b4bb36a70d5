"""What a query's text says on a day, whoever asks and wherever: words, names, what is embedded, what the statement `facts` is asked.

In: the text of a query, storable, and the day from which times are told. Out: `Reading`. Reading takes longer than looking it up, and the
same is often asked again.
"""

from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import msgspec

from service.search.forms import form_values, looks_for_forms, respelled
from service.search.streams.entity import NameQuery, read_names
from service.search.word_query import LONGEST_TYPED, WordQuery, read_query

LONGEST_KEPT: Final = 300  # characters
MOST_KEPT: Final = 128


class Reading(msgspec.Struct, frozen=True):
    """`to_embed` is empty when nothing is asked; `facts` are the values of the statement `facts` that text and day alone give, and
    `facts_forms` tells whether that is asked too."""

    words: WordQuery
    names: NameQuery
    to_embed: str
    notes: tuple[str, ...]
    facts: Mapping[str, Any]
    facts_forms: bool


def read_text(text: str, today: date) -> Reading:
    """What a text says on a day. The last 128 texts of up to 300 characters are kept: 2 MB of questions, at worst 40 MB."""
    return _read_kept(text, today) if len(text) <= LONGEST_KEPT else _read(text, today)


@lru_cache(maxsize=MOST_KEPT)
def _read_kept(text: str, today: date) -> Reading:
    return _read(text, today)


def _read(text: str, today: date) -> Reading:
    words = read_query(text, today)
    names = read_names(words.plain)
    asked = any(character.isalnum() for character in words.plain)
    forms = looks_for_forms(words)
    return Reading(
        words=words,
        names=names,
        to_embed=words.plain if asked else "",
        notes=tuple(_notes(words, asked=asked)),
        facts=MappingProxyType(_fact_values(words, names) | (form_values(words) if forms else {})),
        facts_forms=forms,
    )


def _notes(words: WordQuery, *, asked: bool) -> list[str]:
    notes: list[str] = []
    if not asked:
        notes.append("The query only excludes: name what to search for." if words.excluded else "The query holds no words.")
    elif not words.terms:
        notes.append("The query holds only stop words: nothing was matched by words.")
    if words.empty_phrase:
        notes.append("A quoted phrase that holds only stop words requires nothing.")
    if words.pasted:
        notes.append(f"A query of more than {LONGEST_TYPED} words is read as text: its quotes and dashes ask for nothing.")
    return notes


def _fact_values(words: WordQuery, names: NameQuery) -> dict[str, Any]:
    lexemes = {lexeme for term in words.terms if not term.prefix for lexeme in term.lexemes}
    lexemes.update(start.lexeme for start in names.starts)
    lexemes.update(word for _, spelled in respelled(words) for word in spelled)
    return {
        "words": tuple(sorted(lexemes)),
        "starts": tuple(sorted({term.lexemes[0] for term in words.terms if term.prefix})),
        "names": "\n".join(names.names),
        **({"ranges": words.moments.ranges} if words.moments else {}),
    }
