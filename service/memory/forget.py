"""Forgetting: what is deleted leaves every table, index, version and count at once, and a receipt says how much that was.

In: a project and what to forget. Out: a `Receipt`. Large deletions go in batches, each a transaction of its own that takes the counter's
row first, as every writer does; one that ran out of time says so, and calling again goes on.
"""

import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.db.transaction import Tx
from service.errors import NotFound, no_page, no_session
from service.memory.correct import Correction, correct_event
from service.memory.event_rows import clean_session
from service.memory.ids import SHOWN_BY, public_id, require_number
from service.memory.pages import PageInput, clean_path, page_row
from service.memory.redact import OFF
from service.memory.sessions import page_path, renew_page

EVENTS_A_BATCH: Final = 500
LONGEST_S: Final = 40.0
MOST_NAMED: Final = 10
_NO_LINK: Final = ("id", "author", "passages", "entities", "tags", "sessions")


class Receipt(msgspec.Struct, frozen=True):
    """What was forgotten: rows by kind, and when. `complete` is false when time ran out: the same call again goes on.

    `authors` are those, as events and pages name them, whose texts went; `missing` the ids under which there was nothing.
    """

    forgotten: str
    counts: dict[str, int]
    at: datetime
    complete: bool
    project: str
    authors: list[str] = []
    missing: list[str] = []


class Forgetting:
    """One deletion under way: what is gone so far, and until when it may go on."""

    def __init__(self, database: Database, project: ProjectRef, longest_s: float = LONGEST_S) -> None:
        self._database = database
        self._project = project
        self._ends = time.monotonic() + longest_s
        self._gone: Counter[str] = Counter()
        self._queries = load("project", "forget")

    async def events(self, ids: Sequence[str]) -> Receipt:
        """Events with the other parts of their contents; raises `NotFound` when there is none of them."""
        numbers = [require_number("evt", each, "ids") for each in ids]
        async with self._database.read(self._project) as tx:
            there = {row["id"] for row in await tx.fetch(load("project", "links")["find_events"].sql, numbers)}
        missing = list(dict.fromkeys(public_id("evt", number) for number in numbers if number not in there))
        for start in range(0, len(numbers), EVENTS_A_BATCH):
            async with self._writing() as tx:
                await self._delete_events(tx, numbers[start : start + EVENTS_A_BATCH])
        receipt = self._receipt("events", bool(self._gone["event"]), NotFound("There are no such events.", hint=SHOWN_BY["evt"]))
        return msgspec.structs.replace(receipt, missing=missing)

    async def page(self, path: str) -> Receipt:
        """A page with all its versions."""
        async with self._writing() as tx:
            found = await self._delete_page(tx, clean_path(path))
        return self._receipt("page", found, no_page(path[:80]))

    async def session(self, name: str) -> Receipt:
        """A session with its events and its page."""
        session = clean_session(name)
        async with self._writing() as tx:
            row = await tx.fetchrow(self._queries["find_session"].sql, session)
            if row is not None:
                await self._delete_page(tx, page_path(row["uuid"]))
        complete = row is None or await self._delete_all("events_of_session", session)
        if row is not None and complete:
            async with self._writing() as tx:
                await self._drop_session(tx, session)
        return self._receipt("session", row is not None, no_session(name), complete)

    async def entity(self, entity_id: str) -> Receipt:
        """An entity with its participations and aliases; the events stay."""
        number = require_number("ent", entity_id, "entity")
        async with self._writing() as tx:
            row = await tx.fetchrow(self._queries["around_entity"].sql, number)
            if row is not None:
                self._count(row)
                self._gone["entity"] += 1
                await tx.execute(self._queries["delete_entity"].sql, number)
        missing = NotFound(f"There is no entity {entity_id[:80]}.", hint=SHOWN_BY["ent"])
        return self._receipt("entity", row is not None, missing)

    async def author(self, *names: str, hinted: bool = True) -> Receipt:
        """All that one author wrote: events, corrections, texts of pages, and claims about what others wrote.

        An event or a page falls back to the newest text that somebody else gave it; where there is none it is deleted. `names` are the
        forms in which the author may stand. Raises `NotFound`, which names authors who are here if it may.
        """
        complete, found = True, list[str]()
        for name in names:
            before = self._gone.total()
            complete = complete and await self._forget_author(name)
            found += [name] * (self._gone.total() > before)
        if not found:
            raise NotFound("Nothing here was written by this author.", hint=await self._authors(names) if hinted else None)
        return msgspec.structs.replace(self._receipt("author", True, None, complete), authors=found)

    async def _authors(self, names: Sequence[str]) -> str:
        """Authors who are here, the likeliest first."""
        async with self._database.read(self._project) as tx:
            known = [row["author"] for row in await tx.fetch(self._queries["authors"].sql)]
        wanted = names[0].casefold()
        near = [name for name in known if wanted and wanted in name.casefold()] + get_close_matches(names[0], known, MOST_NAMED, 0.5)
        shown = ", ".join(list(dict.fromkeys([*near, *known]))[:MOST_NAMED]) or "nobody"
        return f"A person stands as oidc: with the token's subject, a key with its id. Authors here: {shown}."

    async def _forget_author(self, author: str) -> bool:
        complete = (
            await self._take_back_corrections(author)
            and await self._delete_all("events_of_author", author)
            and await self._take_from_pages(author)
        )
        if complete:
            async with self._writing() as tx:
                sessions = await tx.fetch(self._queries["sessions_of_versions"].sql, author)
                self._gone["event_version"] += len(await tx.fetch(self._queries["delete_event_versions"].sql, author))
                for row in sessions:
                    await self._leave_session(tx, row["session"])
                self._count(await tx.fetchrow(self._queries["delete_claims"].sql, author))
        return complete

    async def _take_back_corrections(self, author: str) -> bool:
        """Gives events that this author corrected the text that stood before; whether there was time for all."""
        number = 0
        while time.monotonic() < self._ends:
            async with self._database.read(self._project) as tx:
                row = await tx.fetchrow(self._queries["corrected_by"].sql, author, number)
            if row is None:
                return True
            number = row["id"]
            at = row["timestamp"].isoformat() if row["timestamp"] else ""
            earlier = Correction(summary=row["summary"], content=row["content"] or "", timestamp=at, kind=row["kind"])
            await correct_event(self._database, self._project, public_id("evt", number), earlier, row["author"], OFF)
            async with self._writing() as tx:
                await tx.execute(self._queries["set_event_author"].sql, number, row["author"])
                if row["session"] is not None:
                    await self._leave_session(tx, row["session"])
        return False

    async def _take_from_pages(self, author: str) -> bool:
        path = ""
        while time.monotonic() < self._ends:
            async with self._writing() as tx:
                row = await tx.fetchrow(self._queries["pages_of_author"].sql, author, path)
                if row is None:
                    return True
                path = row["path"]
                await self._take_from_page(tx, path, author, current=row["author"] == author)
        return False

    @asynccontextmanager
    async def _writing(self) -> AsyncGenerator[Tx]:
        async with self._database.write(self._project) as tx:
            await tx.execute(load("project", "links")["lock_project"].sql)
            yield tx

    async def _delete_all(self, which: str, name: str) -> bool:
        """Deletes the events that a query finds, batch after batch; whether none is left."""
        while True:
            async with self._writing() as tx:
                rows = await tx.fetch(self._queries[which].sql, name, EVENTS_A_BATCH)
                if rows:
                    await self._delete_events(tx, [row["id"] for row in rows])
            if len(rows) < EVENTS_A_BATCH:
                return True
            if time.monotonic() >= self._ends:
                return False

    async def _delete_events(self, tx: Tx, wanted: Sequence[int]) -> None:
        ids = [row["id"] for row in await tx.fetch(self._queries["event_parts"].sql, wanted)]
        if not ids:
            return
        (around,) = await tx.fetch(self._queries["around_events"].sql, ids)
        before = await self._names(tx, around)
        await self._count_passages(tx, around)
        await tx.execute(load("project", "events")["delete_events"].sql, ids)
        self._gone["event"] += len(ids)
        self._count(around)
        await self._count_names(tx, around, before)
        for session in sorted(around["sessions"]):
            await self._leave_session(tx, session)

    async def _leave_session(self, tx: Tx, session: str) -> None:
        """The session's page names its events: it is written anew, and without events it goes, as the session does."""
        row = await tx.fetchrow(self._queries["find_session"].sql, session)
        if row is None:
            return
        page = await renew_page(tx, row)
        if page is None:
            await self._delete_page(tx, page_path(row["uuid"]))
            await self._drop_session(tx, session)
        elif page:
            self._gone["page_version"] += len(await tx.fetch(self._queries["delete_versions"].sql, page, None))

    async def _drop_session(self, tx: Tx, session: str) -> None:
        self._gone["session"] += len(await tx.fetch(self._queries["delete_empty_session"].sql, session))

    async def _delete_page(self, tx: Tx, path: str) -> bool:
        around = await tx.fetchrow(self._queries["around_page"].sql, path)
        if around is None:
            return False
        before = await self._names(tx, around)
        await self._count_passages(tx, around)
        await tx.fetch(load("project", "pages")["delete_page"].sql, path, None)
        self._gone["page"] += 1
        self._count(around)
        await self._count_names(tx, around, before)
        return True

    async def _take_from_page(self, tx: Tx, path: str, author: str, *, current: bool) -> None:
        (around,) = await tx.fetch(self._queries["around_page"].sql, path)
        if current:
            other = await tx.fetchrow(self._queries["version_of_others"].sql, around["id"], author)
            session = await tx.fetchrow(self._queries["session_of_page"].sql, path)
            if session is not None and await renew_page(tx, session):  # it is made of events, whoever ended the session
                await tx.execute(self._queries["set_page_author"].sql, around["id"], None)
                self._gone["page_version"] += len(await tx.fetch(self._queries["delete_versions"].sql, around["id"], None))
                return
            if other is None:
                await self._delete_page(tx, path)
                return
            row = page_row(PageInput(path, other["body"], other["title"]), other["author"])
            await tx.fetch(load("project", "pages")["save_page"].sql, msgspec.json.encode(row).decode())
            await tx.execute(self._queries["set_page_author"].sql, around["id"], other["author"])
        self._gone["page_version"] += len(await tx.fetch(self._queries["delete_versions"].sql, around["id"], author))

    def _count(self, row: Any) -> None:
        self._gone.update({kind: count for kind, count in row.items() if kind not in _NO_LINK})

    async def _count_passages(self, tx: Tx, around: Any) -> None:
        self._gone["passage"] += len(around["passages"])
        if tx.space is not None and around["passages"]:
            self._gone["vector"] += await tx.fetchval(self._queries["count_vectors"].sql, around["passages"])

    async def _names(self, tx: Tx, around: Any) -> Any:
        return await tx.fetchrow(self._queries["count_names"].sql, around["entities"], around["tags"])

    async def _count_names(self, tx: Tx, around: Any, before: Any) -> None:
        after = await self._names(tx, around)
        self._gone.update({kind: before[kind] - after[kind] for kind in ("entity", "tag", "alias")})

    def _receipt(self, what: str, found: bool, missing: NotFound | None, complete: bool = True) -> Receipt:
        if missing is not None and not found:
            raise missing
        counts = {kind: count for kind, count in sorted(self._gone.items()) if count}
        return Receipt(what, counts, datetime.now(UTC), complete, self._project.project)
