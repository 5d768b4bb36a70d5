"""Keys over REST: shown once, ended for good, and never more than the key that makes them."""

import asyncio
from datetime import datetime
from typing import Any

import httpx2

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.settings import Settings
from service.tenants.owner import owner_connection
from tests.integration.surface.asking import Make, code_of, in_days
from tests.integration.surface.conftest import Running, run_app


async def test_a_key_is_shown_once_and_works(running: Running, client: httpx2.AsyncClient, root: str, base: str, make: Make) -> None:
    made = await make(name="wren", scopes=["read"], expires_at=in_days(3))
    listed = (await client.get(f"{root}/keys")).json()["keys"]
    (entry,) = [each for each in listed if each["id"] == made["id"]]
    assert made["key"].startswith(f"mun_{made['id']}_")
    assert (entry["name"], entry["scopes"], entry["revoked_at"]) == ("wren", ["read"], None)
    assert made["key"].split("_", 2)[2] not in str(listed)
    assert "key" not in entry
    async with running.client(made["key"]) as own:
        assert (await own.get(f"{base}/status")).status_code == 200
        assert await code_of(own.post(f"{base}/events", json={"summary": "x"})) == (403, "forbidden")
        assert await code_of(own.get(f"{root}/keys")) == (403, "forbidden")


async def test_keys_are_listed_page_by_page(client: httpx2.AsyncClient, root: str, make: Make) -> None:
    ids = [(await make(name=f"k{n}"))["id"] for n in range(5)]
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = (await client.get(f"{root}/keys", params={"limit": 2, "cursor": cursor})).json()
        seen += [entry["id"] for entry in answer["keys"]]
        cursor = answer["next_cursor"]
    assert seen[1:] == ids  # the first is the asking key
    assert await code_of(client.get(f"{root}/keys", params={"cursor": "bm8"})) == (422, "invalid_request")


async def test_long_lists_end_earlier_and_go_on(database: Database, key: str, root: str) -> None:
    small = Settings(embedding_provider="none", answer_max_bytes=2_000)
    async with run_app(database, small) as served, served.client(key) as own:
        for n in range(12):
            await own.post(f"{root}/keys", json={"name": f"{n} " + "é" * 150})
            await own.put(f"{root}/members/{n:02}{'x' * 200}", json={"role": "reader"})
        for what, total in (("keys", 13), ("members", 12)):
            seen: list[Any] = []
            cursor: str | None = ""
            while cursor is not None:
                reply = await own.get(f"{root}/{what}", params={"limit": 200, "cursor": cursor})
                assert len(reply.content) <= 2_000
                seen += reply.json()[what]
                cursor = reply.json()["next_cursor"]
            assert len(seen) == total
            assert len({str(each) for each in seen}) == total


async def test_revoking_twice_is_the_same_as_once(running: Running, client: httpx2.AsyncClient, root: str, make: Make) -> None:
    made = await make()
    replies = await asyncio.gather(*(client.delete(f"{root}/keys/{made['id']}") for _ in range(5)))
    assert sorted(reply.json()["outcome"] for reply in replies) == ["revoked", *["unchanged"] * 4]
    assert len({reply.json()["revoked_at"] for reply in replies}) == 1
    async with running.client(made["key"]) as own:
        assert await code_of(own.get(f"{root}/projects")) == (401, "unauthenticated")
    assert await code_of(client.delete(f"{root}/keys/aaaaaaaaaaaa")) == (404, "not_found")


async def test_a_key_gives_no_more_than_it_has(running: Running, client: httpx2.AsyncClient, root: str, base: str, make: Make) -> None:
    await client.post(f"{root}/projects", json={"slug": "sibling"})
    here = base.rpartition("/")[2]
    ends = in_days(10)
    narrow = await make(scopes=["read", "admin"], projects=[here], expires_at=ends)
    async with running.client(narrow["key"]) as own:
        for given, refusal in (
            ({"scopes": ["read", "write"]}, (403, "forbidden")),
            ({"scopes": ["read"], "projects": ["sibling"]}, (404, "not_found")),
            ({"scopes": ["read"], "projects": ["no-such"]}, (404, "not_found")),
            ({"scopes": ["read"], "default_project": "sibling"}, (404, "not_found")),
            ({"scopes": ["read"], "expires_at": in_days(11)}, (403, "forbidden")),
            ({"scopes": ["read"], "expires_at": "2020-01-01"}, (422, "invalid_request")),
            ({"scopes": []}, (422, "invalid_request")),
            ({"scopes": ["owner"]}, (422, "invalid_request")),
            ({"scopes": ["read"], "projects": []}, (422, "invalid_request")),
        ):
            assert await code_of(own.post(f"{root}/keys", json=given)) == refusal, given
        made = (await own.post(f"{root}/keys", json={"scopes": ["read"]})).json()
        assert made["projects"] == [here]
        assert datetime.fromisoformat(made["expires_at"]) == datetime.fromisoformat(ends)
    async with running.client(made["key"]) as child:
        assert (await child.get(f"{base}/status")).status_code == 200
        assert await code_of(child.get(f"{root}/projects/sibling/status")) == (404, "not_found")


async def test_a_bound_admin_sees_and_ends_only_keys_within_its_reach(
    running: Running, client: httpx2.AsyncClient, root: str, base: str, make: Make
) -> None:
    await client.post(f"{root}/projects", json={"slug": "sibling"})
    here = base.rpartition("/")[2]
    bound = await make(scopes=["admin", "read"], projects=[here])
    inside, outside, everywhere = await make(projects=[here]), await make(projects=[here, "sibling"]), await make()
    async with running.client(bound["key"]) as own:
        shown = {entry["id"] for entry in (await own.get(f"{root}/keys")).json()["keys"]}
        assert shown == {bound["id"], inside["id"]}
        for other in (outside, everywhere):
            assert await code_of(own.delete(f"{root}/keys/{other['id']}")) == (404, "not_found")
        assert (await own.delete(f"{root}/keys/{inside['id']}")).json()["outcome"] == "revoked"
        for refused in (
            own.post(f"{root}/projects", json={"slug": "more"}),
            own.patch(base, json={"slug": "sibling"}),
            own.patch(root, json={"name": "Mine"}),
            own.get("/api/v1/workspaces"),
            own.get(f"{root}/members"),
            own.put(f"{root}/members/someone", json={"role": "reader"}),
            own.delete(root),
        ):
            assert await code_of(refused) == (403, "forbidden")
        assert (await own.patch(base, json={"name": "Ours"})).status_code == 200


async def test_a_key_that_was_revoked_meanwhile_makes_none(
    running: Running, client: httpx2.AsyncClient, server: EmbeddedServer, root: str, make: Make
) -> None:
    admin = await make(scopes=["read", "write", "admin"])
    async with running.client(admin["key"]) as own:
        assert (await own.get(f"{root}/keys")).status_code == 200  # from now on the server has it in mind
        with owner_connection(server.owner_url) as owner:
            owner.execute("UPDATE control.api_key SET revoked_at = now() WHERE id = $1", (admin["id"],))
        refusal = await code_of(own.post(f"{root}/keys", json={}))
        assert refusal in {(403, "forbidden"), (401, "unauthenticated")}
    assert len((await client.get(f"{root}/keys")).json()["keys"]) == 2
