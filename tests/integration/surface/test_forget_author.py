"""Forgetting what a person wrote, by the name under which people are known; and a receipt that says what was not there."""

import httpx2

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.memory.event_rows import EventInput
from service.memory.events import save_events
from service.memory.pages import PageInput, write_page


async def write(database: Database, project: ProjectRef, author: str) -> None:
    await save_events(database, project, [EventInput(summary=f"written by {author}")], author)
    await write_page(database, project, PageInput(f"{author}.md", "text"), author)


async def test_a_subject_alone_finds_what_the_person_wrote(
    client: httpx2.AsyncClient, base: str, database: Database, project: ProjectRef
) -> None:
    for author in ("oidc:ada", "oidc:bob", "oidc:adam"):
        await write(database, project, author)
    receipt = (await client.post(f"{base}/forget", json={"author": "ada"})).json()
    assert (receipt["authors"], receipt["counts"]["event"], receipt["counts"]["page"]) == (["oidc:ada"], 1, 1)
    assert (await client.post(f"{base}/forget", json={"author": "oidc:bob"})).json()["authors"] == ["oidc:bob"]
    assert (await client.get(f"{base}/status")).json()["counts"]["events"] == 1


async def test_a_name_that_nobody_has_is_told_who_is_here(
    client: httpx2.AsyncClient, base: str, database: Database, project: ProjectRef
) -> None:
    await write(database, project, "oidc:ada.lovelace")
    refused = await client.post(f"{base}/forget", json={"author": "Lovelace"})
    assert refused.status_code == 404
    assert "oidc:ada.lovelace" in refused.json()["hint"]
    assert (await client.get(f"{base}/status")).json()["counts"]["events"] == 1


async def test_ids_that_are_not_there_are_named(client: httpx2.AsyncClient, base: str, database: Database, project: ProjectRef) -> None:
    await write(database, project, "somebody")
    receipt = (await client.post(f"{base}/forget", json={"ids": ["evt_1", "evt_999"]})).json()
    assert (receipt["counts"]["event"], receipt["missing"]) == (1, ["evt_999"])


async def test_if_match_takes_the_etag_and_the_bare_version(client: httpx2.AsyncClient, base: str) -> None:
    for number, tag in enumerate(('"v1"', '"2"', '"v3"', 'W/"v4"')):
        if number == 0:
            await client.put(f"{base}/pages/a.md", json={"body": "first"})
        written = await client.put(f"{base}/pages/a.md", json={"body": f"text {number}"}, headers={"if-match": tag})
        assert (written.status_code, written.json()["version"]) == (200, number + 2)
    assert (await client.put(f"{base}/pages/a.md", json={"body": "x"}, headers={"if-match": '"2"'})).status_code == 409
