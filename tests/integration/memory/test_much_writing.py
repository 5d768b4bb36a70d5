"""Batches with keys that are known or come twice, and texts so long that they are read beside other calls."""

import asyncio
from typing import Any

import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import MunimentError, NotFound, TooLong
from service.memory import event_rows
from service.memory.event_rows import EventInput
from service.memory.events import SavedEvent, save_event, save_events
from service.memory.imports import restore
from service.memory.imports.restore import restore_lines
from service.memory.names import EntityInput
from service.memory.pages import PageInput, write_page
from service.memory.turns import VERY_LONG, take_turn
from tests.conftest import Memory, Projects

TABLES = {
    "event": "SELECT id, summary, content, session, ingest_key FROM m_0.event ORDER BY id",
    "passage": "SELECT id, event_id, number, text, words::text, length FROM m_0.passage ORDER BY id",
    "participation": "SELECT event_id, e.name, e.type FROM m_0.participation JOIN m_0.entity AS e ON e.id = entity_id ORDER BY 1, 2, 3",
    "counter": "SELECT events, entities, tags, passages, documents, words FROM m_0.counter",
    "lexeme": "SELECT word, df FROM m_0.lexeme ORDER BY word",
}


async def stored(memory: Memory, project: ProjectRef) -> dict[str, list[tuple[Any, ...]]]:
    return {table: [tuple(row) for row in await memory.rows(project, sql)] for table, sql in TABLES.items()}


async def save(database: Database, project: ProjectRef, *events: EventInput | MunimentError) -> list[SavedEvent | MunimentError]:
    return await save_events(database, project, events, "test")


async def test_each_event_of_a_batch_is_judged_by_the_first_of_its_key(database: Database, project: ProjectRef) -> None:
    (old,) = await save(database, project, EventInput("An old one", ingest_key="old"))
    results = await save(
        database,
        project,
        EventInput("A first one", content="word " * 12_000, ingest_key="twice"),
        EventInput("Follows nothing", previous="evt_99", ingest_key="lost"),
        EventInput("The old one again", ingest_key=" old "),
        EventInput("The first one again", ingest_key="twice"),
        EventInput("Follows nothing again", ingest_key="lost"),
        EventInput("One without a key"),
        EventInput("x" * 501, ingest_key="old"),
    )
    saved = [result for result in results if isinstance(result, SavedEvent)]
    assert [(each.id, each.known, each.chunks) for each in saved] == [
        ("evt_2", False, ["evt_3"]),
        ("evt_1", True, []),
        ("evt_2", True, []),
        ("evt_4", False, []),
    ]
    assert isinstance(old, SavedEvent)
    assert old.id == "evt_1"
    assert [type(result) for result in results if isinstance(result, MunimentError)] == [NotFound, NotFound, TooLong]


async def test_nothing_is_made_of_what_is_known(memory: Memory, project: ProjectRef, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "gh" + "p_" + "a1B2" * 10
    batch = [
        EventInput(f"Event {n} of Ada Lovelace in src/a{n}.py", f"With {key}" if n == 1 else "text " * n, ingest_key=f"k{n}")
        for n in range(40)
    ]
    first = await save(memory.database, project, *batch)
    before = await stored(memory, project)

    def refuse(*_: object) -> None:
        raise AssertionError("made of an event that is known")

    for name in ("split_event", "with_told", "analyse"):
        monkeypatch.setattr(event_rows, name, refuse)
    again = await save(memory.database, project, *batch)
    assert await stored(memory, project) == before
    assert [each.id for each in again if isinstance(each, SavedEvent)] == [each.id for each in first if isinstance(each, SavedEvent)]
    assert all(isinstance(each, SavedEvent) and each.known for each in again)
    assert [each.redacted for each in again if isinstance(each, SavedEvent)][:3] == [0, 1, 0]


async def test_much_text_is_stored_alike_in_pieces(memory: Memory, projects: Projects, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n\n".join(f"Paragraph {n} tells of Grace Hopper and part{n}.py, and of much else beside." for n in range(2_000))
    batch = [EventInput("A long one", text, entities=[EntityInput("Ada")]), EventInput("A short one"), EventInput("Another", text[:70_000])]
    one, other = projects.make(), projects.make()
    await save(memory.database, one, *batch)
    monkeypatch.setattr(event_rows, "MOST_PASSAGES", 25)
    await save(memory.database, other, *batch)
    whole = await stored(memory, one)
    assert len(whole["passage"]) > 100
    assert await stored(memory, other) == whole


async def test_others_are_answered_while_a_long_text_is_read(database: Database, project: ProjectRef) -> None:
    text = "Something happened, and Ada Lovelace wrote it down in src/notes.md. " * 60_000
    long = asyncio.create_task(save_event(database, project, EventInput("A long one", text), "test"))
    page = asyncio.create_task(write_page(database, project, PageInput("long.md", text), "test"))
    await asyncio.sleep(0)
    for n in range(5):
        await save_event(database, project, EventInput(f"A short one, {n}"), "test")
    assert not long.done()
    assert not page.done()
    assert len((await long).chunks) == len(text) // 50_000
    assert (await page).outcome == "created"


async def test_very_long_texts_take_turns() -> None:
    entered: list[str] = []

    async def enter(name: str, size: int, release: asyncio.Event) -> None:
        async with take_turn(size):
            entered.append(name)
            await release.wait()

    released = asyncio.Event()
    at_once = asyncio.Event()
    at_once.set()
    first = asyncio.create_task(enter("first", VERY_LONG, released))
    await asyncio.sleep(0)
    second = asyncio.create_task(enter("second", VERY_LONG, at_once))
    await enter("short", VERY_LONG - 1, at_once)
    assert entered == ["first", "short"]
    released.set()
    await asyncio.gather(first, second)
    assert entered == ["first", "short", "second"]


async def test_an_import_makes_nothing_of_what_is_stored(memory: Memory, project: ProjectRef, monkeypatch: pytest.MonkeyPatch) -> None:
    event = {
        "line": "event",
        "id": 7,
        "session": None,
        "kind": "note",
        "summary": "An event",
        "content": "of some words",
        "timestamp": None,
    }
    event |= {"author": None, "ingest_key": None, "created_at": "2026-01-31T12:00:00Z", "entities": [], "tags": []}
    page = {"line": "page", "id": 3, "path": "a.md", "names": ["a.md", "a"], "title": "A", "body": "A page", "version": 1, "author": None}
    page |= {"created_at": "2026-01-31T12:00:00Z", "updated_at": "2026-01-31T12:00:00Z", "links": [], "entities": [], "tags": []}
    first = await restore_lines(memory.database, project, [event, page])
    assert [(each.id, each.known, each.error) for each in first] == [(7, False, None), (3, False, None)]
    before = await stored(memory, project)
    made: list[object] = []
    monkeypatch.setattr(restore, "passages_of", made.append)
    again = await restore_lines(memory.database, project, [event, page])
    assert [(each.id, each.known, each.differs) for each in again] == [(7, True, False), (3, True, False)]
    assert made == []
    assert await stored(memory, project) == before
    monkeypatch.undo()
    (changed,) = await restore_lines(memory.database, project, [{**page, "body": "Another text"}])
    assert (changed.known, changed.differs) == (True, True)
    found = await memory.rows(project, "SELECT text FROM m_0.passage WHERE page_id = 3")
    assert [row["text"] for row in found] == ["A\n\nAnother text"]
