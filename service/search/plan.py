"""From a request to what the stages need, before anything is asked of the database.

In: `SearchRequest`. Out: `SearchPlan`: words and names of the query, filters with their values, the limit, notes.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from service.errors import TooLong
from service.memory.scripts import fold_name, normalise
from service.memory.text import clean_text
from service.search.parse import MAX_LIMIT, MAX_QUERY, SearchRequest
from service.search.streams.entity import NameQuery, read_names
from service.search.word_query import LONGEST_TYPED, WordQuery, read_query


class SearchPlan(msgspec.Struct, frozen=True):
    """`filters` names what the request is held to, `values` holds what they take; `to_embed` is empty when nothing is asked."""

    request: SearchRequest
    words: WordQuery
    names: NameQuery
    filters: tuple[str, ...]
    values: Mapping[str, Any]
    limit: int
    to_embed: str
    notes: tuple[str, ...]

    @property
    def name_filters(self) -> tuple[str, ...]:
        """Who quotes a name means what carries it, whether its text spells it or not."""
        return tuple(name for name in self.filters if name != "phrases")


def plan_search(request: SearchRequest) -> SearchPlan:
    """Reads the query and the filters; a limit out of bounds is brought within them, with a note. Raises `TooLong`."""
    if len(request.query) > MAX_QUERY:
        raise TooLong(f"query: at most {MAX_QUERY} characters, not {len(request.query)}.")
    text = clean_text(request.query)
    if len(normalise(text)) > MAX_QUERY:  # one character may stand for eighteen
        raise TooLong(f"query: at most {MAX_QUERY} characters, also where ligatures are written out.")
    words = read_query(text)
    notes: list[str] = []
    limit = min(max(request.limit, 1), MAX_LIMIT)
    if limit != request.limit:
        notes.append(f"limit {request.limit} was brought to {limit}; it goes from 1 to {MAX_LIMIT}.")
    asked = any(character.isalnum() for character in words.plain)
    if not asked:
        notes.append("The query only excludes: name what to search for." if words.excluded else "The query holds no words.")
    elif not words.terms:
        notes.append("The query holds only stop words: nothing was matched by words.")
    if words.empty_phrase:
        notes.append("A quoted phrase that holds only stop words requires nothing.")
    if words.pasted:
        notes.append(f"A query of more than {LONGEST_TYPED} words is read as text: its quotes and dashes ask for nothing.")
    filters, values = _read_filters(request, words)
    return SearchPlan(
        request=request,
        words=words,
        names=read_names(words.plain),
        filters=filters,
        values=values,
        limit=limit,
        to_embed=words.plain if asked else "",
        notes=tuple(notes),
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
