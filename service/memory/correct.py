"""Correcting an event: what is given replaces what stood, and the version that stood is kept.

In: a project, an event's id, a `Correction`. Out: `CorrectedEvent`. The texts are cut and analysed outside the writing transaction; when
another correction came first, they are made anew from what it left.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.db.transaction import Tx
from service.errors import InvalidRequest, TooLong, no_event
from service.memory.boundaries import CONTENT_PART
from service.memory.event_rows import LONGEST_KIND, passage_row, read_short, read_summary
from service.memory.extract import EntityName
from service.memory.ids import public_id, require_number
from service.memory.names import EntityInput, TagInput, clear_entities, clear_tags, read_entities, read_tags, renew_told
from service.memory.passages import split_event
from service.memory.redact import STANDARD, Redactor, Tally
from service.memory.scripts import fold_name
from service.memory.text import clean_text
from service.memory.timestamps import parse_timestamp

LARGE: Final = 10_000


class Correction(msgspec.Struct, frozen=True):
    """What is to be changed; None leaves it as it is, an empty `content` or `timestamp` takes it away."""

    summary: str | None = None
    content: str | None = None
    timestamp: str | int | float | None = None
    kind: str | None = None
    entities: list[EntityInput | str] | None = None
    tags: list[TagInput | str] | None = None


class CorrectedEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """`outcome` is updated or unchanged; entities and tags alone make no new version.

    `redacted` counts the secrets that were taken out of what the caller gave.
    """

    id: str
    version: int
    outcome: str
    redacted: int = 0


async def correct_event(
    database: Database, project: ProjectRef, event_id: str, correction: Correction, author: str | None, redactor: Redactor = STANDARD
) -> CorrectedEvent:
    """Changes an event. Raises `NotFound`, and `InvalidRequest` or `TooLong` for what cannot be stored."""
    number = require_number("evt", event_id, "id")
    if correction == Correction():
        raise InvalidRequest("Nothing is to be corrected.", hint="Give summary, content, timestamp, kind, entities or tags.")
    async with database.read(project) as tx:
        row = await _standing(tx, number)
    tally = Tally(redactor)
    wanted = await _prepare(row, correction, tally)
    async with database.write(project) as tx:
        saved = await _save(tx, number, author, wanted)
        if saved["outcome"] == "stale":  # somebody corrected it meanwhile: made once more, while this transaction keeps others from it
            tally = Tally(redactor)
            saved = await _save(tx, number, author, await _prepare(await _standing(tx, number), correction, tally))
    if saved["outcome"] == "missing":
        raise no_event(public_id("evt", number))
    return CorrectedEvent(public_id("evt", number), saved["version"], saved["outcome"], tally.count)


async def _standing(tx: Tx, number: int) -> Mapping[str, Any]:
    row = await tx.fetchrow(load("project", "events")["event_to_correct"].sql, number)
    if row is None:
        raise no_event(public_id("evt", number))
    return dict(row)


async def _save(tx: Tx, number: int, author: str | None, wanted: Mapping[str, Any]) -> Any:
    batch = {"id": number, "author": author, **wanted}
    (saved,) = await tx.fetch(load("project", "events")["update_event"].sql, msgspec.json.encode(batch).decode())
    return saved


async def _prepare(row: Mapping[str, Any], correction: Correction, tally: Tally) -> dict[str, Any]:
    """A long text takes a while to read: other calls go on meanwhile."""
    if len(correction.content or row["content"] or "") > LARGE:
        return await asyncio.to_thread(_corrected, row, correction, tally)
    return _corrected(row, correction, tally)


def _corrected(row: Mapping[str, Any], correction: Correction, tally: Tally) -> dict[str, Any]:
    """The event as it shall be, as the database's `update_event` takes it."""
    summary = row["summary"] if correction.summary is None else read_summary(correction.summary, tally)
    content = row["content"] if correction.content is None else _content(correction.content, row["alone"], tally)
    before, after = ("\n".join(filter(None, text)) for text in ((row["summary"], row["content"]), (summary, content)))
    changed = (summary, content) != (row["summary"], row["content"])
    tags = None if correction.tags is None else read_tags(clear_tags(correction.tags, tally))
    return {
        "expected": row["version"],
        "kind": row["kind"] if correction.kind is None else _kind(correction.kind, tally),
        "summary": summary,
        "content": content,
        "at": _at(row, correction),
        **_entities(row, correction, before, after, tally),
        "tags": tags and [{"path": t.path, "leaf": t.leaf, "folded": fold_name(t.path), "kind": t.kind} for t in tags],
        "passages": [passage_row(piece) for piece in split_event(summary, content)] if changed else None,
    }


def _entities(row: Mapping[str, Any], correction: Correction, before: str, after: str, tally: Tally) -> dict[str, Any]:
    """The names to be there. Without names given, those that only the earlier text told make room for those that the new one tells."""
    dropped: list[EntityName] = []
    if correction.entities is not None:
        named = read_entities(clear_entities(correction.entities, tally), after)
    else:
        named, dropped = renew_told([EntityName(*each) for each in zip(row["names"], row["types"], strict=True)], before, after)
    return {
        "entities": [{"name": e.name, "type": e.type, "folded": fold_name(e.name)} for e in named],
        "dropped": [{"name": e.name, "type": e.type} for e in dropped],
        "only": correction.entities is not None,
    }


def _content(text: str, alone: bool, tally: Tally) -> str | None:
    content = tally.clear(clean_text(text))
    if len(content) > CONTENT_PART:
        hint = (
            "Save the longer text with save_memory, `previous` this event, and forget this one."
            if alone
            else "Correct its parts one by one."
        )
        raise TooLong(f"content: at most {CONTENT_PART} characters in one event, not {len(content)}.", hint=hint)
    return content or None


def _kind(text: str, tally: Tally) -> str | None:
    tally.require_none("kind", text)
    return read_short("kind", text, LONGEST_KIND)


def _at(row: Mapping[str, Any], correction: Correction) -> str | None:
    if correction.timestamp is None:
        return row["timestamp"].isoformat() if row["timestamp"] else None
    return None if correction.timestamp == "" else parse_timestamp(correction.timestamp).isoformat()
