"""Saving, reading and deleting events.

In: a project and what callers write. Out: ids and contents. One function call in the database stores a batch in one transaction.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.errors import MunimentError, NotFound, no_event
from service.memory.event_rows import EventInput, EventRows, add_event, check_event, session_uuid
from service.memory.ids import number_of, public_id, require_number
from service.memory.redact import STANDARD, Redactor
from service.memory.text import clean_name
from service.memory.turns import take_turn

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
    known = await _find_known(database, project, events)
    size = sum(len(event.content or event.summary) for event in events if isinstance(event, EventInput))
    async with take_turn(size):
        # Much text takes a while to read: other calls go on meanwhile.
        work = (events, known, author, redactor)
        rows, results = await asyncio.to_thread(_prepare, *work) if size > LARGE else _prepare(*work)
        saved = await _store(database, project, rows) if rows.events else []
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


async def _find_known(database: Database, project: ProjectRef, events: Sequence[EventInput | MunimentError]) -> dict[str, int]:
    """The events that stand already, by their keys: of these nothing is made. One small event is stored sooner than looked for."""
    keyed = [event for event in events if isinstance(event, EventInput) and event.ingest_key]
    if not keyed or (len(keyed) == 1 and len(keyed[0].content or "") <= LARGE):
        return {}
    async with database.read(project) as tx:
        rows = await tx.fetch(load("project", "events")["known_keys"].sql, [clean_name(event.ingest_key or "") for event in keyed])
    return {row["key"]: row["id"] for row in rows}


async def _store(database: Database, project: ProjectRef, rows: EventRows) -> list[Any]:
    """Much text goes in several statements, none of which is large."""
    queries = load("project", "events")
    async with database.write(project) as tx:
        saved = await tx.fetch(queries["save_events"].sql, rows.encode().decode())
        given = [None if row["known"] or row["problem"] else row["id"] for row in saved]
        for passages in rows.packed:
            await tx.fetch(queries["save_passages"].sql, passages.decode(), given)
    return saved


def _prepare(
    events: Sequence[EventInput | MunimentError], known: Mapping[str, int], author: str | None, redactor: Redactor
) -> tuple[EventRows, list[SavedEvent | MunimentError]]:
    """The rows of the events that can be stored, and for each event a result that waits for its number, or its error."""
    rows = EventRows()
    results: list[SavedEvent | MunimentError] = []
    for item, event in enumerate(events):
        try:
            if isinstance(event, MunimentError):
                raise event
            number = known.get(clean_name(event.ingest_key)) if event.ingest_key else None
            if number is None:
                results.append(SavedEvent("", 0, redacted=add_event(rows, item, event, author, redactor)))
            else:
                redacted = check_event(event, author, redactor)
                results.append(SavedEvent(public_id("evt", number), number, known=True, redacted=redacted))
        except MunimentError as error:
            results.append(error)
    if rows.packed:
        rows.pack()
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
        raise no_event(event_id)
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
