import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import InvalidRequest
from service.memory.events import delete_event
from service.memory.names import TagInput
from service.memory.tags import list_tags
from tests.conftest import Memory


async def fill(memory: Memory, project: ProjectRef) -> list[str]:
    ids = await memory.save(
        project,
        [
            {"summary": "one", "tags": ["area/Auth", "area/db"]},
            {"summary": "two", "tags": ["area/Auth", ("area/Auth", "refers"), "100%_sure"]},
            {"summary": "three", "tags": [("area/db", "refers"), "zeta"]},
        ],
    )
    await memory.page(project, "p.md", "P", "text", tags=[TagInput("area/Auth"), TagInput("pages/only")])
    return ids


async def test_the_most_used_come_first_with_exact_counts(database: Database, memory: Memory, project: ProjectRef) -> None:
    await fill(memory, project)
    found = await list_tags(database, project, "", "", 50)
    shown = [(tag.name, tag.contains, tag.refers, tag.pages) for tag in found.tags]
    assert shown == [("area/Auth", 2, 1, 1), ("area/db", 1, 1, 0), ("100%_sure", 1, 0, 0), ("pages/only", 0, 0, 1), ("zeta", 1, 0, 0)]
    assert (found.total, found.next_cursor) == (5, None)


@pytest.mark.parametrize(
    ("piece", "expected"), [("AUTH", ["area/Auth"]), ("ＡＵＴＨ", ["area/Auth"]), ("%_", ["100%_sure"]), ("_", ["100%_sure"]), ("nil", [])]
)
async def test_a_piece_is_literal_and_folded(
    database: Database, memory: Memory, project: ProjectRef, piece: str, expected: list[str]
) -> None:
    await fill(memory, project)
    found = await list_tags(database, project, piece, "", 50)
    assert ([tag.name for tag in found.tags], found.total) == (expected, len(expected))


async def test_pages_hold_every_tag_once(database: Database, memory: Memory, project: ProjectRef) -> None:
    await fill(memory, project)
    names: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = await list_tags(database, project, "", cursor, 2)
        names += [tag.name for tag in page.tags]
        cursor = page.next_cursor
        assert page.total == 5
    assert names == ["area/Auth", "area/db", "100%_sure", "pages/only", "zeta"]


async def test_a_strange_cursor_is_refused(database: Database, project: ProjectRef) -> None:
    with pytest.raises(InvalidRequest):
        await list_tags(database, project, "", "many area", 2)


async def test_a_tag_of_nothing_is_gone(database: Database, memory: Memory, project: ProjectRef) -> None:
    ids = await fill(memory, project)
    await delete_event(database, project, ids[2])
    found = await list_tags(database, project, "", "", 50)
    assert [(tag.name, tag.contains, tag.refers) for tag in found.tags if tag.name in ("zeta", "area/db")] == [("area/db", 1, 0)]
