from typing import Any

import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import InvalidRequest, NotFound
from service.memory.timeline import TimelineWish, read_timeline, statement
from tests.conftest import Memory

# Equal times, missing times, and an order of storing that is not the order of time.
TIMES = [
    "2026-01-02",
    "2026-01-01",
    None,
    "2026-01-02",
    "2026-01-02T09:00:00+09:00",
    None,
    "2026-01-03",
    "0001-01-01",
    "9999-12-31T23:59:59Z",
]
NEWEST = [9, 7, 5, 4, 1, 2, 8, 6, 3]
OLDEST = [8, 2, 1, 4, 5, 7, 9, 3, 6]


async def fill(memory: Memory, project: ProjectRef) -> None:
    events: list[dict[str, Any]] = [{"summary": f"event {n}", "timestamp": time} for n, time in enumerate(TIMES)]
    for event in events[::2]:
        event |= {"entities": [("jo", "person"), ("jo", "place")], "tags": ["area/x", ("area/x", "refers")], "session": "run"}
    await memory.save(project, events)


async def walk(database: Database, project: ProjectRef, limit: int = 50, **wish: Any) -> list[int]:
    """All pages of a timeline."""
    found: list[int] = []
    cursor = ""
    while True:
        page = await read_timeline(database, project, TimelineWish(**wish, cursor=cursor, limit=limit))
        found += [event.order_index for event in page.events]
        assert len(page.events) <= limit
        if page.next_cursor is None:
            return found
        cursor = page.next_cursor


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 9, 50])
async def test_pages_of_any_size_hold_every_event_once(database: Database, memory: Memory, project: ProjectRef, limit: int) -> None:
    await fill(memory, project)
    assert await walk(database, project, limit) == NEWEST
    assert await walk(database, project, limit, direction="oldest") == OLDEST


@pytest.mark.parametrize(
    ("source", "name"), [("entity", "jo"), ("tag", "area/x"), ("tag", "x"), ("tag", "tag_1"), ("session", "run"), ("entity", "ent_2")]
)
@pytest.mark.parametrize("limit", [2, 50])
async def test_a_scope_holds_its_events_once(
    database: Database, memory: Memory, project: ProjectRef, source: Any, name: str, limit: int
) -> None:
    await fill(memory, project)
    wish = {"source": source, "name": name}
    assert await walk(database, project, limit, **wish) == [n for n in NEWEST if n % 2]
    assert await walk(database, project, limit, direction="oldest", **wish) == [n for n in OLDEST if n % 2]


async def test_an_event_stored_between_two_pages_moves_nothing(database: Database, memory: Memory, project: ProjectRef) -> None:
    await fill(memory, project)
    first = await read_timeline(database, project, TimelineWish(limit=3))
    await memory.save(project, [{"summary": "later", "timestamp": "2026-01-09"}])
    rest = await read_timeline(database, project, TimelineWish(limit=50, cursor=first.next_cursor or ""))
    assert [event.order_index for event in (*first.events, *rest.events)] == NEWEST


@pytest.mark.parametrize("cursor", ["x", "2026-01-01", "- x", "- -5", "2026-01-01 99999999999999999999", "'; 1", "- 0"])
async def test_a_strange_cursor_is_refused(database: Database, project: ProjectRef, cursor: str) -> None:
    with pytest.raises(InvalidRequest):
        await read_timeline(database, project, TimelineWish(cursor=cursor))


@pytest.mark.parametrize(
    ("source", "name"), [("entity", "nobody"), ("entity", "ent_9"), ("tag", "none"), ("tag", "tag_9"), ("session", "no")]
)
async def test_a_name_of_nothing_is_not_found(database: Database, project: ProjectRef, source: Any, name: str) -> None:
    with pytest.raises(NotFound):
        await read_timeline(database, project, TimelineWish(source=source, name=name))


async def test_the_whole_project_is_read_by_its_index(database: Database, memory: Memory, project: ProjectRef) -> None:
    await memory.save(project, [{"summary": "one", "timestamp": "2026-01-01"}])
    async with database.read(project) as tx:
        await tx.set_local(enable_seqscan="off", enable_sort="off", enable_bitmapscan="off")
        for direction in ("newest", "oldest"):
            sql = "EXPLAIN " + statement("timed", direction, "project")
            plan = "\n".join(row[0] for row in await tx.fetch(sql, "2026-01-01", 5, "-infinity", "infinity", 10))
            assert "event_newest" in plan
            assert "ROW(" in plan.split("event_newest", 1)[1].split("Index Cond:")[1].splitlines()[0]
