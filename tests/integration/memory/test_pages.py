import asyncio

import pytest

from service.db.scope import ProjectRef
from service.errors import InvalidRequest, NotFound, VersionConflict
from service.memory.pages import PageInput, delete_page, list_pages, read_page, write_page
from tests.conftest import Memory


async def test_every_change_is_a_version_and_the_same_text_is_none(memory: Memory, project: ProjectRef) -> None:
    versions = [(await memory.page(project, "a/b.md", "B", body)).version for body in ("one", "two", "two", "three")]
    assert versions == [1, 2, 2, 3]
    assert (await read_page(memory.database, project, "a/b.md")).body == "three"
    assert (await read_page(memory.database, project, "a/b.md", 1)).body == "one"
    with pytest.raises(NotFound) as caught:
        await read_page(memory.database, project, "a/b.md", 9)
    assert caught.value.message == "There is no version 9 of the page 'a/b.md'."
    assert caught.value.hint == "Its newest version is 3, and earlier ones are kept from 1 on."


async def test_without_the_page_or_an_earlier_version_the_error_says_so(memory: Memory, project: ProjectRef) -> None:
    await memory.page(project, "new.md", "New", "one")
    for path, error, hint in (
        ("new.md", "There is no version 2 of the page 'new.md'.", "Its newest version is 1, and no earlier one is kept."),
        ("none.md", "There is no page 'none.md'.", "list_pages shows the paths, by their beginning (`prefix`)."),
    ):
        with pytest.raises(NotFound) as caught:
            await read_page(memory.database, project, path, 2)
        assert (caught.value.message, caught.value.hint) == (error, hint)


async def test_the_newest_thousand_versions_are_kept(memory: Memory, project: ProjectRef) -> None:
    await memory.page(project, "ledger.md", "Ledger", "entry 1")
    await memory.page(project, "other.md", "Other", "one")
    await memory.page(project, "other.md", "Other", "two")
    await memory.age_page(project, "ledger.md", 1000)
    saved = [await memory.page(project, "ledger.md", "Ledger", f"entry {n}") for n in (1001, 1002, 1003)]
    assert [each.version for each in saved] == [1001, 1002, 1003]
    kept = "SELECT min(v.version), max(v.version), count(*) FROM m_0.page_version AS v JOIN m_0.page AS p ON p.id = v.page_id WHERE p.path = $1"
    assert [tuple(row) for row in await memory.rows(project, kept, "ledger.md")] == [(3, 1002, 1000)]
    assert [tuple(row) for row in await memory.rows(project, kept, "other.md")] == [(1, 1, 1)]
    assert (await read_page(memory.database, project, "ledger.md", 3)).version == 3
    with pytest.raises(NotFound) as caught:
        await read_page(memory.database, project, "ledger.md", 2)
    assert caught.value.hint == "Its newest version is 1003, and earlier ones are kept from 3 on."


async def test_twenty_writers_who_expect_no_page_make_one(memory: Memory, project: ProjectRef) -> None:
    async def create(n: int) -> str:
        try:
            await memory.page(project, "x.md", "X", f"by {n}", expected_version=0)
        except VersionConflict as conflict:
            return f"conflict with {conflict.members['current_version']}"
        return f"by {n}"

    outcomes = await asyncio.gather(*(create(n) for n in range(20)))
    (winner,) = [each for each in outcomes if each != "conflict with 1"]
    assert (await read_page(memory.database, project, "x.md")).body == winner


async def test_links_find_pages_by_path_name_title_and_alias(memory: Memory, project: ProjectRef) -> None:
    await memory.page(project, "notes/all.md", "All", "[[save-format]] [one](../arch/one.md) [[The Title]] [[second name]] [[nowhere]]")
    await memory.page(project, "arch/save-format.md", "Format", "text")
    await memory.page(project, "arch/one.md", "One", "see [all](../notes/all.md)")
    await memory.page(project, "t.md", "The title", "text")
    await memory.page(project, "u.md", "U", "text", aliases=["Second Name"])
    page = await read_page(memory.database, project, "notes/all.md")
    assert page.links == ["arch/one.md", "arch/save-format.md", "t.md", "u.md"]
    assert page.backlinks == ["arch/one.md"]


async def test_composed_and_decomposed_paths_are_one_page(memory: Memory, project: ProjectRef) -> None:
    await memory.page(project, "caf\u00e9.md", "C", "one")
    saved = await memory.page(project, "cafe\u0301.md", "C", "two")
    assert saved.version == 2
    assert [entry.path for entry in await list_pages(memory.database, project, "", "", 10)] == ["caf\u00e9.md"]


async def test_an_unchanged_piece_keeps_its_row(memory: Memory, project: ProjectRef) -> None:
    long = "\n\n".join(f"## Part {n}\n\n" + f"word{n} " * 150 for n in range(6))
    await memory.page(project, "l.md", "L", long)
    before = {row["id"]: row["text"] for row in await memory.rows(project, "SELECT id, text FROM m_0.passage")}
    await memory.page(project, "l.md", "L", long.replace("word5", "changed5"))
    after = {row["id"]: row["text"] for row in await memory.rows(project, "SELECT id, text FROM m_0.passage")}
    assert len(set(before) & set(after)) == len(before) - 1
    assert any("changed5" in text for text in after.values())


async def test_a_page_is_deleted_whole(memory: Memory, project: ProjectRef) -> None:
    await memory.page(project, "gone.md", "G", "one [[x]] `ident`", tags=["t"])
    await memory.page(project, "gone.md", "G", "two")
    with pytest.raises(VersionConflict):
        await delete_page(memory.database, project, "gone.md", 1)
    await delete_page(memory.database, project, "gone.md", 2)
    for table in ("page", "page_version", "page_link", "passage", "lexeme", "entity", "tag"):
        assert await memory.rows(project, f"SELECT 1 FROM m_0.{table}") == []
    with pytest.raises(NotFound):
        await delete_page(memory.database, project, "gone.md", None)


@pytest.mark.parametrize("path", ["", "/", "../x", "a/../b", "a\x07/b", "x" * 501])
async def test_a_path_that_is_none_is_refused(memory: Memory, project: ProjectRef, path: str) -> None:
    with pytest.raises(InvalidRequest):
        await write_page(memory.database, project, PageInput(path=path, body="x"), None)


async def test_five_megabytes_are_stored_and_found(memory: Memory, project: ProjectRef) -> None:
    body = "\n\n".join(f"Paragraph {n} about the harbour and its tides, boats and nets." for n in range(80_000)) + "\n\nkumquat at the end"
    assert len(body) > 5_000_000
    await memory.page(project, "big.md", "Big", body)
    assert await memory.rows(project, "SELECT 1 FROM m_0.passage WHERE words @@ 'kumquat'")
    await memory.page(project, "word.md", "Word", "x" * 2_000_000)
    assert (await read_page(memory.database, project, "word.md")).body == "x" * 2_000_000


async def test_a_page_is_read_as_a_link_names_it(memory: Memory, project: ProjectRef) -> None:
    await memory.page(project, "runbooks/paybridge.md", "Pay bridge", "one")
    await memory.page(project, "runbooks/paybridge.md", "Pay bridge", "two")
    await memory.page(project, "runbooks/queue.md", "The queue", "one")
    await memory.page(project, "notes/queue.md", "Jobs", "one")
    for name, path in (
        ("runbooks/paybridge", "runbooks/paybridge.md"),
        ("PayBridge", "runbooks/paybridge.md"),
        ("pay bridge", "runbooks/paybridge.md"),
        ("notes/queue", "notes/queue.md"),
        ("the queue", "runbooks/queue.md"),
    ):
        assert (await read_page(memory.database, project, name)).path == path
    assert (await read_page(memory.database, project, "runbooks/paybridge", 1)).body == "one"
    for name, hint in (
        ("queue", "Did you mean 'notes/queue.md' or 'runbooks/queue.md'? list_pages"),
        ("runbooks/paybrigde.md", "Did you mean 'runbooks/paybridge.md'? list_pages"),
        ("elsewhere/nothing", "list_pages"),
    ):
        with pytest.raises(NotFound) as caught:
            await read_page(memory.database, project, name)
        assert (caught.value.message, (caught.value.hint or "").startswith(hint)) == (f"There is no page {name!r}.", True), (
            caught.value.hint
        )
    with pytest.raises(NotFound, match=r"no version 9 of the page 'runbooks/paybridge\.md'"):
        await read_page(memory.database, project, "runbooks/paybridge", 9)
