"""The rows of an export, stored kind by kind in one transaction that holds the counter's row.

In: lines that are ready. Out: for each where it is stored, or the error that keeps it out.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from service.db.queries import load
from service.db.transaction import Tx
from service.errors import MunimentError, NotFound
from service.memory.event_rows import session_uuid
from service.memory.ids import Kind, public_id
from service.memory.imports.restore_line import Ready, origin_key, passages_of

_COUNTED: Final = ("events", "entities", "tags", "pages")


class Stored(msgspec.Struct, frozen=True):
    """Where a line is: `known` if it was there before, `differs` if it is there with another text or history."""

    id: int | None = None
    known: bool = False
    differs: bool = False


Outcome: TypeAlias = Stored | MunimentError
Lines: TypeAlias = Sequence[Ready]


class Restoring:
    """Stores lines through one transaction."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._queries = load("project", "restore")
        self._ways: dict[str, Callable[[Lines], Awaitable[Sequence[Outcome]]]] = {
            "session": self._sessions,
            "entity": self._entities,
            "tag": self._tags,
            "event": self._events,
            "event_version": self._event_versions,
            "next_link": self._next_links,
            "resolution": self._resolutions,
            "alias": self._aliases,
            "page": self._pages,
            "page_version": self._page_versions,
            "finish": self._finish,
        }

    async def known(self, kind: str, lines: Lines) -> set[int]:
        """The places of events and pages that are stored already, be it with another text."""
        if kind == "event":
            rows = [
                {"place": n, "key": line.row["ingest_key"], "origin": origin_key(line.row), **_stored_as(line)}
                for n, line in enumerate(lines)
            ]
            return {row["place"] for row in await self._add("stored_events", rows)}
        paths = {row["path"] for row in await self._fetch("stored_pages", [line.row["path"] for line in lines])}
        return {place for place, line in enumerate(lines) if line.row["path"] in paths}

    async def store(self, kind: str, lines: Lines) -> Sequence[Outcome]:
        """Stores lines of one kind; an outcome for each."""
        return await self._ways[kind](lines)

    async def _fetch(self, name: str, *args: Any) -> Any:
        return await self._tx.fetch(self._queries[name].sql, *args)

    async def _add(self, name: str, rows: Sequence[Any]) -> Any:
        return await self._fetch(name, _json(rows)) if rows else []

    async def _last(self, name: str) -> int:
        (row,) = await self._fetch("counter")
        return row[name]

    async def _raise(self, **numbers: int) -> None:
        await self._fetch("raise_counter", *(numbers.get(name, 0) for name in _COUNTED))

    async def _sessions(self, lines: Lines) -> Sequence[Outcome]:
        fresh = {row["name"] for row in await self._add("add_sessions", [line.row for line in lines])}
        return [Stored(known=line.row["name"] not in fresh) for line in lines]

    async def _entities(self, lines: Lines) -> Sequence[Outcome]:
        names = [(line.row["name"], line.row["type"]) for line in lines]
        rows = await self._fetch("known_entities", [name for name, _ in names], [kind for _, kind in names])
        known = {(row["name"], row["type"]): row["id"] for row in rows}
        return await self._number("entities", "add_entities", known, names, lines)

    async def _tags(self, lines: Lines) -> Sequence[Outcome]:
        paths = [line.row["path"] for line in lines]
        known = {row["path"]: row["id"] for row in await self._fetch("known_tags", paths)}
        return await self._number("tags", "add_tags", known, paths, lines)

    async def _number(self, counted: str, add: str, known: dict[Any, int], names: Sequence[Any], lines: Lines) -> Sequence[Outcome]:
        """Stores names that are new, each under its own number or the next one."""
        last = await self._last(counted)
        outcomes: list[Outcome] = []
        fresh: list[dict[str, Any]] = []
        for name, line in zip(names, lines, strict=True):
            outcomes.append(Stored(known.get(name, 0), known=name in known))
            if name not in known:
                last = known[name] = max(line.row["id"], last + 1)
                fresh.append({**line.row, "id": last})
                outcomes[-1] = Stored(last)
        await self._add(add, fresh)
        await self._raise(**{counted: last})
        return outcomes

    async def _events(self, lines: Lines) -> Sequence[Outcome]:
        last = await self._last("events")
        asked = [
            {"place": place, "key": line.row["ingest_key"], "origin": origin_key(line.row), **line.row} for place, line in enumerate(lines)
        ]
        known = {row["place"]: Stored(row["id"], True, row["differs"]) for row in await self._add("known_events", asked)}
        outcomes: list[Outcome] = []
        fresh: list[tuple[int, dict[str, Any], Ready]] = []
        keys: dict[str, int] = {}
        for place, line in enumerate(lines):
            origin = origin_key(line.row)
            key = line.row["ingest_key"] or origin
            if place in known or key in keys:
                outcomes.append(known.get(place) or Stored(keys[key], known=True))
                continue
            number = max(line.row["id"], last + 1)
            kept = line.row["ingest_key"] if number == line.row["id"] else key
            last = keys[key] = number
            fresh.append((number, {**line.row, "id": number, "ingest_key": kept}, line))
            outcomes.append(Stored(number))
        await self._add_events(fresh)
        await self._raise(events=last)
        return outcomes

    async def _add_events(self, fresh: Sequence[tuple[int, dict[str, Any], Ready]]) -> None:
        if not fresh:
            return
        rows = [row for _, row, _ in fresh]
        named = [row for row in rows if row["session"] is not None]
        sessions = {
            row["session"]: {"name": row["session"], "started_at": row["timestamp"] or row["created_at"]} for row in reversed(named)
        }
        await self._add("add_sessions", [{**each, "uuid": str(session_uuid(each["name"]))} for each in sessions.values()])
        await self._add("add_events", rows)
        entities = [{"event_id": row["id"], **each} for row in rows for each in row["entities"]]
        tags = [{"event_id": row["id"], **each} for row in rows for each in row["tags"]]
        await self._add("ensure_entities", entities)
        await self._add("add_participations", entities)
        await self._add("ensure_tags", tags)
        await self._add("add_memberships", tags)
        await self._add("add_passages", [{"event_id": number, **piece} for number, _, line in fresh for piece in passages_of(line)])
        await self._fetch("mark_due", self._tx.project.project_id)

    async def _event_versions(self, lines: Lines) -> Sequence[Outcome]:
        return await self._beside("present_events", "add_event_versions", ("event_id",), ("event_id", "version"), lines)

    async def _next_links(self, lines: Lines) -> Sequence[Outcome]:
        return await self._beside("present_events", "add_next_links", ("from_id", "to_id"), ("from_id", "to_id", "source"), lines)

    async def _resolutions(self, lines: Lines) -> Sequence[Outcome]:
        return await self._beside(
            "present_events", "add_resolutions", ("plan_id", "evidence_id"), ("plan_id", "evidence_id", "relation"), lines
        )

    async def _page_versions(self, lines: Lines) -> Sequence[Outcome]:
        return await self._beside("present_pages", "add_page_versions", ("page_id",), ("page_id", "version"), lines)

    async def _beside(self, present: str, add: str, names: Sequence[str], key: Sequence[str], lines: Lines) -> Sequence[Outcome]:
        """Stores rows that hang on others, which must be there; `key` tells them apart."""
        kind: Kind = "pg" if present == "present_pages" else "evt"
        there = {row["id"] for row in await self._fetch(present, [line.row[name] for line in lines for name in names])}
        missing = [next((line.row[name] for name in names if line.row[name] not in there), None) for line in lines]
        rows = await self._add(add, [line.row for line, lacks in zip(lines, missing, strict=True) if lacks is None])
        fresh = {tuple(row[name] for name in key) for row in rows}
        return [
            Stored(known=tuple(line.row[name] for name in key) not in fresh)
            if lacks is None
            else NotFound(f"There is no {public_id(kind, lacks)} here.")
            for line, lacks in zip(lines, missing, strict=True)
        ]

    async def _aliases(self, lines: Lines) -> Sequence[Outcome]:
        named = [line.row[side] for line in lines for side in ("a", "b")]
        query = load("project", "links")["number_entities"].sql
        found = [row["id"] for row in await self._tx.fetch(query, [each["name"] for each in named], [each["type"] for each in named])]
        pairs = [(min(pair), max(pair)) if None not in pair else None for pair in zip(found[::2], found[1::2], strict=True)]
        rows = [{**line.row, "a_id": pair[0], "b_id": pair[1]} for line, pair in zip(lines, pairs, strict=True) if pair is not None]
        fresh = {(row["a_id"], row["b_id"]) for row in await self._add("add_aliases", rows)}
        return [Stored(known=pair not in fresh) if pair else NotFound("One of the two entities is not here.") for pair in pairs]

    async def _pages(self, lines: Lines) -> Sequence[Outcome]:
        outcomes = [await self._page(line) for line in lines]
        await self._fetch("mark_due", self._tx.project.project_id)
        return outcomes

    async def _page(self, line: Ready) -> Outcome:
        row = line.row
        found = await self._fetch("find_page", row["path"], row["title"], row["body"])
        if found:
            if not found[0]["has_text"]:
                version = {**row, "passages": passages_of(line), "expected": None}
                await self._tx.fetch(load("project", "pages")["save_page"].sql, _json(version))
            same = found[0]["created_at"] == msgspec.convert(row["created_at"], type=datetime)
            return Stored(found[0]["id"], known=True, differs=not (same and found[0]["has_text"]))
        number = max(row["id"], await self._last("pages") + 1)
        await self._raise(pages=number)
        await self._fetch("add_page", _json({**row, "id": number}))
        await self._fetch("link_page", _json(row), number)
        await self._fetch("add_page_passages", _json(passages_of(line)), number)
        return Stored(number)

    async def _finish(self, lines: Lines) -> Sequence[Outcome]:
        await self._last("events")
        await self._fetch("sweep_names")
        for line in lines:
            await self._raise(**{name: number for name, number in line.row["numbers"].items() if name in _COUNTED})
        return [Stored() for _ in lines]


def _stored_as(line: Ready) -> dict[str, Any]:
    return {name: line.row[name] for name in ("id", "created_at")}


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
