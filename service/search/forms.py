"""Other forms of a query's words among those that a project knows: endings of languages that are not stored apart, compounds, umlauts.

In: the words of a query, how often the project has which words. Out: the same query, whose terms take in their forms. English needs none of
this: its words are stored without their endings.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from service.search.languages import MARKERS, beginning_of, forms_of, languages_of, parts_of, spellings_of
from service.search.word_query import Term, WordQuery

_MARKERS: Final = tuple(dict.fromkeys(marker for markers in MARKERS.values() for marker in markers))
_PART: Final = 0.5  # of the weight of a word that its part in a compound counts
_MAX_FORMS: Final = 12  # of one word
_MAX_WORDS: Final = 32  # of a query, whose forms are looked for


def read_beginnings(query: WordQuery) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the forms of the query's words may begin with, and further words that are looked up."""
    if query.languages == ():
        return (), ()
    begun: dict[str, None] = {}
    more: dict[str, None] = {} if query.languages else dict.fromkeys(_MARKERS)
    for term in _inflected(query):
        begin = beginning_of(term.written, query.languages)
        if begin:
            begun[begin] = None
        more.update(dict.fromkeys((*spellings_of(term.written), *parts_of(term.written, query.languages))))
    return tuple(begun), tuple(more)


def end_of(beginning: str) -> str:
    """The last word that begins so, as far as words of its letters go."""
    return beginning + ("z" if beginning < "\u0250" else "\u044f") * 24


def add_forms(query: WordQuery, frequencies: Mapping[str, int], documents: int) -> WordQuery:
    """The query with the forms that are known, in its languages or, where its words do not tell them, in those of the project."""
    languages = languages_of(frequencies, documents) if query.languages is None else query.languages
    if not languages:
        return query
    inflected = frozenset(_inflected(query))
    terms: dict[tuple[str, ...], Term] = {}
    for term in query.terms:
        if term not in inflected:
            terms.setdefault(term.lexemes, term)
            continue
        forms = _known_forms(term, frequencies, languages)
        terms[term.lexemes] = msgspec.structs.replace(term, forms=forms)
        for part in _known_parts(term, frequencies, languages) if frequencies.get(term.lexemes[0], 0) == 0 else ():
            terms.setdefault((part,), Term((part,), share=_PART))
    return msgspec.structs.replace(query, terms=tuple(terms.values()))


def show_forms(query: WordQuery, found: Iterable[Term]) -> WordQuery:
    """The query with each form as a word of its own, to be marked in texts."""
    forms = tuple(Term((lexeme,)) for term in found for lexeme in (*term.forms, *(term.lexemes if term.share == _PART else ())))
    return msgspec.structs.replace(query, terms=(*query.terms, *forms)) if forms else query


def _inflected(query: WordQuery) -> Iterator[Term]:
    for term, _ in zip((term for term in query.terms if term.written.isalpha() and not term.prefix), range(_MAX_WORDS), strict=False):
        yield term


def _known_forms(term: Term, frequencies: Mapping[str, int], languages: tuple[str, ...]) -> tuple[str, ...]:
    begin = beginning_of(term.written, languages)
    known = [word for word in frequencies if begin and word.startswith(begin)]
    forms = dict.fromkeys(forms_of(term.written, known, languages))
    forms.update((word, None) for word in spellings_of(term.written) if word in frequencies)
    forms.pop(term.lexemes[0], None)
    return tuple(sorted(forms, key=lambda form: (-frequencies[form], form))[:_MAX_FORMS])


def _known_parts(term: Term, frequencies: Mapping[str, int], languages: tuple[str, ...]) -> Iterator[str]:
    return (part for part in parts_of(term.written, languages) if frequencies.get(part, 0) > 0)
