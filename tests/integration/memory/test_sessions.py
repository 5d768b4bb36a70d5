import uuid

import pytest

from service.db.scope import ProjectRef
from service.errors import NotFound
from service.memory.pages import read_page
from service.memory.sessions import end_session, list_sessions, read_session, start_session
from tests.conftest import Memory


async def test_the_end_of_a_session_writes_its_page(memory: Memory, project: ProjectRef) -> None:
    await start_session(memory.database, project, "run 1", "wren")
    await memory.save(
        project, [{"summary": f"step {n}", "session": "run 1", "kind": "fix", "timestamp": f"2026-03-0{n + 1}T10:00:00Z"} for n in range(3)]
    )
    ended = await end_session(memory.database, project, "run 1", "me")
    assert uuid.UUID(ended.session_id)
    assert ended.page == f"sessions/{ended.session_id}.md"
    page = await read_page(memory.database, project, ended.page)
    assert "## 2026-03-02" in page.body
    assert "10:00 fix: step 2 (evt_3)" in page.body
    assert (await end_session(memory.database, project, "run 1", "me")).page == ended.page
    assert (await read_page(memory.database, project, ended.page)).version == 1


async def test_an_empty_session_leaves_no_page(memory: Memory, project: ProjectRef) -> None:
    await start_session(memory.database, project, "idle", None)
    assert (await end_session(memory.database, project, "idle", None)).page is None
    assert await memory.rows(project, "SELECT 1 FROM m_0.page") == []


async def test_a_uuid_is_one_session_however_it_is_written(memory: Memory, project: ProjectRef) -> None:
    name = uuid.uuid4()
    await memory.save(project, [{"summary": "a", "session": str(name).upper()}, {"summary": "b", "session": name.hex}])
    (found,), more = await list_sessions(memory.database, project, None, 10)
    assert more is None
    assert (found.session_id, found.events) == (str(name), 2)


async def test_reading_makes_nothing(memory: Memory, project: ProjectRef) -> None:
    with pytest.raises(NotFound):
        await read_session(memory.database, project, "none")
    with pytest.raises(NotFound):
        await end_session(memory.database, project, "none", None)
    assert await memory.rows(project, "SELECT 1 FROM m_0.session") == []


async def test_the_name_of_a_session_may_be_long_and_in_any_script(memory: Memory, project: ProjectRef) -> None:
    name = "회의 " * 66
    await memory.save(project, [{"summary": "a", "session": name}])
    found = await read_session(memory.database, project, name)
    assert found.session == name.strip()


async def test_lists_go_on_where_they_stopped(memory: Memory, project: ProjectRef) -> None:
    await memory.save(project, [{"summary": f"e{n}", "session": f"s{n}", "timestamp": "2026-01-01"} for n in range(7)])
    names: list[str] = []
    cursor: str | None = None
    while True:
        page, cursor = await list_sessions(memory.database, project, cursor, 3)
        names += [each.session for each in page]
        if cursor is None:
            break
    assert names == [f"s{n}" for n in range(6, -1, -1)]
