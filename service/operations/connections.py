"""The operation that tells what surrounds an event, an entity or a sentence: what came before and after, what is like it, how it went on.

It starts from a few events: the one that is named, the newest of an entity, or those that a search finds for a sentence. Threads and
likeness come from the graph room, neighbours in session and time from the memory room.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from service.access.keys import Caller
from service.db.scope import ProjectRef
from service.errors import InvalidRequest, no_event
from service.memory.details import EventDetails, Side, find_beside, read_details
from service.memory.ids import public_id, require_number
from service.memory.timeline import TimelineWish, read_timeline
from service.operations.meaning import MOST as MOST_SIMILAR
from service.operations.meaning import ask_graph, find_by_meaning
from service.operations.operation import Operation, Route, Services, Tool
from service.operations.searching import MemoryQuery, memory_query
from service.operations.writing import Project, Workspace

Part = Literal["before", "after", "similar", "evolution"]
How = Literal["thread", "session", "names", "meaning", "words"]
SIDES: Final[tuple[Side, ...]] = ("before", "after")
PARTS: Final[tuple[Part, ...]] = ("before", "after", "similar", "evolution")
MOST: Final = 50
STARTS: Final = 5

_SOURCES: Final = ["thread", "file_name", "folder_name", "topic_segment", "user_manual", "version_up"]
_CHAIN: Final = " RETURN b.id, n.hops ORDER BY n.hops, b.id LIMIT 100"
_CHAINS: Final = {
    "before": "START a = events(ids: $ids) MATCH (b)-[n:NEXT*1..3 {source: $sources}]->(a)" + _CHAIN,
    "after": "START a = events(ids: $ids) MATCH (a)-[n:NEXT*1..3 {source: $sources}]->(b)" + _CHAIN,
}
_SIMILAR: Final = "START a = events(ids: $ids) MATCH (a)-[f:SIMILAR {k: $k}]-(b) RETURN b.id, f.cos ORDER BY f.cos DESC, b.id LIMIT 100"
_SHARING: Final = "START a = events(ids: $ids) MATCH (a)-[s:SHARES]-(b) RETURN b.id, s.via ORDER BY s.weight DESC, b.id LIMIT 200"


class FindMemoryConnections(msgspec.Struct, frozen=True, kw_only=True):
    """Around what: exactly one of an event, an entity and a sentence."""

    id: Annotated[str | None, Meta(description="An event's id, such as evt_42.")] = None
    entity: Annotated[str | None, Meta(description="An entity, by its stored name or id.")] = None
    query: Annotated[str | None, Meta(description="A sentence or a question.")] = None
    parts: Annotated[list[Part], Meta(description="before, after, similar, evolution; all when left out.")] = []
    limit: Annotated[int, Meta(ge=1, description="How many events of each part at most, 1 to 50.")] = 10
    workspace: Workspace = None
    project: Project = None


class Connection(msgspec.Struct, frozen=True):
    """An event and how it is connected: by a thread, in the session, by common `names`, by meaning (`score` is the cosine) or by words."""

    id: str
    order_index: int
    kind: str
    summary: str
    timestamp: datetime | None
    session: str | None
    how: list[How]
    names: list[str]
    score: float | None


class MemoryConnections(msgspec.Struct, frozen=True):
    """`around` are the events that it starts from; before and after: the closest first; evolution: the oldest first."""

    around: list[Connection]
    before: list[Connection]
    after: list[Connection]
    similar: list[Connection]
    evolution: list[Connection]
    partial: bool
    notes: list[str]
    project: str


class _Link(msgspec.Struct, frozen=True):
    """One way to an event."""

    number: int
    how: How | None = None
    names: tuple[str, ...] = ()
    score: float | None = None


class _Start(msgspec.Struct, frozen=True):
    """The events to start from, and for entities and sentences all that belong to them, closest or newest first."""

    numbers: list[int]
    related: list[_Link] = []


class _Walk:
    """One call: what was found on the way, and what is to be said."""

    def __init__(self, services: Services, caller: Caller, project: ProjectRef, request: FindMemoryConnections) -> None:
        self.services, self.caller, self.project, self.request = services, caller, project, request
        self.limit = min(request.limit, MOST)
        self.notes: dict[str, None] = {}
        self.partial = False

    async def start(self) -> _Start:
        request = self.request
        if request.id is not None:
            number = require_number("evt", request.id, "id")
            if not await read_details(self.services.database, self.project, [number]):
                raise no_event(public_id("evt", number))
            return _Start([number])
        if request.entity is not None:
            wish = TimelineWish(source="entity", name=request.entity, limit=max(self.limit, STARTS))
            found = await read_timeline(self.services.database, self.project, wish)
            if (found.next_cursor or len(found.events) > self.limit) and "evolution" in self.parts:
                self.say([f"evolution: the newest {self.limit} events of the name; list_memory_timeline shows all."])
            numbers = [event.order_index for event in found.events]
            return _Start(numbers[:STARTS], [_Link(number, "names", (request.entity,)) for number in numbers])
        return await self.search(request.query or "")

    async def search(self, text: str) -> _Start:
        """Events for a sentence, by all that the hybrid search knows."""
        request = self.request
        wish = MemoryQuery(
            query=text, limit=max(self.limit, STARTS), explain=True, rerank=False, workspace=request.workspace, project=request.project
        )
        answer = await memory_query(self.services, self.caller, wish)
        self.say(answer.notes, partial=answer.partial)
        related = [
            _Link(int(hit.id.removeprefix("evt_")), "words" if hit.explain and hit.explain.vector_rank is None else "meaning")
            for hit in answer.raw_hits
        ]
        return _Start([link.number for link in related[:STARTS]], related)

    @property
    def parts(self) -> Sequence[Part]:
        return self.request.parts or PARTS

    def say(self, notes: Iterable[str], *, partial: bool = False) -> None:
        self.notes |= dict.fromkeys(notes)
        self.partial |= partial

    async def ask(self, query: str, **params: Any) -> list[list[Any]]:
        """The rows of a graph query, the ids in their first column as numbers."""
        answer = await ask_graph(self.services, self.project, query, params)
        self.say((f"{cut.where}: {cut.detail}" for cut in answer.truncated), partial=answer.partial)
        return [[int(row[0].removeprefix("evt_")), *row[1:]] for row in answer.rows]

    async def chain(self, side: Side, start: _Start) -> list[_Link]:
        """What leads to the start by threads, or on from it."""
        rows = await self.ask(_CHAINS[side], ids=_ids(start.numbers), sources=_SOURCES)
        return [_Link(row[0], "thread") for row in rows]

    async def similar(self, start: _Start) -> list[_Link]:
        """By meaning; where that cannot be compared, by rare names."""
        if self.request.query is not None:
            found, _ = await find_by_meaning(self.services, self.project, self.request.query, min(self.limit, MOST_SIMILAR))
            links = [_Link(int(row[0].removeprefix("evt_")), "meaning", score=row[1]) for row in found.rows]
        else:
            rows = await self.ask(_SIMILAR, ids=_ids(start.numbers), k=min(self.limit, MOST_SIMILAR))
            links = [_Link(row[0], "meaning", score=row[1]) for row in rows if row[0] not in start.numbers]
        if links:
            return links
        self.say(["similar: nothing could be compared by meaning; events that share rare names are listed instead."])
        return [link for link in await self.sharing(start) if link.number not in start.numbers]

    async def sharing(self, start: _Start) -> list[_Link]:
        """Events with common names, those with the rarest first."""
        rows = await self.ask(_SHARING, ids=_ids(start.numbers))
        return [_Link(row[0], "names", tuple(entity["name"] for entity in row[1])) for row in rows]

    async def related(self, start: _Start, similar: list[_Link]) -> list[_Link]:
        """What an evolution is told with, the most related first."""
        if self.request.id is None:
            return start.related
        chains = [link for side in SIDES for link in await self.chain(side, start)]
        return [*(_Link(number) for number in start.numbers), *chains, *similar, *await self.sharing(start)]


async def find_memory_connections(services: Services, caller: Caller, request: FindMemoryConnections) -> MemoryConnections:
    project = await services.scopes.one(caller, request.workspace, request.project)
    given = [name for name, value in (("id", request.id), ("entity", request.entity), ("query", request.query)) if value is not None]
    if len(given) != 1:
        raise InvalidRequest("Exactly one of id, entity and query.", hint="id: an event; entity: a stored name; query: a sentence.")
    walk = _Walk(services, caller, project, request)
    start = await walk.start()
    if not start.numbers:
        walk.say(["No event was found to start from."])
    links = await _find_parts(walk, start) if start.numbers else {}
    numbers = {*start.numbers, *(link.number for part in links.values() for link in part)}
    details = await read_details(services.database, project, list(numbers))
    shown = {part: _show(links.get(part, []), details, walk.limit) for part in PARTS}
    shown["evolution"].sort(
        key=lambda event: (event.timestamp is None, event.timestamp or datetime.min.replace(tzinfo=UTC), event.order_index)
    )
    return MemoryConnections(
        around=_show([_Link(number) for number in start.numbers], details, STARTS),
        **shown,
        partial=walk.partial,
        notes=list(walk.notes),
        project=project.name,
    )


async def _find_parts(walk: _Walk, start: _Start) -> dict[Part, list[_Link]]:
    """The ways to the events of each part that is asked for."""
    found: dict[Part, list[_Link]] = {}
    sides: list[Side] = [side for side in SIDES if side in walk.parts]
    beside = await find_beside(walk.services.database, walk.project, start.numbers, walk.limit) if sides else []
    for side in sides:
        ways = [_Link(each.number, "names" if each.names else "session", each.names) for each in beside if each.side == side]
        found[side] = [link for link in (*await walk.chain(side, start), *ways) if link.number not in start.numbers]
    evolving = "evolution" in walk.parts
    similar = await walk.similar(start) if "similar" in walk.parts or (evolving and walk.request.id is not None) else []
    if "similar" in walk.parts:
        found["similar"] = similar
    if evolving:
        found["evolution"] = await walk.related(start, similar)
    return found


def _show(links: Iterable[_Link], details: dict[int, EventDetails], limit: int) -> list[Connection]:
    """The first events, each once with all ways that lead to it."""
    ways: dict[int, list[_Link]] = {}
    for link in links:
        if link.number in details:
            ways.setdefault(link.number, []).append(link)
    return [_connection(details[number], ways[number]) for number in list(ways)[:limit]]


def _connection(event: EventDetails, ways: Sequence[_Link]) -> Connection:
    return Connection(
        id=event.id,
        order_index=event.order_index,
        kind=event.kind,
        summary=event.summary,
        timestamp=event.timestamp,
        session=event.session,
        how=list(dict.fromkeys(way.how for way in ways if way.how is not None)),
        names=list(dict.fromkeys(name for way in ways for name in way.names)),
        score=max((way.score for way in ways if way.score is not None), default=None),
    )


def _ids(numbers: Sequence[int]) -> list[str]:
    return [public_id("evt", number) for number in numbers]


OPERATIONS = (
    Operation(
        name="find_memory_connections",
        scope="read",
        summary="What surrounds an event, an entity or a sentence",
        request=FindMemoryConnections,
        answer=MemoryConnections,
        run=find_memory_connections,
        lists=("evolution", "similar", "after", "before", "around"),
        less="give a smaller limit, or ask for some of the parts.",
        routes=(Route("GET", "/workspaces/{workspace}/projects/{project}/connections"),),
        tool=Tool(
            title="Find connections",
            description=(
                "What surrounds an event, an entity or a sentence. before and after: along threads, in the session, and close in time "
                "with common names; similar: by meaning; evolution: the most related events from the oldest to the newest, to tell how "
                "something developed."
            ),
        ),
    ),
)
