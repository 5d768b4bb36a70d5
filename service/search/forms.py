"""Other forms of a query's words among those that a project knows: endings of languages that are not stored apart, compounds, umlauts.

In: the words of a query, how often the project has which words. Out: the same query, whose terms take in their forms. English needs none of
this: its words are stored without their endings.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

import msgspec

from service.memory.words import analyse_word
from service.search.languages import (
    MARKERS,
    PRESENT,
    SHORTEST,
    beginning_of,
    bind,
    compounds_of,
    forms_of,
    languages_of,
    parts_of,
    spellings_of,
)
from service.search.word_query import Term, WordQuery

_MARKERS: Final = tuple(dict.fromkeys(marker for markers in MARKERS.values() for marker in markers))
_PART: Final = 0.5  # of the weight of a word that its part in a compound counts, or a compound that begins with it
_BINDING: Final = 0.2  # of its weight that a word counts which may bind others
_MAX_FORMS: Final = 12  # of one word
_MAX_WORDS: Final = 32  # of a query, whose forms are looked for


def looks_for_forms(query: WordQuery) -> bool:
    """Whether the query may be in a language of which forms are looked for: its words tell it, or tell nothing."""
    return query.languages != () and any(True for _ in _inflected(query))


def form_values(query: WordQuery) -> dict[str, Any]:
    """What the statement `facts_forms` takes; where the query does not tell its language, it asks whether the project is in one."""
    begun: dict[str, None] = {}
    parts: dict[str, None] = {}
    for term in _inflected(query):
        for word in (term.written, *spellings_of(term.written)):
            begin = beginning_of(word, query.languages)
            if begin:
                begun[begin] = None
        parts.update(dict.fromkeys((*spellings_of(term.written), *parts_of(term.written, query.languages))))
    return {
        "lows": tuple(begun),
        "highs": tuple(map(_end_of, begun)),
        "parts": " ".join((*parts, *(() if query.languages else _MARKERS))),
        "markers": "" if query.languages else " ".join(_MARKERS),
        "told": bool(query.languages),
        "present": PRESENT,
    }


def add_forms(query: WordQuery, frequencies: Mapping[str, int], documents: int) -> WordQuery:
    """The query with the forms that are known, in its languages or, where its words do not tell them, in those of the project."""
    languages = languages_of(frequencies, documents) if query.languages is None else query.languages
    if not languages:
        return _respell(query, frequencies)
    inflected = frozenset(_inflected(query))
    binding = bind(languages)
    terms: dict[tuple[str, ...], Term] = {}
    for term in query.terms:
        if term.written in binding:
            terms[term.lexemes] = msgspec.structs.replace(term, share=_BINDING)
        elif term in inflected:
            forms, compounds = _known_forms(term, frequencies, languages)
            terms[term.lexemes] = msgspec.structs.replace(term, forms=forms)
            if compounds:
                beside = (*term.lexemes, *forms)
                terms.setdefault(compounds[:1], Term(compounds[:1], forms=compounds[1:], share=_PART, beside=beside))
            elif not forms and term.lexemes[0] not in frequencies:
                for part in sorted(frequencies.keys() & parts_of(term.written, languages)):
                    terms.setdefault((part,), Term((part,), share=_PART))
        else:
            terms.setdefault(term.lexemes, term)
    return msgspec.structs.replace(query, terms=tuple(terms.values()))


def respelled(query: WordQuery) -> Iterator[tuple[Term, tuple[str, ...]]]:
    """Words in which two letters may stand for an umlaut, in whatever language, and the lexemes that they are then."""
    for term in _inflected(query):
        spelled = tuple(filter(None, map(analyse_word, spellings_of(term.written))))
        if spelled:
            yield term, spelled


def _respell(query: WordQuery, frequencies: Mapping[str, int]) -> WordQuery:
    """A word that no text has, by the umlaut that a text has in its place."""
    known = {
        term: forms
        for term, spelled in respelled(query)
        if term.lexemes[0] not in frequencies and (forms := tuple(word for word in spelled if word in frequencies))
    }
    terms = tuple(msgspec.structs.replace(term, forms=known[term]) if term in known else term for term in query.terms)
    return msgspec.structs.replace(query, terms=terms) if known else query


def show_forms(query: WordQuery, found: Iterable[Term]) -> WordQuery:
    """The query with each form as a word of its own, to be marked in texts."""
    forms = tuple(Term((form,)) for term in found for form in (*term.forms, *(term.lexemes if term.share == _PART else ())))
    return msgspec.structs.replace(query, terms=(*query.terms, *forms)) if forms else query


def _inflected(query: WordQuery) -> Iterator[Term]:
    words = (term for term in query.terms if len(term.written) >= SHORTEST and term.written.isalpha() and term.written.islower())
    return islice(words, _MAX_WORDS)


def _known_forms(term: Term, frequencies: Mapping[str, int], languages: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Other forms of a word, and compounds that begin with it, the most frequent of each."""
    forms: dict[str, None] = {word: None for word in spellings_of(term.written) if word in frequencies}
    compounds: dict[str, None] = {}
    for word in (term.written, *spellings_of(term.written)):
        begin = beginning_of(word, languages)
        known = [other for other in frequencies if other.startswith(begin)] if begin else []
        forms.update(dict.fromkeys(forms_of(word, known, languages)))
        compounds.update(dict.fromkeys(compounds_of(word, known, languages)))

    def most(words: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(words, key=lambda word: (-frequencies[word], word))[:_MAX_FORMS])

    return most(forms.keys() - term.lexemes), most(compounds.keys() - forms.keys() - set(term.lexemes))


def _end_of(beginning: str) -> str:
    """The last word that begins so, as far as words of its letters go, in the order of C and of any other locale."""
    return beginning + ("z" if beginning < "\u0250" else "\u044f") * 24
