"""What is asked and how it is answered: the typed request, its points in time, the settings.

In: arguments. Out: `SearchRequest`, `SearchSettings`.
"""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

import msgspec

from service.memory.timestamps import parse_timestamp

MAX_LIMIT: Final = 100
MAX_QUERY: Final = 100_000
_DATE_LENGTH: Final = len("2026-01-31")


class SearchRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments of memory_query. `kinds` are kinds of events, and `page` for pages; of `kinds` and `tags` one must fit.

    `now` is when it is asked, from which the query's times are told where there is no `as_of`.
    """

    query: str
    limit: int = 10
    explain: bool = False
    rerank: bool | None = None
    kinds: list[str] | None = None
    tags: list[str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    now: datetime = msgspec.field(default_factory=partial(datetime.now, UTC))


class SearchSettings(msgspec.Struct, frozen=True):
    """How streams are cut, weighed and fused; times in milliseconds.

    The weights are measured on 540 questions about conversations: with equal ones the weaker streams drag the text match down; these
    lift it, from a recall at 10 of 0.75 to 0.76.
    """

    k: float = 60.0
    fts_weight: float = 1.0
    entity_weight: float = 0.02
    graph_weight: float = 0.02
    vector_weight: float = 0.1
    vector_lead: float = 100.0  # times that vectors count more where the text matches are beside the point
    beside: float = 0.45  # of the nearest's cosine: text matches are beside the point whose own, each by its score, are less
    stream_size: int = 200  # events, and as many pages, of a stream: 400 candidates together
    seeds: int = 20  # of the fused order, where the graph stream starts
    neighbour: float = 0.6  # of what a word scores in an event that counts for the next in the session, and again for the one after
    reach: int = 2  # events in the session, before and after, for which it counts
    spread: int = 50  # events, the best by text, from which it counts
    forms: int = 64  # words looked at that begin like one of the query, in languages whose endings are not stored apart
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


def read_moment(name: str, value: str) -> datetime:
    """A point in time as `since`, `until` or `as_of` means it: a date includes its day where time ends. Raises `InvalidRequest`."""
    moment = parse_timestamp(value)
    if name != "since" and len(value.strip()) == _DATE_LENGTH and "-" in value:
        return moment + timedelta(days=1, microseconds=-1)
    return moment
