"""What is redacted is in no table at all, and the answers say how much there was."""

import pytest

from service.db.scope import ProjectRef
from service.errors import InvalidRequest
from service.memory.event_rows import EventInput
from service.memory.events import SavedEvent, read_events, save_event, save_events
from service.memory.names import EntityInput, TagInput
from service.memory.pages import PageInput, read_page, write_page
from service.memory.redact import OFF
from tests.conftest import Memory
from tests.unit.memory.secret_builder import PREFIXED, chars

TOKEN = PREFIXED["github_token"][0]
PASSWORD = chars(16)


async def _dump(memory: Memory, project: ProjectRef) -> str:
    """Every row of every table of the project as text, text-search columns included."""
    tables = await memory.rows(project, "SELECT tablename FROM pg_tables WHERE schemaname = $1", project.schema)
    rows = [await memory.rows(project, f'SELECT t::text AS row FROM m_0."{table["tablename"]}" AS t') for table in tables]
    return "\n".join(row["row"] for found in rows for row in found)


async def test_no_table_holds_a_secret(memory: Memory, project: ProjectRef) -> None:
    event = EventInput(
        summary=f"Found {TOKEN} in the log",
        content=f"password={PASSWORD}\n" + "text after it. " * 4000 + f"키는 {TOKEN}를",
        entities=[EntityInput(TOKEN, "key"), f"x {TOKEN}", EntityInput("kept", TOKEN)],
        tags=[f"area/{TOKEN}", TagInput(TOKEN, "refers")],
    )
    saved = await save_event(memory.database, project, event, "me")
    body = f"# About {TOKEN}\n\nSee [[{TOKEN}]] and `password={PASSWORD}`."
    page = PageInput("keys.md", body, entities=[TOKEN], tags=[TOKEN], aliases=[TOKEN])
    written = await write_page(memory.database, project, page, "me")
    titled = await write_page(memory.database, project, PageInput("titled.md", "text", title=f"The {TOKEN}"), "me")
    assert (saved.redacted, written.redacted, titled.redacted) == (8, 6, 1)
    dump = await _dump(memory, project)
    assert "[redacted:github_token]" in dump
    assert "text after it" in dump
    for secret in (TOKEN, TOKEN.partition("_")[2], PASSWORD):
        assert secret.lower() not in dump.lower()
    assert (await read_page(memory.database, project, "keys.md")).title == "About [redacted:github_token]"


async def test_the_same_text_is_the_same_page_after_redaction(memory: Memory, project: ProjectRef) -> None:
    page = PageInput("same.md", f"token {TOKEN}")
    first, again = [await write_page(memory.database, project, page, None) for _ in range(2)]
    assert (first.outcome, again.outcome, again.version) == ("created", "unchanged", 1)


async def test_a_name_with_a_secret_is_refused_and_fails_alone(memory: Memory, project: ProjectRef) -> None:
    given = [EventInput("good"), EventInput("bad", session=TOKEN), EventInput("bad", ingest_key=TOKEN), EventInput("bad", kind=TOKEN[:49])]
    results = await save_events(memory.database, project, given, None)
    assert [getattr(result, "code", "ok") for result in results] == ["ok", "invalid_request", "invalid_request", "invalid_request"]
    assert all(TOKEN not in str(result) for result in results)
    with pytest.raises(InvalidRequest, match="path"):
        await write_page(memory.database, project, PageInput(f"keys/{TOKEN}.md", "text"), None)


async def test_a_summary_stays_within_its_length(memory: Memory, project: ProjectRef) -> None:
    summary = "word " * 95 + " password=" + (short := "a1B2" + "c3D4")
    assert len(summary) <= 500
    saved = await save_event(memory.database, project, EventInput(summary), None)
    ((event,), _) = await read_events(memory.database, project, [saved.id])
    assert len(event.summary) <= 500
    assert short not in event.summary


async def test_everything_is_stored_when_it_is_off(memory: Memory, project: ProjectRef) -> None:
    saved = await save_event(memory.database, project, EventInput(f"Found {TOKEN}"), None, OFF)
    assert saved == SavedEvent(saved.id, saved.order_index)
    ((event,), _) = await read_events(memory.database, project, [saved.id])
    assert TOKEN in event.summary
