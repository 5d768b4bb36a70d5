"""The answer of memory_query.

In: the rows that were fused and chosen, and what the streams said of them. Out: `SearchAnswer`: hits on pages, hits on events, notes.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from service.search.snippets import Marks, make_snippet

Stream = Literal["fts", "entity", "graph", "vector"]
STREAMS: Final[tuple[Stream, ...]] = ("fts", "entity", "graph", "vector")


class Scope(msgspec.Struct, frozen=True):
    """What was searched, and how that was decided: the caller of memory_query fills it in."""

    workspace: str
    projects: list[str]
    resolved_by: str


class Truncated(msgspec.Struct, frozen=True):
    """A part that was cut: where, and why."""

    where: str
    reason: str
    detail: str


class Explain(msgspec.Struct, frozen=True):
    """Where a hit's rank comes from; a stream that did not rank it is null."""

    fts_rank: int | None
    entity_rank: int | None
    graph_rank: int | None
    vector_rank: int | None
    fts_score: float | None
    cosine: float | None
    matched_entities: list[str] | None
    graph_via: list[str] | None
    rrf: dict[str, float | None]
    fused: float
    rerank_score: float | None


class PageHit(msgspec.Struct, frozen=True):
    """A page that was found; `rank` is the fused score."""

    page_id: str
    path: str
    title: str
    snippet: str
    rank: float
    project: str
    updated_at: datetime
    explain: Explain | UnsetType = UNSET


class EventHit(msgspec.Struct, frozen=True):
    """An event that was found; `rank` is the fused score."""

    id: str
    session_id: str | None
    session: str | None
    kind: str
    summary: str
    snippet: str
    rank: float
    project: str
    timestamp: datetime | None
    explain: Explain | UnsetType = UNSET


class SearchAnswer(msgspec.Struct, frozen=True):
    """Pages and events in the order of one fusion. `stream_counts`, the candidates of each stream, comes with `explain`."""

    hits: list[PageHit]
    raw_hits: list[EventHit]
    scope: Scope
    streams_active: list[str]
    partial: bool
    truncated: list[Truncated]
    notes: list[str]
    stream_counts: dict[str, int] | UnsetType = UNSET


class Found(msgspec.Struct, frozen=True, gc=False):
    """A candidate of one stream. `place` numbers the project; `names` are what matched, or the steps that led here.

    `itself`: the query gives its id, path or title.
    """

    place: int
    is_page: bool
    id: int
    passage: int | None
    score: float
    names: tuple[str, ...] = ()
    itself: bool = False


class Chosen(msgspec.Struct, frozen=True):
    """One hit in the fused order with what is shown of it; `order` is its row there, with its ranks where these are explained."""

    place: int
    is_page: bool
    id: int
    fused: float
    order: Mapping[str, Any]
    row: Mapping[str, Any]
    via: tuple[str, ...] = ()
    rerank_score: float | None = None

    @property
    def text(self) -> str:
        """The best passage; for an event whose words are elsewhere, its summary."""
        return self.row["text"] or self.row["summary"] or self.row["title"] or ""


class Shown(msgspec.Struct, frozen=True):
    """What all hits of an answer are shown with."""

    projects: Sequence[str]
    marks: Marks
    weights: Mapping[Stream, float]
    k: float
    found: Mapping[str, Mapping[tuple[int, bool, int], Found]]
    explain: bool


def show_page(hit: Chosen, shown: Shown) -> PageHit:
    """A hit on a page."""
    return PageHit(
        page_id=f"pg_{hit.id}",
        path=hit.row["path"],
        title=hit.row["title"],
        snippet=make_snippet(hit.text, shown.marks),
        rank=hit.fused,
        project=shown.projects[hit.place - 1],
        updated_at=hit.row["updated_at"],
        explain=_explain(hit, shown),
    )


def show_event(hit: Chosen, shown: Shown) -> EventHit:
    """A hit on an event."""
    return EventHit(
        id=f"evt_{hit.id}",
        session_id=str(hit.row["uuid"]) if hit.row["uuid"] else None,
        session=hit.row["session"],
        kind=hit.row["kind"],
        summary=hit.row["summary"],
        snippet=make_snippet(hit.text, shown.marks),
        rank=hit.fused,
        project=shown.projects[hit.place - 1],
        timestamp=hit.row["timestamp"],
        explain=_explain(hit, shown),
    )


def _explain(hit: Chosen, shown: Shown) -> Explain | UnsetType:
    if not shown.explain:
        return UNSET
    key = (hit.place, hit.is_page, hit.id)
    fts, entity, vector = (shown.found.get(stream, {}).get(key) for stream in ("fts", "entity", "vector"))
    ranks: dict[Stream, int | None] = {stream: hit.order[f"{stream}_rank"] for stream in STREAMS}
    return Explain(
        fts_rank=ranks["fts"],
        entity_rank=ranks["entity"],
        graph_rank=ranks["graph"],
        vector_rank=ranks["vector"],
        fts_score=fts.score if fts else None,
        cosine=vector.score if vector else None,
        matched_entities=list(entity.names) if entity else None,
        graph_via=list(hit.via) or None,
        rrf={name: None if rank is None else shown.weights[name] / (shown.k + rank) for name, rank in ranks.items()},
        fused=hit.fused,
        rerank_score=hit.rerank_score,
    )
