"""The operation that finds events by meaning alone, and says what to ask next.

The events come from the graph room's text start; the hint is made from what they have in common.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from service.access.keys import Caller
from service.db.scope import ProjectRef
from service.errors import InvalidRequest
from service.graph.answer import NOT_COVERED, GraphAnswer, Truncation
from service.graph.run import run_query
from service.memory.details import EventDetails, Named, Thread, read_details, read_threads
from service.operations.operation import Operation, Route, Services, Tool
from service.operations.searching import fitting_embedders, graph_limits, has_scoped_match
from service.operations.writing import Project, Workspace
from service.settings import Settings

MOST: Final = 20
LONGEST: Final = 8_000
HINTED: Final = 10

_STARTS: Final = {
    "": "START a = events(text: $q, k: $k) RETURN a.id, a.score ORDER BY a.score DESC, a.id",
    "entity": "START a = events(entity: $name, text: $q, k: $k) RETURN a.id, a.score ORDER BY a.score DESC, a.id",
    "tag": "START a = events(tag: $name, text: $q, k: $k) RETURN a.id, a.score ORDER BY a.score DESC, a.id",
}
_EXAMPLES: Final = {
    "entity": "START a = events(entity: $name, text: $q, k: 20) RETURN a, a.score ORDER BY a.score DESC, a.id",
    "tag": "START a = events(tag: $name, text: $q, k: 20) RETURN a, a.score ORDER BY a.score DESC, a.id",
    "ids": "START a = events(ids: $ids) MATCH (a)-[f:SIMILAR {k: 5}]-(b) RETURN b, f.cos ORDER BY f.cos DESC LIMIT 10",
}


class SearchMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What the events shall be about."""

    query: Annotated[str, Meta(description="A sentence or a question; its meaning is what counts, not its words.")]
    limit: Annotated[int, Meta(ge=1, description="How many events at most, 1 to 20.")] = 10
    entity: Annotated[str | None, Meta(description="Only events in which this name takes part, in its stored spelling.")] = None
    tag: Annotated[str | None, Meta(description="Only events of this tag: its path or last segment.")] = None
    workspace: Workspace = None
    project: Project = None


class MeaningHit(msgspec.Struct, frozen=True):
    """An event; `score` is its cosine to the query, 1 for the same."""

    id: str
    order_index: int
    kind: str
    summary: str
    timestamp: datetime | None
    session: str | None
    score: float
    entities: list[str]
    tags: list[str]


class Seen(msgspec.Struct, frozen=True):
    """An entity or a tag, and in how many of the hits it was seen."""

    id: str
    name: str
    hits: int


class GraphExample(msgspec.Struct, frozen=True):
    """A query of the graph language that runs as it is."""

    query: str
    params: dict[str, Any]


class GraphHint(msgspec.Struct, frozen=True):
    """How to go on with the graph."""

    example: GraphExample


class Hint(msgspec.Struct, frozen=True):
    """What the hits have in common; no `graph_query` without hits, or where graph queries are off."""

    entities: list[Seen]
    tags: list[Seen]
    threads: list[Thread]
    graph_query: GraphHint | None


class MeaningAnswer(msgspec.Struct, frozen=True):
    """Events, the closest first. `partial`: something was cut or missing, so that no hit is no proof of absence."""

    hits: list[MeaningHit]
    hint: Hint
    partial: bool
    truncated: list[Truncation]
    notes: list[str]
    project: str


async def search_memory(services: Services, caller: Caller, request: SearchMemory) -> MeaningAnswer:
    project = await services.scopes.one(caller, request.workspace, request.project)
    if request.entity is not None and request.tag is not None:
        raise InvalidRequest("entity, tag: one of them at a time.")
    scope, name = (
        ("entity", request.entity) if request.entity is not None else ("tag", request.tag) if request.tag is not None else ("", None)
    )
    found, notes = await find_by_meaning(services, project, request.query, min(request.limit, MOST), scope, name)
    numbers = {int(row[0].removeprefix("evt_")): row[1] for row in found.rows}
    details = await read_details(services.database, project, list(numbers))
    hits = [(details[number], score) for number, score in numbers.items() if number in details]
    threads = await read_threads(services.database, project, list(details)) if details else []
    if request.limit > MOST:
        notes.append(f"limit {request.limit} became {MOST}, the most that is given.")
    return MeaningAnswer(
        hits=[_hit(event, score) for event, score in hits],
        hint=_hint(services.settings, project, request.query[:LONGEST], [event for event, _ in hits], threads),
        partial=found.partial,
        truncated=found.truncated,
        notes=notes,
        project=project.name,
    )


async def find_by_meaning(
    services: Services, project: ProjectRef, text: str, limit: int, scope: str = "", name: str | None = None
) -> tuple[GraphAnswer, list[str]]:
    """Ids and scores of the events closest to a text, and the notes; raises `InvalidRequest` for an empty text."""
    if not text.strip():
        raise InvalidRequest("query: empty.", hint="Say what the events shall be about.")
    params = {"q": text[:LONGEST], "k": limit, **({"name": name} if scope else {})}
    found = await ask_graph(services, project, _STARTS[scope], params)
    notes = list(found.notes)
    if len(text) > LONGEST:
        notes.append(f"Only the first {LONGEST} characters of the query were taken into account.")
    if any(cut.reason == "no_embedding" for cut in found.truncated):
        notes = [note for note in notes if note != NOT_COVERED]
        notes.append("Nothing can be found by meaning now: memory_query finds by words and names.")
    return found, notes


async def ask_graph(services: Services, project: ProjectRef, query: str, params: dict[str, Any]) -> GraphAnswer:
    """A graph query of our own: the switches are for those that users write."""
    limits = msgspec.structs.replace(graph_limits(services.settings, project), scoped_match=True)
    async with fitting_embedders(services, [project]) as (embed,):
        return await run_query(services.database, project, query, params, embed=embed, limits=limits)


def _hit(event: EventDetails, score: float) -> MeaningHit:
    return MeaningHit(
        id=event.id,
        order_index=event.order_index,
        kind=event.kind,
        summary=event.summary,
        timestamp=event.timestamp,
        session=event.session,
        score=score,
        entities=[entity.name for entity in event.entities],
        tags=[tag.name for tag in event.tags],
    )


def _hint(settings: Settings, project: ProjectRef, text: str, events: Sequence[EventDetails], threads: list[Thread]) -> Hint:
    entities = _seen(entity for event in events for entity in event.entities)
    tags = _seen(tag for event in events for tag in event.tags)
    if not events or not settings.graph:
        return Hint(entities, tags, threads, None)
    scoped = [("entity", seen.name) for seen in entities[:1]] or [("tag", seen.name) for seen in tags[:1]]
    if scoped and has_scoped_match(settings, project):
        ((scope, name),) = scoped
        example = GraphExample(_EXAMPLES[scope], {"name": name, "q": text})
    else:
        example = GraphExample(_EXAMPLES["ids"], {"ids": [event.id for event in events[:3]]})
    return Hint(entities, tags, threads, GraphHint(example))


def _seen(named: Iterable[Named]) -> list[Seen]:
    """Those of most hits first; among equals, as they came."""
    return [Seen(each.id, each.name, hits) for each, hits in Counter(named).most_common(HINTED)]


OPERATIONS = (
    Operation(
        name="search_memory",
        scope="read",
        summary="Find events by meaning",
        request=SearchMemory,
        answer=MeaningAnswer,
        run=search_memory,
        lists=("hits",),
        less="give a smaller limit.",
        routes=(
            Route("POST", "/workspaces/{workspace}/projects/{project}/events:search"),
            Route("GET", "/workspaces/{workspace}/projects/{project}/events:search"),
        ),
        aliases={"q": "query", "n": "limit", "top_k": "limit"},
        tool=Tool(
            title="Search by meaning",
            description=(
                "Events by meaning alone, the closest first, also those that say it in other words (in another language only where the "
                "embedding model knows both). `hint` shows which names, tags and threads they have in common. For exact words and names, "
                "and for pages, use memory_query."
            ),
        ),
    ),
)
