import asyncio
from pathlib import Path

import pytest

from service.db.embedded import start_embedded
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import DatabaseUnavailable
from service.memory.event_rows import EventInput
from service.memory.events import SavedEvent, delete_event, read_events, save_event, save_events
from service.tenants.migrate import migrate
from tests.conftest import Memory, Projects


async def test_a_saved_event_is_read_back_whole(memory: Memory, project: ProjectRef) -> None:
    (first,) = await memory.save(project, [{"summary": "The parser broke", "entities": [("parser", "component")], "tags": ["area/parser"]}])
    saved = await save_event(
        memory.database,
        project,
        EventInput(summary="It was mended", content="By `applyFix`", previous=first, session="s-1", kind="fix"),
        "me",
    )
    events, missing = await read_events(memory.database, project, [saved.id, "evt_999", first])
    assert [event.id for event in events] == [saved.id, first]
    assert missing == ["evt_999"]
    assert events[0].previous == [first]
    assert (events[0].session, events[0].kind, events[0].author) == ("s-1", "fix", "me")
    assert {"identifier"} == {entity["type"] for entity in events[0].entities}
    assert events[1].tags[0]["name"] == "area/parser"


async def test_order_numbers_are_gap_free_under_50_writers(memory: Memory, project: ProjectRef) -> None:
    async def write(n: int) -> list[str]:
        return await memory.save(project, [{"summary": f"writer {n} line {line}"} for line in range(4)])

    saved = await asyncio.gather(*(write(n) for n in range(50)))
    numbers = sorted(int(each.removeprefix("evt_")) for ids in saved for each in ids)
    assert numbers == list(range(1, 201))


async def test_an_ingest_key_is_stored_once_even_in_parallel(memory: Memory, project: ProjectRef) -> None:
    results = await asyncio.gather(
        *(memory.save(project, [{"summary": f"try {n}", "ingest_key": "k"}, {"summary": "again", "ingest_key": "k"}]) for n in range(10))
    )
    assert {each for ids in results for each in ids} == {"evt_1"}
    (count,) = await memory.rows(project, "SELECT count(*) AS n FROM m_0.event")
    assert count["n"] == 1


async def test_a_bad_event_fails_alone(memory: Memory, project: ProjectRef) -> None:
    events = [
        EventInput(summary="good"),
        EventInput(summary="x" * 501),
        EventInput(summary="lost", previous="evt_77"),
        EventInput(summary="good too"),
    ]
    results = await save_events(memory.database, project, events, None)
    assert [getattr(result, "code", "ok") for result in results] == ["ok", "too_long", "not_found", "ok"]
    assert [result.order_index for result in results if isinstance(result, SavedEvent)] == [1, 2]


async def test_long_content_is_kept_in_several_events(memory: Memory, project: ProjectRef) -> None:
    content = "Sentence after sentence. " * 5000
    saved = await save_event(memory.database, project, EventInput(summary="long", content=content, entities=["Solo"]), None)
    assert len(saved.chunks) == 2
    events, _ = await read_events(memory.database, project, [saved.id, *saved.chunks])
    assert "".join(event.content or "" for event in events) == content
    assert events[0].chunks == saved.chunks
    gone = await delete_event(memory.database, project, saved.id)
    assert gone == [saved.id, *saved.chunks]


async def test_statistics_return_to_zero_when_all_is_deleted(memory: Memory, project: ProjectRef) -> None:
    ids = await memory.save(
        project, [{"summary": f"kumquat number {n}", "entities": [("Kim", "person")], "tags": ["a/b", ("c", "refers")]} for n in range(5)]
    )
    await memory.page(project, "a.md", "A", "About kumquats and [[b]]", tags=["a/b"])
    for each in ids:
        await delete_event(memory.database, project, each)
    (row,) = await memory.rows(project, "SELECT count(*) AS n, (SELECT documents FROM m_0.counter) AS d FROM m_0.passage")
    assert row["n"] == row["d"] == 1
    assert [r["df"] for r in await memory.rows(project, "SELECT df FROM m_0.lexeme WHERE word = 'kumquat'")] == [1]
    assert await memory.rows(project, "SELECT * FROM m_0.entity") == []
    assert [r["path"] for r in await memory.rows(project, "SELECT path FROM m_0.tag")] == ["a/b"]


@pytest.mark.parametrize("text", ["a\x00b", "half \ud83d", "\\u0000 as six characters", "cafe\u0301"])
async def test_odd_text_is_stored(memory: Memory, project: ProjectRef, text: str) -> None:
    (saved,) = await memory.save(project, [{"summary": text, "content": text}])
    events, _ = await read_events(memory.database, project, [saved])
    assert events[0].content == text.replace("\x00", "\ufffd").replace("\ud83d", "\ufffd")


async def test_an_encoded_blob_does_not_hide_the_word_beside_it(memory: Memory, project: ProjectRef) -> None:
    await memory.save(project, [{"summary": "upload", "content": "QUJD" * 12_000 + " kumquat"}])
    assert await memory.rows(project, "SELECT 1 FROM m_0.passage WHERE words @@ 'kumquat'")


def test_projects_share_a_workspace(projects: Projects) -> None:
    one, two = projects.make("shared"), projects.make("shared")
    assert one.role == two.role
    assert one.schema != two.schema


async def test_a_database_that_is_gone_is_said_so(tmp_path: Path) -> None:
    """Its socket is missing, as after a crash: no error of the driver's comes out."""
    own = start_embedded(tmp_path / "own")
    report = migrate(own.owner_url, superuser_allowed=True)
    gone = await Database.open(report.api_url)
    own.stop()
    for _ in range(3):
        with pytest.raises(DatabaseUnavailable):
            await gone.control("find_projects", 1)
    await gone.close()
