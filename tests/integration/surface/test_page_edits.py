"""Read, edit, write: what an agent does not touch on a page stays as it was."""

from typing import Any

import httpx2
import pytest

from service.db.scope import ProjectRef
from tests.conftest import Memory

PAGE = {
    "title": "Retries",
    "body": "Wait, then try again, as `BackoffTimer` does.\n\n## Limits\n\nFive times.",
    "tags": ["area/queue", "policy"],
    "aliases": ["Retry Policy", "Backing Off"],
    "entities": [{"name": "queue", "type": "component"}],
}


@pytest.fixture
async def page(client: httpx2.AsyncClient, base: str) -> str:
    """A page as an import writes it, and one that links to it by an alias."""
    assert (await client.put(f"{base}/pages/retries.md", json=PAGE)).status_code == 200
    assert (await client.put(f"{base}/pages/other.md", json={"body": "See [[retry policy]]."})).status_code == 200
    return f"{base}/pages/retries.md"


async def read(client: httpx2.AsyncClient, page: str) -> dict[str, Any]:
    return (await client.get(page)).json()


async def test_what_is_left_out_stays(client: httpx2.AsyncClient, base: str, page: str) -> None:
    before = await read(client, page)
    assert (before["title"], before["tags"], before["aliases"]) == ("Retries", ["area/queue", "policy"], PAGE["aliases"])
    written = await client.put(page, json={"body": before["body"] + "\n\nThen give up.", "expected_version": 1})
    assert (written.json()["version"], written.json()["outcome"]) == (2, "updated")
    after = await read(client, page)
    assert {name for name in before if before[name] != after[name]} <= {"body", "length", "version", "current_version", "updated_at"}
    assert (await client.get(f"{base}/pages/other.md")).json()["links"] == ["retries.md"]


async def test_names_follow_the_text_and_those_given_stay(client: httpx2.AsyncClient, page: str) -> None:
    await client.put(page, json={"body": "Now `PauseTimer` does it."})
    named = {entity["name"] for entity in (await read(client, page))["entities"]}
    assert {"queue", "PauseTimer"} <= named
    assert "BackoffTimer" not in named


async def test_all_that_was_read_may_be_written_back(client: httpx2.AsyncClient, page: str) -> None:
    before = await read(client, page)
    fields = {name: before[name] for name in ("title", "body", "tags", "aliases", "entities")}
    assert (await client.put(page, json=fields)).json()["outcome"] == "unchanged"
    assert await read(client, page) == before


async def test_an_empty_list_clears(client: httpx2.AsyncClient, base: str, page: str) -> None:
    await client.put(page, json={"body": PAGE["body"], "tags": [], "aliases": [], "entities": [], "title": ""})
    after = await read(client, page)
    assert (after["title"], after["tags"], after["aliases"]) == ("Limits", [], [])
    assert {entity["name"] for entity in after["entities"]} == {"BackoffTimer"}
    assert (await client.get(f"{base}/pages/other.md")).json()["links"] == []


async def test_a_title_of_the_text_follows_the_text(client: httpx2.AsyncClient, base: str) -> None:
    for heading in ("One", "Two"):
        await client.put(f"{base}/pages/own.md", json={"body": f"# {heading}\n\ntext"})
        assert (await read(client, f"{base}/pages/own.md"))["title"] == heading


async def test_front_matter_in_a_body_is_text(client: httpx2.AsyncClient, page: str) -> None:
    body = "---\ntitle: Another\ntags: [x]\n---\nText."
    await client.put(page, json={"body": body})
    after = await read(client, page)
    assert (after["title"], after["tags"], after["body"]) == ("Retries", PAGE["tags"], body)


async def test_whose_text_was_replaced_is_said(client: httpx2.AsyncClient, base: str, memory: Memory, project: ProjectRef) -> None:
    await memory.page(project, "shared.md", "Shared", "by another")
    written = (await client.put(f"{base}/pages/shared.md", json={"body": "mine"})).json()
    assert (written["outcome"], written["replaced_author"]) == ("updated", "test")
    again = (await client.put(f"{base}/pages/shared.md", json={"body": "mine again"})).json()
    assert "replaced_author" not in again
    assert (await client.get(f"{base}/pages/shared.md", params={"version": 1})).json()["body"] == "by another"


async def test_an_export_keeps_the_aliases(client: httpx2.AsyncClient, base: str, root: str, page: str) -> None:
    lines = (await client.get(f"{base}/export")).text.splitlines()
    await client.post(f"{root}/projects", json={"slug": "copy"})
    content = "\n".join(lines[1:-1]).encode()
    sent = await client.post(f"{root}/projects/copy/import", content=content, headers={"content-type": "application/x-ndjson"})
    assert not [each for each in sent.json()["results"] if "error" in each], sent.text
    assert (await read(client, f"{root}/projects/copy/pages/retries.md"))["aliases"] == (await read(client, page))["aliases"]


async def test_a_relative_link_is_no_name(client: httpx2.AsyncClient, base: str) -> None:
    await client.put(f"{base}/pages/team/on-call.md", json={"body": "See [cron](../ops/cron.md) and `../ops/run.sh`, or src/cart.py."})
    page = await read(client, f"{base}/pages/team/on-call.md")
    assert [entity["name"] for entity in page["entities"] if entity["name"].startswith(".")] == []
    assert "src/cart.py" in {entity["name"] for entity in page["entities"]}
    await client.put(f"{base}/pages/ops/cron.md", json={"body": "Cron."})
    assert (await read(client, f"{base}/pages/team/on-call.md"))["links"] == ["ops/cron.md"]


async def test_two_events_do_not_follow_each_other(client: httpx2.AsyncClient, base: str) -> None:
    await client.post(f"{base}/events:batch", json={"events": [{"summary": "one"}, {"summary": "two"}]})
    link = {"relation": "NEXT", "from": "evt_1", "to": "evt_2"}
    back = {"relation": "NEXT", "from": "evt_2", "to": "evt_1"}
    assert (await client.post(f"{base}/links", json=link)).json()["outcome"] == "created"
    assert (await client.post(f"{base}/links", json=back)).status_code == 409
    await client.post(f"{base}/links", json={**link, "revoke": True})
    assert (await client.post(f"{base}/links", json=back)).json()["outcome"] == "created"


async def test_an_export_that_is_there_already_is_said_to_be(client: httpx2.AsyncClient, base: str) -> None:
    events = [{"summary": "one", "entities": ["a", "b"]}, {"summary": "two", "previous": "evt_1", "resolves": ["evt_1"]}]
    for event in events:
        await client.post(f"{base}/events", json=event)
    await client.post(f"{base}/links", json={"relation": "SAME_AS", "from": "a", "to": "b"})
    for body in ("one", "two"):
        await client.put(f"{base}/pages/p.md", json={"body": body})
    content = "\n".join((await client.get(f"{base}/export")).text.splitlines()[1:-1]).encode()
    sent = await client.post(f"{base}/import", content=content, headers={"content-type": "application/x-ndjson"})
    kinds = [line for line in content.decode().splitlines() if '"line":"next_link"' in line or '"line":"alias"' in line]
    assert len(kinds) == 2
    assert [each for each in sent.json()["results"] if not each.get("known")] == []
