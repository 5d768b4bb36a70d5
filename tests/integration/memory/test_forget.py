"""What is forgotten is nowhere: not in a table of the project or of `control`, not in the planner's statistics, not in an export."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.errors import InvalidRequest, NotFound
from service.memory.correct import Correction, correct_event
from service.memory.event_rows import EventInput
from service.memory.events import read_events, save_event
from service.memory.forget import Forgetting
from service.memory.links import AliasInput, save_aliases
from service.memory.names import EntityInput, TagInput
from service.memory.pages import PageInput, read_page, write_page
from service.memory.sessions import end_session, start_session
from service.tenants.owner import Owner, owner_connection
from tests.conftest import Memory

WORD = "xq" + secrets.token_hex(8)
"""Stands in everything that can hold a text; as one word, so that word statistics would show it."""


def leftovers(server: EmbeddedServer, project: ProjectRef, word: str = WORD) -> list[str]:
    """Where the word still is, in the project, in `control` and in the planner's statistics."""
    with owner_connection(server.owner_url) as owner:
        for table in _tables(owner, project.schema):
            owner.execute(f"ANALYZE {project.schema}.{table}")
        found: list[str] = []
        for schema in (project.schema, "control"):
            for table in _tables(owner, schema):
                rows = owner.execute(
                    f"SELECT t::text AS shown FROM {schema}.{table} AS t WHERE t::text ILIKE $1", (f"%{word}%",)
                ).fetchall()
                found += [f"{table}: {row['shown'][:200]}" for row in rows]
        rows = owner.execute(
            "SELECT tablename, attname FROM pg_stats AS s WHERE schemaname IN ($1, 'control') AND s::text ILIKE $2",
            (project.schema, f"%{word}%"),
        ).fetchall()
        return found + [f"statistics of {row['tablename']}.{row['attname']}" for row in rows]


def _tables(owner: Owner, schema: str) -> list[str]:
    rows = owner.execute(
        "SELECT c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'",
        (schema,),
    ).fetchall()
    return [row["relname"] for row in rows]


async def plant(database: Database, project: ProjectRef) -> dict[str, str]:
    """Writes the word wherever a text goes, beside a neighbour without it; gives the ids."""
    await start_session(database, project, f"run {WORD}", f"agent {WORD}")
    kept = await save_event(database, project, EventInput(summary="A neighbour", session="other", entities=["Neighbour"]), "somebody")
    planted = await save_event(
        database,
        project,
        EventInput(
            summary=f"Summary {WORD}",
            content=f"Content {WORD}. " * 3000,
            session=f"run {WORD}",
            ingest_key=f"key {WORD}",
            entities=[EntityInput(f"Entity {WORD}", "thing"), EntityInput("Neighbour", "name")],
            tags=[TagInput(f"tag/{WORD}")],
            previous=kept.id,
        ),
        f"author {WORD}",
    )
    await save_event(database, project, EventInput(summary="In its session", session=f"run {WORD}", resolves=[kept.id]), "somebody")
    pair = AliasInput(EntityInput(f"Entity {WORD}", "thing"), EntityInput("Neighbour", "name"))
    await save_aliases(database, project, [pair], "somebody")
    await end_session(database, project, f"run {WORD}", "somebody")
    for number in range(2):
        page = PageInput(
            path=f"notes/{WORD}.md",
            title=f"Title {WORD} {number}",
            body=f"Body {WORD} {number} [[{WORD}]]",
            entities=[f"Paged {WORD}"],
            tags=[TagInput(f"paged/{WORD}")],
            aliases=[f"alias {WORD}"],
        )
        await write_page(database, project, page, f"author {WORD}")
    await write_page(database, project, PageInput(path="kept.md", title="Kept", body="Stays."), "somebody")
    (row,) = await _rows(database, project, "SELECT id FROM m_0.entity WHERE name = $1", f"Entity {WORD}")
    return {"event": planted.id, "kept": kept.id, "entity": f"ent_{row['id']}"}


async def _rows(database: Database, project: ProjectRef, sql: str, *args: Any) -> list[Any]:
    async with database.read(project) as tx:
        return await tx.fetch(sql, *args)


async def test_forgetting_piece_by_piece_leaves_nothing(server: EmbeddedServer, database: Database, project: ProjectRef) -> None:
    ids = await plant(database, project)
    planted = {line.partition(":")[0] for line in leftovers(server, project)}
    assert planted >= {"event", "session", "entity", "tag", "page", "page_version", "passage", "lexeme"}
    receipt = await Forgetting(database, project).page(f"notes/{WORD}.md")
    assert receipt.counts.items() >= {"page": 1, "page_version": 1, "entity": 1, "tag": 1}.items()
    receipt = await Forgetting(database, project).entity(ids["entity"])
    assert receipt.counts == {"entity": 1, "participation": 1, "alias": 1}
    events, _ = await read_events(database, project, [ids["event"]])
    assert [entity["name"] for entity in events[0].entities] == ["Neighbour"]
    receipt = await Forgetting(database, project).events([ids["event"]])
    assert receipt.counts.items() >= {"event": 2, "tag": 1, "next_link": 2}.items()  # its content was too long for one
    left = {line.partition(":")[0] for line in leftovers(server, project)}
    assert left <= {"event", "session", "page", "passage", "lexeme"}  # its session's name
    receipt = await Forgetting(database, project).session(f"run {WORD}")
    assert receipt.counts.items() >= {"event": 1, "session": 1, "page": 1}.items()
    assert leftovers(server, project) == []
    assert (await read_events(database, project, [ids["kept"]]))[1] == []
    assert (await read_page(database, project, "kept.md")).title == "Kept"


async def test_an_event_leaves_its_session_page_too(server: EmbeddedServer, database: Database, project: ProjectRef) -> None:
    ids = [
        (await save_event(database, project, EventInput(summary=text, session="plain"), "me")).id
        for text in (f"Said {WORD}", "Said nothing")
    ]
    await end_session(database, project, "plain", "me")
    ended = await end_session(database, project, "plain", "me")
    assert ended.page is not None
    await Forgetting(database, project).events(ids[:1])
    assert leftovers(server, project) == []
    page = await read_page(database, project, ended.page)
    assert "Said nothing" in page.body
    assert page.author == "me"
    await Forgetting(database, project).events(ids[1:])
    for table in ("session", "page", "page_version", "passage", "lexeme"):
        assert await _rows(database, project, f"SELECT * FROM m_0.{table}") == [], table


async def test_all_that_one_author_wrote(server: EmbeddedServer, database: Database, project: ProjectRef) -> None:
    await plant(database, project)
    mine = f"author {WORD}"
    await save_event(database, project, EventInput(summary="Also by them"), mine)
    for number, author in enumerate(("somebody", mine, None, mine)):
        await write_page(database, project, PageInput(path="shared.md", body=f"# Shared\n\nText {number} of {author}"), author)
    (event,) = [await save_event(database, project, EventInput(summary="Evidence"), "somebody")]
    async with database.write(project) as tx:
        await tx.execute(load("project", "links")["add_resolution"].sql, 1, event.order_index, mine)
        await tx.execute("UPDATE m_0.alias SET asserted_by = $1", mine)
    await correct_event(database, project, event.id, Correction(summary=f"Evidence as {WORD} has it"), mine)
    theirs = await save_event(database, project, EventInput(summary=f"First {WORD}"), mine)
    await correct_event(database, project, theirs.id, Correction(summary="Then this"), "somebody")
    receipt = await Forgetting(database, project).author(mine)
    assert receipt.complete
    assert receipt.counts.items() >= {"event": 3, "page": 1, "resolution": 1, "event_version": 2}.items()
    events, _ = await read_events(database, project, [event.id, theirs.id])
    assert [(each.summary, each.author) for each in events] == [("Evidence", "somebody"), ("Then this", "somebody")]
    shared = await read_page(database, project, "shared.md")
    assert shared.body.endswith("Text 2 of None")
    assert (shared.author, shared.version) == (None, 5)
    versions = await _rows(database, project, "SELECT author FROM m_0.page_version ORDER BY version")
    assert {row["author"] for row in versions} <= {"somebody", None}
    assert [line for line in leftovers(server, project) if mine in line or "Said" in line] == []
    await Forgetting(database, project).session(f"run {WORD}")
    assert leftovers(server, project) == []
    with pytest.raises(NotFound):
        await Forgetting(database, project).author(mine)


async def test_a_session_page_keeps_nothing_of_an_author(server: EmbeddedServer, database: Database, project: ProjectRef) -> None:
    mine = f"author {WORD}"
    ids = [(await save_event(database, project, EventInput(summary=f"Step {n}", session="run"), "somebody")).id for n in range(3)]
    first = await save_event(database, project, EventInput(summary=f"As {WORD} had it", session="run"), mine)
    await correct_event(database, project, ids[0], Correction(summary=f"Step as {WORD} has it"), mine)
    for author in ("somebody", mine):
        ended = await end_session(database, project, "run", author)
        await correct_event(database, project, first.id, Correction(summary="As it is"), "somebody")
    await end_session(database, project, "run", mine)
    await Forgetting(database, project).author(mine)
    assert leftovers(server, project) == []
    assert ended.page is not None
    page = await read_page(database, project, ended.page)
    assert all(f"Step {n}" in page.body for n in range(3))
    assert page.author is None


async def test_what_there_is_not_is_not_forgotten(database: Database, project: ProjectRef) -> None:
    calls: list[Callable[[Forgetting], Awaitable[Any]]] = [
        lambda run: run.events(["evt_7"]),
        lambda run: run.page("none.md"),
        lambda run: run.session("none"),
        lambda run: run.entity("ent_7"),
        lambda run: run.author("none"),
    ]
    for call in calls:
        with pytest.raises(NotFound) as caught:
            await call(Forgetting(database, project))
        assert caught.value.hint
    with pytest.raises(InvalidRequest) as refused:
        await Forgetting(database, project).entity("PayBridge")
    assert "find_memories_by_entity" in (refused.value.hint or "")


async def test_a_large_deletion_goes_in_batches_and_on_where_it_stopped(database: Database, memory: Memory, project: ProjectRef) -> None:
    for part in range(3):
        await memory.save(project, [{"summary": f"line {part} {n}", "session": "long", "tags": ["t"]} for n in range(400)])
    first = await Forgetting(database, project, longest_s=0).session("long")
    assert (first.complete, first.counts["event"]) == (False, 500)
    second = await Forgetting(database, project).session("long")
    assert second.complete
    assert second.counts.items() >= {"event": 700, "session": 1, "tag": 1}.items()
    (row,) = await _rows(database, project, "SELECT documents, words FROM m_0.counter")
    assert tuple(row) == (0, 0)


async def test_the_same_text_may_come_again(memory: Memory, database: Database, project: ProjectRef) -> None:
    event = {"summary": "Once more", "ingest_key": "k", "entities": ["Again"]}
    (first,) = await memory.save(project, [event])
    await Forgetting(database, project).events([first])
    (second,) = await memory.save(project, [event])
    assert first != second
    assert (await read_events(database, project, [second]))[0][0].entities[0]["name"] == "Again"


async def test_writers_and_deleters_never_wait_in_a_circle(memory: Memory, database: Database, project: ProjectRef) -> None:
    ids = await memory.save(
        project, [{"summary": f"old {n}", "session": f"s{n % 5}", "entities": ["Shared"], "tags": ["t"]} for n in range(40)]
    )
    for n in range(5):
        await end_session(database, project, f"s{n}", "me")

    async def write(n: int) -> None:
        await memory.save(
            project, [{"summary": f"new {n} {k}", "session": f"s{(n + k) % 5}", "entities": ["Shared", f"E{n}"]} for k in range(5)]
        )
        await end_session(database, project, f"s{n % 5}", "me")
        await memory.page(project, f"p{n % 3}.md", "P", f"text {n}", entities=["Shared"])

    async def delete(n: int) -> None:
        await Forgetting(database, project).events(ids[2 * n : 2 * n + 2])

    await asyncio.gather(*(write(n) for n in range(20)), *(delete(n) for n in range(20)))
    (row,) = await _rows(database, project, "SELECT count(*) AS n, min(id) AS first FROM m_0.event")
    assert tuple(row) == (100, 41)
    (row,) = await _rows(
        database,
        project,
        "SELECT (SELECT count(*) FROM m_0.passage) = documents AS documents, (SELECT sum(length) FROM m_0.passage) = words AS words FROM m_0.counter",
    )
    assert tuple(row) == (True, True)
    wrong = "SELECT name FROM m_0.entity AS e WHERE event_count <> (SELECT count(*) FROM m_0.participation WHERE entity_id = e.id)"
    assert await _rows(database, project, wrong) == []
    miscounted = (
        "SELECT word FROM m_0.lexeme AS l FULL JOIN (SELECT u.lexeme AS word, count(*) AS df FROM m_0.passage AS p, unnest(p.words) AS u "
        "GROUP BY u.lexeme) AS c USING (word) WHERE l.df IS DISTINCT FROM c.df"
    )
    assert await _rows(database, project, miscounted) == []
    assert await _rows(database, project, "SELECT 1 FROM m_0.lexeme WHERE word = 'text'")
