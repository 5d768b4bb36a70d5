"""Looking up names and counting what a project holds."""

from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.errors import InvalidRequest
from service.memory.ids import public_id
from service.memory.names import pattern_of
from service.memory.scripts import fold_name
from service.memory.text import clean_text

_COUNTING_MS: Final = 30_000  # exact counts of millions of rows read from a cold disk take their time


class EventEntry(msgspec.Struct, frozen=True):
    """An event in short."""

    id: str
    summary: str
    timestamp: datetime | None


class EntityMatch(msgspec.Struct, frozen=True):
    """A stored spelling, its exact number of events and pages, and its newest events."""

    id: str
    name: str
    type: str
    event_count: int
    page_count: int
    events: list[EventEntry]


class EntityMatches(msgspec.Struct, frozen=True):
    """Names, those with most events first; `total` counts all that match. `truncated`: not all had room, as `notes` say."""

    entities: list[EntityMatch]
    total: int
    project: str
    truncated: bool = False
    notes: list[str] = []


class SpaceEntry(msgspec.Struct, frozen=True):
    """Vectors of one provider, model and size, of which `vectors` were there when the worker last counted; `current`: queries use them.

    `index`: `not_needed` while there are few enough to measure each, `ready`, `building`, or `missing`: searched exactly until it is built.
    """

    provider: str
    model: str
    dim: int
    current: bool
    vectors: int
    index: Literal["not_needed", "ready", "building", "missing"]


class Embedding(msgspec.Struct, frozen=True):
    """How far the vectors of the current space are: counts of events and of all passages; and all spaces, while the project moves."""

    provider: str | None
    model: str | None
    dim: int | None
    events: dict[str, int]
    passages: dict[str, int]
    pending: int
    embedded: int
    failed: int
    spaces: list[SpaceEntry] = []


class ProjectState(msgspec.Struct, frozen=True):
    """What a project holds."""

    counts: dict[str, int]
    embedding: Embedding
    newest_event: datetime | None


async def find_entities(database: Database, project: ProjectRef, piece: str, limit: int, events: int) -> EntityMatches:
    """Names that contain `piece`; raises `InvalidRequest` when it is empty."""
    folded = fold_name(clean_text(piece)).strip()
    if not folded:
        raise InvalidRequest("name: empty.", hint="Give a piece of the name.")
    queries = load("project", "lookup")
    async with database.read(project) as tx:
        rows = await tx.fetch(queries["find_entities"].sql, pattern_of(folded), folded, limit)
        newest = await tx.fetch(queries["newest_events"].sql, [row["id"] for row in rows], events) if rows and events else []
    by_entity: dict[int, list[EventEntry]] = {}
    for row in newest:
        by_entity.setdefault(row["entity_id"], []).append(EventEntry(public_id("evt", row["id"]), row["summary"], row["timestamp"]))
    matches = [
        EntityMatch(public_id("ent", r["id"]), r["name"], r["type"], r["event_count"], r["page_count"], by_entity.get(r["id"], []))
        for r in rows
    ]
    return EntityMatches(matches, rows[0]["total"] if rows else 0, project.name)


async def read_status(database: Database, project: ProjectRef) -> ProjectState:
    """Exact counts of rows and of vectors in the current space."""
    queries = load("project", "lookup")
    async with database.read(project, statement_ms=_COUNTING_MS) as tx:
        counts = await tx.fetchrow(queries["count_rows"].sql)
        vectors = await tx.fetchrow(queries["count_vectors"].sql) if tx.space else None
        spaces = await tx.fetch(load("project", "spaces")["list_spaces"].sql)
        space = tx.space
    if counts is None:
        raise AssertionError("a count gives a row")
    passages = _coverage(counts["passages"], vectors, "passages")
    events = _coverage(counts["events"], vectors, "events")
    return ProjectState(
        counts={name: counts[name] for name in ("events", "pages", "sessions", "entities", "tags", "passages")},
        embedding=Embedding(
            provider=space.provider if space else None,
            model=space.model if space else None,
            dim=space.dim if space else None,
            events=events,
            passages=passages,
            **{state: passages[state] for state in ("pending", "embedded", "failed")},
            spaces=[_space_entry(row) for row in spaces],
        ),
        newest_event=counts["newest_event"],
    )


def _space_entry(row: Any) -> SpaceEntry:
    if not row["index_kinds"]:
        index = "not_needed"
    elif set(row["index_kinds"]) <= set(row["ready"]):
        index = "ready"
    else:
        index = "building" if row["building"] else "missing"
    return SpaceEntry(row["provider"], row["model"], row["dim"], row["current"], row["vectors"] or 0, index)


def _coverage(total: int, vectors: Any, what: str) -> dict[str, int]:
    """Without a space nothing is due and nothing is embedded."""
    if vectors is None:
        return {"pending": 0, "embedded": 0, "failed": 0}
    embedded, failed = vectors[f"{what}_embedded"], vectors[f"{what}_failed"]
    return {"pending": total - embedded - failed, "embedded": embedded, "failed": failed}
