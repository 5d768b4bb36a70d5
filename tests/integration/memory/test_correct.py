import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import InvalidRequest, NotFound, TooLong
from service.memory.correct import CorrectedEvent, Correction, correct_event
from service.memory.events import EventContent, delete_event, read_events
from service.memory.names import EntityInput, TagInput
from tests.conftest import Memory


async def correct(database: Database, project: ProjectRef, event: str, **changes: Any) -> CorrectedEvent:
    return await correct_event(database, project, event, Correction(**changes), "corrector")


async def read(database: Database, project: ProjectRef, event: str) -> EventContent:
    (found,), _ = await read_events(database, project, [event])
    return found


async def test_what_is_given_is_replaced_and_the_version_before_is_kept(database: Database, memory: Memory, project: ProjectRef) -> None:
    (event,) = await memory.save(project, [{"summary": "the wrong one", "content": "why", "kind": "bug", "timestamp": "2026-01-01"}])
    saved = await correct(database, project, event, summary="the right one", kind="fix")
    assert (saved.version, saved.outcome) == (2, "updated")
    found = await read(database, project, event)
    assert (found.summary, found.content, found.kind, found.version, found.author) == ("the right one", "why", "fix", 2, "corrector")
    assert found.timestamp == datetime(2026, 1, 1, tzinfo=UTC)
    (kept,) = await memory.rows(project, "SELECT version, kind, summary, content, author FROM m_0.event_version")
    assert tuple(kept) == (1, "bug", "the wrong one", "why", "test")


async def test_the_newest_thousand_versions_are_kept(database: Database, memory: Memory, project: ProjectRef) -> None:
    event, other = await memory.save(project, [{"summary": "entry 1"}, {"summary": "other"}])
    await correct(database, project, other, summary="corrected")
    async with database.write(project) as tx:
        await tx.execute(
            "INSERT INTO m_0.event_version (event_id, version, kind, summary) "
            "SELECT e.id, n, e.kind, e.summary FROM m_0.event AS e, generate_series(1, 999) AS n WHERE e.summary = 'entry 1'"
        )
    saved = [await correct(database, project, event, summary=f"entry {n}") for n in (1001, 1002, 1003)]
    assert [each.version for each in saved] == [1001, 1002, 1003]
    kept = "SELECT event_id, min(version), max(version), count(*) FROM m_0.event_version GROUP BY event_id ORDER BY event_id"
    assert [tuple(row)[1:] for row in await memory.rows(project, kept)] == [(3, 1002, 1000), (1, 1, 1)]
    assert (await read(database, project, event)).version == 1003


async def test_the_same_again_makes_no_version(database: Database, memory: Memory, project: ProjectRef) -> None:
    (event,) = await memory.save(project, [{"summary": "stays", "entities": [("jo", "person")], "tags": ["area/x"]}])
    same = {"summary": "stays", "entities": [EntityInput("jo", "person")], "tags": [TagInput("area/x")]}
    saved = await correct(database, project, event, **same)
    assert (saved.version, saved.outcome) == (1, "unchanged")
    assert await memory.rows(project, "SELECT version FROM m_0.event_version") == []


async def test_only_passages_whose_text_changed_are_renewed(database: Database, memory: Memory, project: ProjectRef) -> None:
    content = "\n\n".join(f"Paragraph {n} says what happened on that day at some length. " * 12 for n in range(6))
    (event,) = await memory.save(project, [{"summary": "long", "content": content}])
    await memory.vectors(project, {event: [1.0] * 384})
    query = "SELECT id, number, text FROM m_0.passage ORDER BY number"
    before = await memory.rows(project, query)
    await correct(database, project, event, timestamp="2026-02-02", kind="fix")
    assert await memory.rows(project, query) == before
    assert len(await memory.rows(project, "SELECT passage_id FROM m_0.vector_0")) == 1
    await correct(database, project, event, content=content.replace("Paragraph 5", "Section 5"))
    after = await memory.rows(project, query)
    assert [row["id"] for row in after[:-1]] == [row["id"] for row in before[:-1]]
    assert after[-1]["id"] > before[-1]["id"]
    assert len(await memory.rows(project, "SELECT passage_id FROM m_0.vector_0")) == 1
    await correct(database, project, event, summary="another head")
    assert await memory.rows(project, "SELECT passage_id FROM m_0.vector_0") == []


async def test_word_statistics_stay_exact(database: Database, memory: Memory, project: ProjectRef) -> None:
    events = await memory.save(project, [{"summary": "zebra crossing"}, {"summary": "zebra stripes"}])
    await correct(database, project, events[0], summary="pedestrian crossing")
    rows = {row["word"]: row["df"] for row in await memory.rows(project, "SELECT word, df FROM m_0.lexeme")}
    counted = await memory.rows(project, "SELECT w.lexeme, count(*) AS n FROM m_0.passage AS p, unnest(p.words) AS w GROUP BY 1")
    assert rows == {row["lexeme"]: row["n"] for row in counted}
    (counter,) = await memory.rows(project, "SELECT documents, words FROM m_0.counter")
    (sums,) = await memory.rows(project, "SELECT count(*), sum(length) FROM m_0.passage")
    assert tuple(counter) == tuple(sums)


async def test_times_of_names_and_tags_follow(database: Database, memory: Memory, project: ProjectRef) -> None:
    (event,) = await memory.save(
        project, [{"summary": "dated", "entities": [("jo", "person")], "tags": ["area/x"], "timestamp": "2026-01-01"}]
    )
    for given, expected in (("2026-03-03T00:00:00+09:00", datetime(2026, 3, 2, 15, tzinfo=UTC)), ("", None)):
        await correct(database, project, event, timestamp=given)
        for table in ("event", "participation", "membership"):
            (row,) = await memory.rows(project, f'SELECT "timestamp" FROM m_0.{table}')
            assert row["timestamp"] == expected, table


async def test_names_and_tags_are_replaced_and_counted(database: Database, memory: Memory, project: ProjectRef) -> None:
    names = [("jo", "person"), ("anna", "person")]
    event, _ = await memory.save(
        project, [{"summary": "met", "entities": names, "tags": ["a", "b"]}, {"summary": "x", "entities": names[:1]}]
    )
    await correct(database, project, event, entities=[EntityInput("anna", "person"), EntityInput("bo")], tags=[TagInput("b", "refers")])
    found = await read(database, project, event)
    assert {(each["name"], each["type"]) for each in found.entities} == {("anna", "person"), ("bo", "name")}
    assert [(each["name"], each["kind"]) for each in found.tags] == [("b", "refers")]
    rows = await memory.rows(project, "SELECT name, event_count FROM m_0.entity ORDER BY name")
    assert [tuple(row) for row in rows] == [("anna", 1), ("bo", 1), ("jo", 1)]
    assert [row["path"] for row in await memory.rows(project, "SELECT path FROM m_0.tag")] == ["b"]
    await correct(database, project, event, entities=[], tags=[])
    assert (await read(database, project, event)).entities == []


async def test_names_told_by_the_text_change_with_it(database: Database, memory: Memory, project: ProjectRef) -> None:
    (event,) = await memory.save(project, [{"summary": "`parse_old` broke", "entities": [("jo", "person")]}])
    await correct(database, project, event, summary="`parse_new` broke")
    assert [each["name"] for each in (await read(database, project, event)).entities] == ["jo", "parse_new"]


async def test_kind_and_time_are_those_of_all_parts(database: Database, memory: Memory, project: ProjectRef) -> None:
    (event,) = await memory.save(project, [{"summary": "long", "content": "Sentence after sentence. " * 5000, "kind": "note"}])
    await correct(database, project, event, kind="decision", timestamp="2026-01-01")
    parts = await memory.rows(project, 'SELECT kind, "timestamp" FROM m_0.event')
    assert len(parts) == 3
    assert {tuple(part) for part in parts} == {("decision", datetime(2026, 1, 1, tzinfo=UTC))}
    second = (await read(database, project, event)).chunks[0]
    await correct(database, project, second, content="y" * 50_000)
    with pytest.raises(TooLong) as refusal:
        await correct(database, project, second, content="y" * 50_001)
    assert refusal.value.hint == "Correct its parts one by one."


async def test_secrets_are_taken_out_and_counted(database: Database, memory: Memory, project: ProjectRef) -> None:
    (event,) = await memory.save(project, [{"summary": "leak"}])
    saved = await correct(database, project, event, content="the key was AKIA" + "QWERTYUIOPASDFGH")
    assert saved.redacted == 1
    assert "QWERTYUIOP" not in ((await read(database, project, event)).content or "")


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, InvalidRequest),
        ({"summary": ""}, InvalidRequest),
        ({"summary": "x" * 501}, TooLong),
        ({"content": "x" * 50_001}, TooLong),
        ({"kind": " "}, TooLong),
        ({"timestamp": "2026-02-30"}, InvalidRequest),
        ({"tags": [TagInput("a", "holds")]}, InvalidRequest),
    ],
)
async def test_what_cannot_be_stored_changes_nothing(
    database: Database, memory: Memory, project: ProjectRef, changes: dict[str, Any], error: type[Exception]
) -> None:
    (event,) = await memory.save(project, [{"summary": "as it was"}])
    with pytest.raises(error):
        await correct(database, project, event, **changes)
    assert (await read(database, project, event)).version == 1


async def test_what_is_not_there_cannot_be_corrected(database: Database, project: ProjectRef) -> None:
    with pytest.raises(NotFound):
        await correct(database, project, "evt_5", summary="x")


async def test_corrections_at_once_are_all_kept(database: Database, memory: Memory, project: ProjectRef) -> None:
    (event,) = await memory.save(project, [{"summary": "first"}])
    saved = await asyncio.gather(*(correct(database, project, event, summary=f"try {n}") for n in range(20)))
    assert sorted(each.version for each in saved) == list(range(2, 22))
    rows = await memory.rows(project, "SELECT version FROM m_0.event_version ORDER BY version")
    assert [row["version"] for row in rows] == list(range(1, 21))


async def test_forgetting_takes_the_versions_along(database: Database, memory: Memory, project: ProjectRef) -> None:
    (event,) = await memory.save(project, [{"summary": "a secret thought", "entities": [("jo", "person")], "tags": ["area/x"]}])
    await correct(database, project, event, summary="a plain thought")
    await delete_event(database, project, event)
    for table in ("event", "event_version", "participation", "membership", "entity", "tag", "passage", "lexeme"):
        assert await memory.rows(project, f"SELECT 1 FROM m_0.{table}") == [], table
