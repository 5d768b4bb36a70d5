"""What belongs to events: their names, tags and threads, and what lies beside them in session and time.

In: a project and numbers of events. Out: `EventDetails` by number, `Thread`s, `Beside`s.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.memory.ids import public_id

Side = Literal["before", "after"]
MOST_THREADS: Final = 20


class Named(msgspec.Struct, frozen=True):
    """An entity or a tag; a tag's type is empty."""

    id: str
    name: str
    type: str = ""


class EventDetails(msgspec.Struct, frozen=True):
    """An event in short, with its entities, the rarest first, and its tags."""

    id: str
    order_index: int
    kind: str
    summary: str
    timestamp: datetime | None
    session: str | None
    entities: tuple[Named, ...]
    tags: tuple[Named, ...]


class Thread(msgspec.Struct, frozen=True):
    """One event follows another; `source` says why."""

    start: str = msgspec.field(name="from")
    end: str = msgspec.field(name="to")
    source: str


class Beside(msgspec.Struct, frozen=True):
    """An event beside others: in their session (`names` is empty), or near in time with common names. `distance` orders each kind."""

    side: Side
    number: int
    distance: float
    names: tuple[str, ...] = ()


async def read_details(database: Database, project: ProjectRef, numbers: Sequence[int]) -> dict[int, EventDetails]:
    """The events that there are, by number."""
    async with database.read(project) as tx:
        rows = await tx.fetch(load("project", "details")["event_details"].sql, list(numbers))
    return {row["id"]: _details(row) for row in rows}


async def read_threads(database: Database, project: ProjectRef, numbers: Sequence[int]) -> list[Thread]:
    """What follows what around these events, at most 20."""
    async with database.read(project) as tx:
        rows = await tx.fetch(load("project", "details")["threads_of_events"].sql, list(numbers), MOST_THREADS)
    return [Thread(public_id("evt", row["from_id"]), public_id("evt", row["to_id"]), row["source"]) for row in rows]


async def find_beside(database: Database, project: ProjectRef, numbers: Sequence[int], limit: int) -> list[Beside]:
    """Neighbours in the sessions of these events, nearest first, then those in time that share names with them."""
    queries = load("project", "details")
    async with database.read(project) as tx:
        sessions = await tx.fetch(queries["session_neighbours"].sql, list(numbers), limit)
        names = await tx.fetch(queries["name_neighbours"].sql, list(numbers), limit)
    found = sorted((Beside(row["side"], row["id"], row["distance"]) for row in sessions), key=lambda each: (each.distance, each.number))
    return [*found, *(Beside(row["side"], row["id"], row["seconds"], tuple(row["names"])) for row in names)]


def _details(row: Any) -> EventDetails:
    named = zip(row["entity_ids"], row["entity_names"], row["entity_types"], strict=True)
    tags = zip(row["tag_ids"], row["tag_paths"], strict=True)
    return EventDetails(
        id=public_id("evt", row["id"]),
        order_index=row["id"],
        kind=row["kind"],
        summary=row["summary"],
        timestamp=row["timestamp"],
        session=row["session"],
        entities=tuple(Named(public_id("ent", number), name, kind) for number, name, kind in named),
        tags=tuple(Named(public_id("tag", number), path) for number, path in tags),
    )
