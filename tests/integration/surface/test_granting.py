"""Letting keys of other workspaces read, over REST: who may give it, to whom, and what nobody learns by it."""

import asyncio
import re
from datetime import datetime

import httpx2

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.memory.cursors import seal, unseal
from service.settings import Settings
from service.tenants.owner import owner_connection
from tests.integration.surface.asking import Make, code_of, in_days
from tests.integration.surface.conftest import MakeKey, Reader, Running, run_app
from tests.integration.surface.test_perform import audit_of

UNKNOWN = "zzzzzzzzzzzz"


async def test_giving_twice_is_the_same_as_once(client: httpx2.AsyncClient, root: str, reader: Reader, project: ProjectRef) -> None:
    address = f"{root}/grants/{reader.id}"
    for what in ({"projects": [project.project, project.project]}, {}):
        replies = await asyncio.gather(*(client.put(address, json=what) for _ in range(5)))
        outcomes = sorted(reply.json()["outcome"] for reply in replies)
        assert outcomes == ["created" if what else "unchanged", *["unchanged"] * 4] or outcomes == ["unchanged"] * 4 + ["updated"]
        assert len((await client.get(f"{root}/grants")).json()["grants"]) == 1
    ends = in_days(1)
    assert (await client.put(address, json={"expires_at": ends})).json()["outcome"] == "updated"
    (entry,) = (await client.get(f"{root}/grants")).json()["grants"]
    assert datetime.fromisoformat(entry["expires_at"]) == datetime.fromisoformat(ends)
    assert await code_of(client.put(address, json={"expires_at": "2020-01-01"})) == (422, "invalid_request")
    for wrong in ({"projects": []}, {"projects": ["no-such", project.project]}):
        assert (await client.put(address, json=wrong)).status_code in (404, 422)


def _without(text: str, key_id: str) -> str:
    """An answer with neither the key nor the time in it."""
    return re.sub(r'"granted_at":"[^"]*"', "", text.replace(key_id, "KEY"))


async def test_a_key_that_is_not_there_is_given_to_like_any_other(
    client: httpx2.AsyncClient, root: str, reader: Reader, make_api_key: MakeKey, server: EmbeddedServer
) -> None:
    ended = make_api_key(reader.home, "read").split("_")[1]
    with owner_connection(server.owner_url) as owner:
        owner.execute("UPDATE control.api_key SET revoked_at = now() WHERE id = $1", (ended,))
    told: dict[str, list[tuple[int, str]]] = {}
    for key_id in (UNKNOWN, reader.id, ended):
        address = f"{root}/grants/{key_id}"
        replies = [await client.put(address, json={}), await client.put(address, json={"expires_at": "2999-12-31"})]
        replies += [await client.get(f"{root}/grants"), await client.delete(address), await client.delete(address)]
        told[key_id] = [(reply.status_code, _without(reply.text, key_id)) for reply in replies]
    assert [status for status, _ in told[UNKNOWN]] == [201, 200, 200, 200, 404]
    assert told[UNKNOWN] == told[reader.id] == told[ended]
    for wrong in ("short", "mun_aaaaaaaaaaaa_secret", "AAAAAAAAAAAA", UNKNOWN + "z"):
        refusal = await client.put(f"{root}/grants/{wrong}", json={})
        assert (refusal.status_code, "secret" in refusal.text) == (422, False)


async def test_the_own_keys_need_no_grant(running: Running, client: httpx2.AsyncClient, root: str, base: str, make: Make) -> None:
    await client.post(f"{root}/projects", json={"slug": "sibling"})
    bound = await make(scopes=["read", "admin"], projects=["sibling"])
    hidden = await make(scopes=["read"], projects=[base.rpartition("/")[2]])
    assert await code_of(client.put(f"{root}/grants/{hidden['id']}", json={})) == (422, "invalid_request")
    async with running.client(bound["key"]) as own:
        # A key that it may not see is to it one that is not there; and what it gives opens nothing.
        told = [await own.put(f"{root}/grants/{key_id}", json={}) for key_id in (hidden["id"], UNKNOWN)]
        assert _without(told[0].text, hidden["id"]) == _without(told[1].text, UNKNOWN)
        assert await code_of(own.put(f"{root}/grants/{bound['id']}", json={})) == (422, "invalid_request")
    async with running.client(hidden["key"]) as own:
        assert await code_of(own.get(f"{root}/projects/sibling/status")) == (404, "not_found")


async def test_an_admin_gives_no_more_than_it_may_read(
    running: Running, client: httpx2.AsyncClient, root: str, base: str, reader: Reader, make: Make
) -> None:
    await client.post(f"{root}/projects", json={"slug": "sibling"})
    here, ends = base.rpartition("/")[2], in_days(10)
    blind = await make(scopes=["admin"])
    writer = await make(scopes=["read", "write"])
    for key in (blind, writer):
        async with running.client(key["key"]) as own:
            assert await code_of(own.put(f"{root}/grants/{reader.id}", json={})) == (403, "forbidden")
    bound = await make(scopes=["read", "admin"], projects=[here], expires_at=ends)
    await client.put(f"{root}/grants/{reader.id}", json={"projects": ["sibling"]})
    async with running.client(bound["key"]) as own:
        for given, refusal in (
            ({"projects": ["sibling"]}, (404, "not_found")),
            ({"projects": ["no-such"]}, (404, "not_found")),
            ({"expires_at": in_days(11)}, (403, "forbidden")),
        ):
            assert await code_of(own.put(f"{root}/grants/{reader.id}", json=given)) == refusal
        assert (await own.get(f"{root}/grants")).json()["grants"] == []  # that of the sibling is not for it to see
        assert await code_of(own.delete(f"{root}/grants/{reader.id}")) == (404, "not_found")
        made = (await own.put(f"{root}/grants/{reader.id}", json={})).json()
        assert (made["projects"], made["outcome"]) == ([here], "created")
        assert datetime.fromisoformat(made["expires_at"]) == datetime.fromisoformat(ends)
        (entry,) = (await own.get(f"{root}/grants")).json()["grants"]
        assert (entry["project"], entry["granted_by"]) == (here, bound["id"])
        assert [each["project"] for each in (await client.get(f"{root}/grants")).json()["grants"]] == [here, "sibling"]
        assert (await own.delete(f"{root}/grants/{reader.id}")).json()["outcome"] == "ended"
    assert [each["project"] for each in (await client.get(f"{root}/grants")).json()["grants"]] == ["sibling"]


async def test_nobody_gives_what_is_anothers(reader: Reader, root: str, client: httpx2.AsyncClient, project: ProjectRef) -> None:
    home = f"/api/v1/workspaces/{reader.home.workspace}"
    await client.put(f"{root}/grants/{reader.id}", json={})
    for there in (root, "/api/v1/workspaces/no-such"):
        for refused in (
            reader.client.put(f"{there}/grants/{UNKNOWN}", json={}),
            reader.client.get(f"{there}/grants"),
            reader.client.delete(f"{there}/grants/{reader.id}"),
        ):
            assert await code_of(refused) == (404, "not_found")
    for slug in (f"{project.workspace}/{project.project}", project.project):
        assert await code_of(reader.client.put(f"{home}/grants/{UNKNOWN}", json={"projects": [slug]})) == (404, "not_found")
    made = await reader.client.post(f"{home}/keys", json={"scopes": ["read"]})
    assert made.json()["projects"] is None  # a key of the reader's own inherits nothing of what was granted to the key that made it


async def test_grants_are_listed_page_by_page(database: Database, key: str, root: str, project: ProjectRef) -> None:
    small = Settings(embedding_provider="none", answer_max_bytes=2_000)
    async with run_app(database, small) as served, served.client(key) as own:
        await own.post(f"{root}/projects", json={"slug": "second"})
        for n in range(10):
            await own.put(f"{root}/grants/aaaaaaaaaa{n:02}", json={"projects": [project.project, "second"]})
        seen: list[tuple[str, str]] = []
        cursor: str | None = ""
        while cursor is not None:
            reply = await own.get(f"{root}/grants", params={"limit": 200, "cursor": cursor})
            assert len(reply.content) <= 2_000
            seen += [(each["key_id"], each["project"]) for each in reply.json()["grants"]]
            cursor = reply.json()["next_cursor"]
            assert cursor is None or tuple(unseal(cursor).split("/")) == seen[-1]  # and no number of the installation's
        assert seen == [(f"aaaaaaaaaa{n:02}", slug) for n in range(10) for slug in (project.project, "second")]
        for place, status in (("no", 422), ("no 123", 422), ("no/", 200), ("no/such", 200)):
            page = await own.get(f"{root}/grants", params={"cursor": seal(place)})
            assert page.status_code == status


async def test_grants_and_what_is_done_by_them_are_audited(
    client: httpx2.AsyncClient, root: str, base: str, reader: Reader, project: ProjectRef, told: str, server: EmbeddedServer
) -> None:
    await client.put(f"{root}/grants/{reader.id}", json={})
    await reader.client.post("/api/v1/sql", json={"sql": "SELECT 1 AS one", "project": told})
    await reader.client.get(f"{base}/export")
    await reader.client.post(f"{base}/events", json={"summary": "x"})
    await client.get(f"{root}/grants")
    await client.delete(f"{root}/grants/{reader.id}")
    read = [("query_memories_with_sql", "ok", project.project_id), ("export_project", "ok", project.project_id)]
    assert audit_of(server, project) == [("grant_reading", "ok", None), *read, ("list_grants", "ok", None), ("end_grant", "ok", None)]
    assert audit_of(server, reader.home) == [*read, ("save_memory", "not_found", None)]
