"""Saving, reading and deleting events.

In: a project and what callers write. Out: ids and contents. One function call in the database stores a batch in one transaction.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.errors import MunimentError, NotFound
from service.memory.event_rows import EventInput, EventRows, add_event, session_uuid
from service.memory.ids import number_of, public_id, require_number
from service.memory.redact import STANDARD, Redactor

MOST_IDS: Final = 100
LARGE: Final = 20_000


class SavedEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where an event was stored. `known`: its ingest_key was seen before, and this is the earlier event.

    `redacted` counts the secrets that were taken out of what the caller gave.
    """

    id: str
    order_index: int
    chunks: list[str] = []
    known: bool = False
    redacted: int = 0


class EventContent(msgspec.Struct, frozen=True):
    """One event whole; `version` counts its corrections from 1."""

    id: str
    order_index: int
    version: int
    kind: str
    summary: str
    content: str | None
    timestamp: datetime | None
    session: str | None
    session_id: str | None
    author: str | None
    created_at: datetime
    entities: list[dict[str, str]]
    tags: list[dict[str, str]]
    chunks: list[str]
    previous: list[str]


async def save_events(
    database: Database,
    project: ProjectRef,
    events: Sequence[EventInput | MunimentError],
    author: str | None,
    redactor: Redactor = STANDARD,
) -> list[SavedEvent | MunimentError]:
    """Stores a batch in one transaction, in order; gives a result for each event, in order.

    An event that cannot be stored (or an error that stands in its place, when it could not even be read) fails alone.
    """
    # Much text takes a while to read: other calls go on meanwhile.
    if sum(len(event.content or event.summary) for event in events if isinstance(event, EventInput)) > LARGE:
        rows, results = await asyncio.to_thread(_prepare, events, author, redactor)
    else:
        rows, results = _prepare(events, author, redactor)
    saved: list[Any] = []
    if rows.events:
        async with database.write(project) as tx:
            saved = await tx.fetch(load("project", "events")["save_events"].sql, msgspec.json.encode(rows).decode())
    for row in saved:
        if row["problem"]:
            results[row["item"]] = _missing(row["problem"], events[row["item"]])
        elif row["part"] == 0:
            pending = results[row["item"]]
            redacted = pending.redacted if isinstance(pending, SavedEvent) else 0
            results[row["item"]] = SavedEvent(public_id("evt", row["id"]), row["id"], known=row["known"], redacted=redacted)
        else:
            head = results[row["item"]]
            if isinstance(head, SavedEvent) and not head.known:
                head.chunks.append(public_id("evt", row["id"]))
    return results


def _prepare(
    events: Sequence[EventInput | MunimentError], author: str | None, redactor: Redactor
) -> tuple[EventRows, list[SavedEvent | MunimentError]]:
    """The rows of the events that can be stored, and for each event a result that waits for its number, or its error."""
    rows = EventRows()
    results: list[SavedEvent | MunimentError] = []
    for item, event in enumerate(events):
        try:
            if isinstance(event, MunimentError):
                raise event
            results.append(SavedEvent("", 0, redacted=add_event(rows, item, event, author, redactor)))
        except MunimentError as error:
            results.append(error)
    return rows, results


async def save_event(
    database: Database, project: ProjectRef, event: EventInput, author: str | None, redactor: Redactor = STANDARD
) -> SavedEvent:
    """Stores one event; raises what kept it out."""
    (result,) = await save_events(database, project, [event], author, redactor)
    if isinstance(result, SavedEvent):
        return result
    raise result


async def read_events(database: Database, project: ProjectRef, ids: Sequence[str]) -> tuple[list[EventContent], list[str]]:
    """The events under these ids in the order asked for, and the ids under which there is none."""
    numbers = {text: number_of("evt", text) for text in dict.fromkeys(ids)}
    wanted = [number for number in numbers.values() if number is not None]
    async with database.read(project) as tx:
        rows = await tx.fetch(load("project", "events")["read_events"].sql, wanted)
    found = {row["id"]: row for row in rows}
    events = [_content(found[number]) for number in dict.fromkeys(numbers.values()) if number in found]
    return events, [text for text, number in numbers.items() if number not in found]


async def delete_event(database: Database, project: ProjectRef, event_id: str) -> list[str]:
    """Deletes an event, with the other parts of its content; gives what is gone; raises `NotFound`."""
    number = require_number("evt", event_id, "id")
    async with database.write(project) as tx:
        gone = await tx.fetchval(load("project", "events")["delete_events"].sql, [number])
    if not gone:
        raise NotFound(f"There is no event {event_id[:80]}.")
    return [public_id("evt", each) for each in gone]


def _missing(field: str, event: Any) -> MunimentError:
    return NotFound(f"{field}: there is no event {getattr(event, field, '')!s:.80}.", hint="Give the id that saving that event answered.")


def _content(row: Any) -> EventContent:
    return EventContent(
        id=public_id("evt", row["id"]),
        order_index=row["id"],
        version=row["version"],
        kind=row["kind"],
        summary=row["summary"],
        content=row["content"],
        timestamp=row["timestamp"],
        session=row["session"],
        session_id=str(session_uuid(row["session"])) if row["session"] else None,
        author=row["author"],
        created_at=row["created_at"],
        entities=[{"id": public_id("ent", i), "name": n, "type": t} for i, n, t in zip(*(row[k] for k in _ENTITY), strict=True)],
        tags=[{"id": public_id("tag", i), "name": n, "kind": k} for i, n, k in zip(*(row[k] for k in _TAG), strict=True)],
        chunks=[public_id("evt", each) for each in row["chunks"]],
        previous=[public_id("evt", each) for each in row["previous"]],
    )


_ENTITY: Final = ("entity_ids", "entity_names", "entity_types")
_TAG: Final = ("tag_ids", "tag_paths", "tag_kinds")
