"""Sessions: the runs of agents, by a name or a UUID. When one ends, a page is written from its events.

In: a project and a session's name. Out: the session; reading and listing make nothing, and a run without events leaves no page.
"""

import uuid
from datetime import datetime
from typing import Any, Final

import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.db.transaction import Tx
from service.errors import no_session
from service.memory.cursors import seal, unseal
from service.memory.event_rows import clean_session, session_uuid
from service.memory.ids import public_id
from service.memory.pages import PageInput, page_row
from service.memory.text import clean_name
from service.memory.timestamps import parse_timestamp

LONGEST_AGENT: Final = 200
MOST_EVENTS: Final = 2_000


class Session(msgspec.Struct, frozen=True):
    """One run: `session_id` is always a UUID, `session` the name it was given."""

    session: str
    session_id: str
    agent: str | None
    started_at: datetime
    ended_at: datetime | None
    events: int


class EndedSession(msgspec.Struct, frozen=True):
    """`page` is the path of the page that was written, null when the run had no events."""

    session: str
    session_id: str
    ended_at: datetime
    page: str | None


async def start_session(database: Database, project: ProjectRef, name: str, agent: str | None) -> Session:
    """Notes that a run began; one that began before is found again, and is open once more."""
    session = clean_session(name)
    shown = clean_name(agent)[:LONGEST_AGENT] if agent else None
    async with database.write(project) as tx:
        await tx.execute(load("project", "sessions")["start_session"].sql, session, session_uuid(session), shown)
    return await read_session(database, project, session)


async def end_session(database: Database, project: ProjectRef, name: str, author: str | None) -> EndedSession:
    """Ends a run and writes `sessions/<uuid>.md` from its events; ending it again brings the page up to date. Raises `NotFound`."""
    session = clean_session(name)
    queries = load("project", "sessions")
    async with database.write(project) as tx:
        # First of all, so that no event is forgotten between reading it and writing it into the page.
        await tx.execute(load("project", "links")["lock_project"].sql)
        row = await tx.fetchrow(queries["end_session"].sql, session)
        if row is None:
            raise no_session(session)
        events = await tx.fetch(queries["session_events"].sql, session, MOST_EVENTS)
        if events:
            await _write(tx, session, row, events, author)
    return EndedSession(session, str(row["uuid"]), row["ended_at"], page_path(row["uuid"]) if events else None)


def page_path(number: uuid.UUID) -> str:
    """The path of the page that is written when a session ends."""
    return f"sessions/{number}.md"


async def renew_page(tx: Tx, row: Any) -> int | None:
    """Writes a session's page anew from the events that are left: the page's number, 0 where there was no page, None without events."""
    events = await tx.fetch(load("project", "sessions")["session_events"].sql, row["name"], MOST_EVENTS)
    if not events:
        return None
    page = await tx.fetchrow(load("project", "pages")["read_page"].sql, page_path(row["uuid"]), None)
    return 0 if page is None else await _write(tx, row["name"], row, events, page["author"])


async def read_session(database: Database, project: ProjectRef, name: str) -> Session:
    session = clean_session(name)
    async with database.read(project) as tx:
        row = await tx.fetchrow(load("project", "sessions")["read_session"].sql, session)
    if row is None:
        raise no_session(session)
    return _session(row)


async def list_sessions(database: Database, project: ProjectRef, cursor: str | None, limit: int) -> tuple[list[Session], str | None]:
    """Sessions, the latest first, and the cursor to go on with; None on the last answer."""
    at, _, name = unseal(cursor or "").partition(" ")
    async with database.read(project) as tx:
        rows = await tx.fetch(load("project", "sessions")["list_sessions"].sql, parse_timestamp(at) if at else None, name, limit + 1)
    found = [_session(row) for row in rows[:limit]]
    return found, seal(f"{found[-1].started_at.isoformat()} {found[-1].session}") if len(rows) > limit else None


async def _write(tx: Tx, session: str, row: Any, events: list[Any], author: str | None) -> int:
    lines = [f"# Session {session}", ""]
    if row["agent"]:
        lines += [f"Agent: {row['agent']}", ""]
    day = None
    for event in events:
        at: datetime | None = event["timestamp"]
        if at is not None and at.date() != day:
            day = at.date()
            lines += ["", f"## {day.isoformat()}", ""]
        clock = f"{at:%H:%M} " if at else ""
        lines.append(f"- {clock}{event['kind']}: {' '.join(event['summary'].split())} ({public_id('evt', event['id'])})")
    if len(events) == MOST_EVENTS:
        lines += ["", f"Only the first {MOST_EVENTS} events are listed."]
    page = page_row(PageInput(path=page_path(row["uuid"]), title=f"Session {session}", body="\n".join(lines) + "\n"), author)
    number: int = await tx.fetchval(load("project", "pages")["save_page"].sql, msgspec.json.encode(page).decode())
    return number


def _session(row: Any) -> Session:
    return Session(row["name"], str(row["uuid"]), row["agent"], row["started_at"], row["ended_at"], row["events"])
