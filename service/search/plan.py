"""From a request to what the stages need, before anything is asked of the database.

In: `SearchRequest`. Out: `SearchPlan`: what the query's text says, filters with their values, the limit, notes.
"""

from collections.abc import Mapping
from datetime import UTC
from typing import Any

import msgspec

from service.errors import TooLong
from service.memory.scripts import fold_name, normalise
from service.memory.text import clean_text
from service.search.parse import MAX_LIMIT, MAX_QUERY, SearchRequest
from service.search.reading import Reading, read_text
from service.search.streams.entity import NameQuery
from service.search.word_query import WordQuery


class SearchPlan(msgspec.Struct, frozen=True):
    """`filters` names what the request is held to, `values` holds what they take."""

    request: SearchRequest
    reading: Reading
    filters: tuple[str, ...]
    values: Mapping[str, Any]
    limit: int
    notes: tuple[str, ...]

    @property
    def words(self) -> WordQuery:
        return self.reading.words

    @property
    def names(self) -> NameQuery:
        return self.reading.names

    @property
    def to_embed(self) -> str:
        return self.reading.to_embed

    @property
    def asked(self) -> tuple[str, ...]:
        """The filters as they were asked for."""
        named = {"phrases": "quoted phrases", "excluded": "-words"}
        return tuple(named.get(name, name) for name in self.filters if name != "unchanged")

    @property
    def name_filters(self) -> tuple[str, ...]:
        """Who quotes a name means what carries it, whether its text spells it or not."""
        return tuple(name for name in self.filters if name != "phrases")


def plan_search(request: SearchRequest) -> SearchPlan:
    """Reads the query, as of its day, and the filters; a limit out of bounds is brought within them, with a note. Raises `TooLong`."""
    if len(request.query) > MAX_QUERY:
        raise TooLong(f"query: at most {MAX_QUERY} characters, not {len(request.query)}.")
    text = clean_text(request.query)
    if len(normalise(text)) > MAX_QUERY:  # one character may stand for eighteen
        raise TooLong(f"query: at most {MAX_QUERY} characters, also where ligatures are written out.")
    reading = read_text(text, (request.as_of or request.now).astimezone(UTC).date())
    limit = min(max(request.limit, 1), MAX_LIMIT)
    bounded = f"limit {request.limit} was brought to {limit}; it goes from 1 to {MAX_LIMIT}."
    filters, values = _read_filters(request, reading.words)
    return SearchPlan(
        request=request,
        reading=reading,
        filters=filters,
        values=values,
        limit=limit,
        notes=reading.notes if limit == request.limit else (bounded, *reading.notes),
    )


def _read_filters(request: SearchRequest, words: WordQuery) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Names and values of the filters; those of `tags` differ by project and come later."""
    values: dict[str, Any] = {}
    if request.kinds is not None:
        values["kinds"] = [clean_text(kind) for kind in request.kinds]
    if request.since is not None:
        values["since"] = request.since
    if request.until is not None:
        values["until"] = request.until
    if request.as_of is not None:
        values["as_of"] = request.as_of
    if words.phrases:
        values["phrases"] = [phrase.tsquery for phrase in words.phrases]
    if words.excluded:
        values["excluded"] = " | ".join(f"({term.tsquery})" for term in words.excluded)
    filters = (*values, *(("tags",) if request.tags is not None else ()), *(("unchanged",) if request.as_of is not None else ()))
    values["tags"] = [fold_name(clean_text(tag)).strip("/ ") for tag in request.tags or ()]
    return filters, values
