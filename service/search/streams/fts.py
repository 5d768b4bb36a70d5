"""The `fts` stream: which words choose the candidates, and what each word weighs.

In: a query's words and how many passages hold them. Out: `WordPlan`, the values of the statement `words`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from service.search.parse import SearchSettings
from service.search.word_query import Term, WordQuery

MATCHED: Final = 0.0607927  # what ts_rank gives for a lexeme that stands once
_OF_TIME: Final = 0.3  # of its weight that a word counts which names a time, where events are known to be of it


class WordFacts(msgspec.Struct, frozen=True):
    """Over all projects that are searched: passages by lexeme (by beginning for prefixes), passages in all, words in all.

    `dated` are the events of the time that the query names, as far as they were counted.
    """

    frequencies: Mapping[str, int]
    beginnings: Mapping[str, int]
    documents: int
    words: int
    dated: int = 0


class WordPlan(msgspec.Struct, frozen=True):
    """The terms that are scored, the tsquery that chooses candidates, and what was left out."""

    terms: tuple[Term, ...]
    weights: tuple[float, ...]
    choosing: tuple[Term, ...]
    candidates: str
    mean_length: float
    notes: tuple[str, ...]
    ranges: str | None = None
    dated: float = 0.0
    dated_most: int = 0

    @property
    def shape(self) -> tuple[str, ...]:
        """The form of each term; last, where there is one, the time that the query names."""
        return (*self.shape_of_words, *(("moment",) if self.ranges else ()))

    @property
    def shape_of_words(self) -> tuple[str, ...]:
        """The same for texts that have no time."""
        return tuple("phrase" if len(term.lexemes) > 1 else "term" for term in self.terms)

    def values(self, settings: SearchSettings) -> dict[str, Any]:
        """What the statement takes."""
        values: dict[str, Any] = {f"query_{number}": term.tsquery for number, term in enumerate(self.terms, 1)}
        values |= {f"weight_{number}": weight for number, weight in enumerate(self.weights, 1)}
        if self.ranges:
            number = len(self.terms) + 1
            values |= {f"ranges_{number}": self.ranges, f"weight_{number}": self.dated * MATCHED}
            values |= {"that_time": self.ranges, "dated_most": self.dated_most}
        return {
            **values,
            "candidates": self.candidates,
            "mean_length": self.mean_length,
            "neighbour": settings.neighbour,
            "reach": settings.reach,
            "spread": settings.spread,
            "stream_size": settings.stream_size,
        }


def plan_words(query: WordQuery, facts: WordFacts, settings: SearchSettings, *, past: bool = False) -> WordPlan | None:
    """Keeps the rarest terms, and lets the rarest of them choose, and the time that the query names; None when nothing of it is known.

    `past`: words that no text holds any more are kept, since an earlier version may.
    """
    known = sorted(((_frequency(term, facts), term) for term in query.terms), key=lambda pair: pair[0])
    known = [pair for pair in known if past or pair[0] > 0]
    dated = facts.dated if query.moments else 0
    if not known and not dated:
        return None
    kept = known[: settings.max_terms]
    notes: list[str] = []
    if len(known) > len(kept) or query.cut:
        notes.append(f"The query has {len(query.terms) + query.cut} terms: the {len(kept)} rarest were searched.")
    choosing = query.phrases or tuple(_choose(kept, settings.max_postings))
    if not query.phrases and len(choosing) < len(kept):
        common = ", ".join(term.lexemes[0] for _, term in kept[len(choosing) :][:5])
        notes.append(f"Passages were chosen by the {len(choosing)} rarest terms; common ones only ranked them: {common}.")
    # Phrases last, however rare: a statement is compiled for each order of the two, which takes longer than a search, and kept.
    scored = sorted(kept, key=lambda pair: len(pair[1].lexemes) > 1)
    dated_most = _choose_dated(query, known, dated, settings.max_postings)
    if 0 < dated_most < dated:
        notes.append(f"More than {dated_most} events are of that time: the newest of them were ranked.")
    return WordPlan(
        terms=tuple(term for _, term in scored),
        weights=tuple(
            _weigh(frequency, facts.documents, term) * (_OF_TIME if dated and query.names_time(term) else 1) for frequency, term in scored
        ),
        choosing=choosing,
        candidates=" | ".join(f"({term.tsquery})" for term in choosing),
        mean_length=max(1.0, facts.words / max(1, facts.documents)),
        notes=tuple(notes),
        ranges=query.moments.ranges if query.moments and dated else None,
        dated=_rarity(dated, facts.documents),
        dated_most=dated_most,
    )


def measure_query(query: WordQuery, facts: WordFacts) -> float:
    """What a passage of mean length would score that has each of the query's words once, unknown ones included."""
    return MATCHED * sum(_rarity(_frequency(term, facts), facts.documents) * term.share for term in query.terms)


def weigh_name(score: float, documents: int) -> float:
    """What a text would score that says once a name by which something scores as much, which is one part of those that carry it."""
    return MATCHED * _rarity(1 / score, documents)


def limit_candidates(plan: WordPlan, facts: WordFacts, last: int, settings: SearchSettings) -> int:
    """The passage after which candidates are read, so that about the newest 20,000 are; 0 when all are few enough."""
    postings = sum(_frequency(term, facts) for term in plan.choosing)
    return 0 if postings <= settings.max_candidates else int(last * (1 - settings.max_candidates / postings))


def _frequency(term: Term, facts: WordFacts) -> int:
    """Passages that hold the term; for a phrase at most as many as hold its rarest pair."""
    if term.prefix:
        return facts.beginnings.get(term.lexemes[0], 0)
    forms = sum(facts.frequencies.get(form, 0) for form in (*term.forms, *term.beside))
    return min(facts.frequencies.get(lexeme, 0) for lexeme in term.lexemes) + forms


def _choose(terms: Sequence[tuple[int, Term]], most: int) -> list[Term]:
    """The rarest terms, as many as stay within `most` postings; one at least where there are any."""
    chosen: list[Term] = []
    postings = 0
    for frequency, term in terms:
        postings += frequency
        if chosen and postings > most:
            break
        chosen.append(term)
    return chosen


def _choose_dated(query: WordQuery, known: Sequence[tuple[int, Term]], dated: int, most: int) -> int:
    """How many events of the time that the query names are ranked though they may have none of its words: none where many are of that time
    and something else is asked."""
    if not dated or query.moments is None or query.phrases:
        return 0
    asked = not all(query.names_time(term) for _, term in known)
    return 0 if asked and dated > most else min(dated, most)


def _weigh(frequency: int, documents: int, term: Term) -> float:
    """Of several lexemes ts_rank gives the mean, and they shall count as one word that comes again."""
    return _rarity(frequency, documents) * term.share * (1 + len(term.forms))


def _rarity(frequency: float, documents: int) -> float:
    return math.log(1 + (documents - min(frequency, documents) + 0.5) / (frequency + 0.5))
