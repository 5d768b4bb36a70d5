"""What is asked and how it is answered: the typed request, its arguments as callers write them, the settings.

In: arguments by name, aliases included. Out: `SearchRequest`; `InvalidRequest` for what cannot be read, a name that is unknown among it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from service.errors import InvalidRequest
from service.memory.timestamps import parse_timestamp

MAX_LIMIT: Final = 100
MAX_QUERY: Final = 100_000
MAX_SCOPES: Final = 25
_ALIASES: Final = {"q": "query", "search": "query", "n": "limit", "top_k": "limit"}
_DATE_LENGTH: Final = len("2026-01-31")


class ScopeWish(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One project that a caller names."""

    workspace: str | None = None
    project: str | None = None


class SearchRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments of memory_query. `kinds` are kinds of events, and `page` for pages; of `kinds` and `tags` one must fit."""

    query: str
    workspace: str | None = None
    project: str | None = None
    scopes: list[ScopeWish] | None = None
    everything: bool = msgspec.field(default=False, name="global")
    limit: int = 10
    explain: bool = False
    rerank: bool | None = None
    kinds: list[str] | None = None
    tags: list[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None


class SearchSettings(msgspec.Struct, frozen=True):
    """How streams are cut, weighed and fused; times in milliseconds.

    The weights are measured on 540 questions about conversations: with equal ones the weaker streams drag the text match down; these
    lift it, from a recall at 10 of 0.74 to 0.75.
    """

    k: float = 60.0
    fts_weight: float = 1.0
    entity_weight: float = 0.02
    graph_weight: float = 0.02
    vector_weight: float = 0.1
    stream_size: int = 200  # events, and as many pages, of a stream: 400 candidates together
    seeds: int = 20  # of the fused order, where the graph stream starts
    neighbour: float = 0.6  # of what a word scores in an event that counts for the next in the session, and again for the one after
    reach: int = 2  # events in the session, before and after, for which it counts
    spread: int = 50  # events, the best by text, from which it counts
    max_terms: int = 32  # of a query, the rarest
    max_postings: int = 5_000  # summed over the words that choose candidates
    max_candidates: int = 20_000  # scored
    rare: int = 50  # events and pages that carry an entity over which the graph stream steps
    fan: int = 1_000  # newest events of one entity, tag or session
    started: int = 20  # names that begin like a word of the query
    exact_vectors: int = 20_000  # passages, of those that the filters leave, up to which each is measured
    ef_search: int = 200
    scanned: int = 100_000  # vectors that a search through the index looks at until enough pass the filters
    embed_ms: int = 5_000
    max_embedders: int = 8  # asked for a query's vector in one search over projects of several spaces
    statement_ms: int = 5_000
    deadline_ms: int = 15_000
    judged: int = 30  # candidates that a reranker sees
    rerank_ms: int = 20_000


def parse_arguments(arguments: Mapping[str, Any]) -> SearchRequest:
    """Reads arguments by name; times are ISO-8601 text or epoch numbers, and a date as `until` or `as_of` includes its day."""
    named: dict[str, Any] = {}
    for name, value in arguments.items():
        known = _ALIASES.get(name, name)
        if known in named:
            raise InvalidRequest(f"{name}: `{known}` is given twice.")
        named[known] = value
    for name in ("since", "until", "as_of"):
        if named.get(name) is not None:
            named[name] = read_moment(name, named[name])
    try:
        request = msgspec.convert(named, SearchRequest)
    except msgspec.ValidationError as error:
        raise InvalidRequest(str(error)) from error
    return _check_scope(request)


def read_moment(name: str, value: object) -> datetime:
    """A point in time as `since`, `until` or `as_of` means it; raises `InvalidRequest`."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | datetime):
        raise InvalidRequest(f"{name}: not a point in time.")
    if isinstance(value, datetime):
        return value
    moment = parse_timestamp(value)
    if name != "since" and isinstance(value, str) and len(value.strip()) == _DATE_LENGTH and "-" in value:
        return moment + timedelta(days=1, microseconds=-1)
    return moment


def _check_scope(request: SearchRequest) -> SearchRequest:
    named = request.workspace is not None or request.project is not None
    if request.scopes is not None and (named or request.everything):
        raise InvalidRequest("`scopes` excludes `workspace`, `project` and `global`.")
    if request.everything and request.project is not None:
        raise InvalidRequest("`global` excludes `project`.")
    if request.scopes is not None and not 1 <= len(request.scopes) <= MAX_SCOPES:
        raise InvalidRequest(f"scopes: 1 to {MAX_SCOPES} entries.")
    return request
