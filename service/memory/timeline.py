"""Events in order of time: of the whole project, or of one entity, tag or session.

In: a project, a `TimelineWish`. Out: `Timeline`, a page of it with a cursor. Events of one time are in the order in which they were stored;
events without a time come last in both directions, and not at all where a span of time is asked for.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, Literal

import msgspec
import sqlglot
from sqlglot import exp

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.db.transaction import Tx
from service.errors import NotFound, no_session
from service.memory.cursors import seal, unknown_cursor, unseal
from service.memory.event_rows import clean_session
from service.memory.ids import number_of, public_id
from service.memory.tags import find_tags
from service.memory.text import clean_name

Direction = Literal["newest", "oldest"]
Source = Literal["project", "entity", "tag", "session"]
_LARGEST: Final = 2**63 - 1
_DIALECT: Final = "postgres"


class TimelineEvent(msgspec.Struct, frozen=True):
    """An event in short."""

    id: str
    order_index: int
    kind: str
    summary: str
    timestamp: datetime | None
    session: str | None


class Timeline(msgspec.Struct, frozen=True):
    """Events in order; `next_cursor` is null on the last answer."""

    events: list[TimelineEvent]
    next_cursor: str | None
    project: str


class TimelineWish(msgspec.Struct, frozen=True, kw_only=True):
    """Whose events, in which order, from when to when (both inclusive), after which cursor. `name` is empty for the whole project."""

    source: Source = "project"
    name: str = ""
    direction: Direction = "newest"
    since: datetime | None = None
    until: datetime | None = None
    cursor: str = ""
    limit: int = 50


class _Place(msgspec.Struct, frozen=True):
    """Where the page before ended; `time` is None among the events without one."""

    time: str | None
    number: int


async def read_timeline(database: Database, project: ProjectRef, wish: TimelineWish) -> Timeline:
    """One page of a timeline; raises `NotFound` for a name of nothing and `InvalidRequest` for a strange cursor."""
    place = _start(wish.direction) if not wish.cursor else _read_cursor(wish.cursor)
    async with database.read(project) as tx:
        rows = await _fetch(tx, wish, await _named(tx, wish), place)
    more = _cursor(rows[wish.limit - 1]) if len(rows) > wish.limit else None
    return Timeline([_event(row) for row in rows[: wish.limit]], more, project.name)


async def _fetch(tx: Tx, wish: TimelineWish, named: Sequence[Any], place: _Place) -> list[Any]:
    """One row more than the page takes: first those with a time, then, without a span of time, the others."""
    rows: list[Any] = []
    if place.time is not None:
        span = (wish.since.isoformat() if wish.since else "-infinity", wish.until.isoformat() if wish.until else "infinity")
        sql = statement("timed", wish.direction, wish.source)
        rows = await tx.fetch(sql, place.time, place.number, *span, wish.limit + 1, *named)
        place = msgspec.structs.replace(_start(wish.direction), time=None)
    if len(rows) <= wish.limit and wish.since is None and wish.until is None:
        sql = statement("untimed", wish.direction, wish.source)
        rows += await tx.fetch(sql, None, place.number, None, None, wish.limit + 1 - len(rows), *named)
    return rows


async def _named(tx: Tx, wish: TimelineWish) -> tuple[Any, ...]:
    """What the source is bound to."""
    if wish.source == "project":
        return ()
    if wish.source == "tag":
        return (await find_tags(tx, wish.name),)
    if wish.source == "entity":
        rows = await tx.fetch(load("project", "links")["named_entities"].sql, number_of("ent", wish.name), clean_name(wish.name))
        if not rows:
            raise NotFound(f"entity: there is no entity {wish.name[:80]!r}.", hint="find_memories_by_entity shows how names are stored.")
        return ([row["id"] for row in rows],)
    session = clean_session(wish.name)
    if await tx.fetchrow(load("project", "sessions")["read_session"].sql, session) is None:
        raise no_session(session, "session")
    return (session,)


@cache
def statement(frame: str, direction: Direction, source: Source) -> str:
    """The frame with the source in its place."""
    queries = load("project", "timeline")
    tree = sqlglot.parse_one(queries[f"{frame}_{direction}"].sql, dialect=_DIALECT)
    for part in tree.find_all(exp.CTE):
        if part.alias == "source":
            part.set("this", sqlglot.parse_one(queries[source].sql, dialect=_DIALECT))
    return tree.sql(dialect=_DIALECT)


def _start(direction: Direction) -> _Place:
    return _Place("infinity", _LARGEST) if direction == "newest" else _Place("-infinity", 0)


def _cursor(row: Any) -> str:
    return seal(f"{row['timestamp'].astimezone(UTC).isoformat() if row['timestamp'] else '-'} {row['id']}")


def _read_cursor(cursor: str) -> _Place:
    time, _, number = unseal(cursor).partition(" ")
    try:
        moment = None if time == "-" else datetime.fromisoformat(time).astimezone(UTC).isoformat()
        place = _Place(moment, int(number))
    except (ValueError, OverflowError):
        place = _Place(None, -1)
    if not 0 < place.number <= _LARGEST:
        raise unknown_cursor()
    return place


def _event(row: Any) -> TimelineEvent:
    return TimelineEvent(public_id("evt", row["id"]), row["id"], row["kind"], row["summary"], row["timestamp"], row["session"])
