"""Turns events as callers write them into the rows that the database's `save_events` takes. Pure: no I/O.

In: `EventInput`. Out: `EventRows`, JSON-ready lists; raises `InvalidRequest` (422) with the field and the limit.
"""

import unicodedata
import uuid
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

import msgspec

from service.errors import InvalidRequest, TooLong
from service.memory.boundaries import split_content
from service.memory.extract import EntityName
from service.memory.ids import require_number
from service.memory.names import EntityInput, Tag, TagInput, clear_entities, clear_tags, read_named, read_tags, with_told
from service.memory.passages import Piece, split_event
from service.memory.redact import OFF, STANDARD, Redactor, Tally
from service.memory.scripts import fold_name
from service.memory.text import clean_name, clean_text, cut_words
from service.memory.timestamps import parse_timestamp
from service.memory.words import analyse

LONGEST_SUMMARY: Final = 500
LONGEST_SESSION: Final = 200
LONGEST_KEY: Final = 200
LONGEST_KIND: Final = 50
MOST_PASSAGES: Final = 2_000
_SHORT: Final = 10_000
"""Characters of a content that is looked at for secrets together with all else in its event."""

_SESSIONS: Final = uuid.UUID("5f3c1c1e-3f3a-4b57-9d0e-6d756e696d65")


class EventInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One memory as a caller writes it."""

    summary: str
    content: str | None = None
    timestamp: str | int | float | None = None
    session: str | None = None
    kind: str | None = None
    entities: list[EntityInput | str] = []
    tags: list[TagInput | str] = []
    ingest_key: str | None = None
    previous: str | None = None
    resolves: list[str] | str = []


class EventRows(msgspec.Struct):
    """A batch as `save_events` takes it. The passages of much text are `packed` as JSON, a list of them at a time, which is a fraction of
    their size as objects."""

    events: list[dict[str, Any]] = []
    entities: list[dict[str, Any]] = []
    tags: list[dict[str, Any]] = []
    passages: list[dict[str, Any]] = []
    packed: list[bytes] = []

    def encode(self) -> bytes:
        """What the database's `save_events` takes; what is packed goes to `save_passages`."""
        batch = {"events": self.events, "entities": self.entities, "tags": self.tags, "passages": [] if self.packed else self.passages}
        return msgspec.json.encode(batch)

    def add_passages(self, row: int, pieces: Sequence[Piece]) -> None:
        self.passages += [{"row": row, **passage_row(piece)} for piece in pieces]
        if len(self.passages) >= MOST_PASSAGES:
            self.pack()

    def pack(self) -> None:
        """Packs what is left, if anything was packed before."""
        if self.passages:
            self.packed.append(msgspec.json.encode(self.passages))
            self.passages = []


@lru_cache(maxsize=1024)
def session_uuid(name: str) -> uuid.UUID:
    """A session's UUID: its name when that is one, else one that follows from the name."""
    try:
        return uuid.UUID(name)
    except ValueError:
        return uuid.uuid5(_SESSIONS, name)


@lru_cache(maxsize=1024)
def clean_session(name: str) -> str:
    """The spelling under which a session is stored; a UUID in any of its spellings is one session."""
    name = clean_name(name)
    if not 1 <= len(name) <= LONGEST_SESSION:
        raise TooLong(f"session: 1 to {LONGEST_SESSION} characters, not {len(name)}.")
    try:
        return str(uuid.UUID(name))
    except ValueError:
        return name


def add_event(rows: EventRows, item: int, event: EventInput, author: str | None, redactor: Redactor = STANDARD) -> int:
    """Appends one event, as several rows when its content is too long for one; gives how many secrets were taken out of it.

    On an error nothing is appended.
    """
    read = _read(event, author, redactor)
    parts = _parts(read.head["summary"], read.content)
    entities = with_told(read.entities, "\n".join((read.head["summary"], *(content for _, content in parts if content))))
    first = len(rows.events) + 1
    for part, (summary, content) in enumerate(parts):
        row = first + part
        extra = {} if part == 0 else {"key": None, "previous": None, "resolves": []}
        rows.events.append({**read.head, **extra, "row": row, "item": item, "part": part, "summary": summary, "content": content})
        rows.add_passages(row, split_event(summary, content))
    rows.entities += [{"row": first, "name": e.name, "type": e.type, "folded": fold_name(e.name)} for e in entities]
    rows.tags += [{"row": first, "path": t.path, "leaf": t.leaf, "folded": fold_name(t.path), "kind": t.kind} for t in read.tags]
    return read.redacted


def check_event(event: EventInput, author: str | None, redactor: Redactor = STANDARD) -> int:
    """Raises what would keep the event out, without making anything of its text; gives how many secrets it holds."""
    return _read(event, author, redactor).redacted


class _Read(msgspec.Struct, frozen=True):
    """An event checked and without secrets."""

    head: dict[str, Any]
    content: str | None
    entities: list[EntityName]
    tags: list[Tag]
    redacted: int


def _read(event: EventInput, author: str | None, redactor: Redactor) -> _Read:
    tally = Tally(OFF if len(event.content or "") < _SHORT and not redactor.may_find(_texts(event)) else redactor)
    head = _head(event, author, tally)
    content = tally.clear(clean_text(event.content)) if event.content else None
    entities = read_named(clear_entities(event.entities, tally))
    tags = read_tags(clear_tags(event.tags, tally))
    return _Read(head, content, entities, tags, tally.count)


def _texts(event: EventInput) -> str:
    """Everything in an event that may hold a secret, in the spelling in which it is looked for."""
    names = [each if isinstance(each, str) else f"{each.name}\n{getattr(each, 'type', '')}" for each in (*event.entities, *event.tags)]
    given = "\n".join(filter(None, (event.summary, event.content, event.session, event.kind, event.ingest_key, *names)))
    return given if given.isascii() else unicodedata.normalize("NFC", given) + given


def passage_row(piece: Piece) -> dict[str, Any]:
    """A piece of text with its words, as the database stores it."""
    words = analyse(piece.text, "" if piece.number == 0 else piece.title_path)
    return {
        "number": piece.number,
        "title_path": piece.title_path or None,
        "text": piece.text,
        "words": words.tsvector,
        "length": words.length,
    }


def _head(event: EventInput, author: str | None, tally: Tally) -> dict[str, Any]:
    for field, name in (("session", event.session), ("kind", event.kind), ("ingest_key", event.ingest_key)):
        tally.require_none(field, name or "")
    session = clean_session(event.session) if event.session is not None else None
    at: datetime | None = parse_timestamp(event.timestamp) if event.timestamp is not None else None
    resolves = [event.resolves] if isinstance(event.resolves, str) else event.resolves
    return {
        "session": session,
        "session_uuid": str(session_uuid(session)) if session else None,
        "kind": read_short("kind", event.kind, LONGEST_KIND) or "note",
        "summary": read_summary(event.summary, tally),
        "at": at.isoformat() if at else None,
        "author": author,
        "key": read_short("ingest_key", event.ingest_key, LONGEST_KEY),
        "previous": require_number("evt", event.previous, "previous") if event.previous is not None else None,
        "resolves": [require_number("evt", plan, "resolves") for plan in resolves],
    }


def read_summary(text: str, tally: Tally) -> str:
    """A summary as it is stored, without secrets; raises `InvalidRequest` or `TooLong`."""
    summary = clean_text(text).strip()
    if not summary:
        raise InvalidRequest("summary: empty.", hint="Say in a sentence what happened.")
    if len(summary) > LONGEST_SUMMARY:
        raise TooLong(
            f"summary: at most {LONGEST_SUMMARY} characters, not {len(summary)}.",
            hint="Put the long text into `content`, which is never cut.",
        )
    # What stands for a secret may be longer than it was.
    return cut_words(tally.clear(summary), LONGEST_SUMMARY)


def read_short(field: str, text: str | None, limit: int) -> str | None:
    """A short name as it is stored; raises when it is empty or over `limit` characters."""
    if text is None:
        return None
    name = clean_name(text)
    if not 1 <= len(name) <= limit:
        raise TooLong(f"{field}: 1 to {limit} characters, not {len(name)}.")
    return name


def _parts(summary: str, content: str | None) -> list[tuple[str, str | None]]:
    """Summary and content of each row; a later part is summed up by how it begins."""
    if content is None:
        return [(summary, None)]
    parts = split_content(content)
    shown = cut_words(summary, 400)
    return [(summary if number == 0 else f"{shown} (part {number + 1} of {len(parts)})", text) for number, text in enumerate(parts)]
