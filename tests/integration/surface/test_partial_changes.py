"""What a change does not name stays as it is; null, which is named, lifts it. And the operator's last workspace stays."""

import asyncio
from datetime import datetime

import httpx2
import psycopg
import pytest

from service.db.embedded import EmbeddedServer
from service.db.scope import ProjectRef
from service.errors import Conflict
from service.tenants import workspaces
from service.tenants.owner import owner_connection
from tests.conftest import Projects
from tests.integration.surface.asking import Make, code_of, in_days
from tests.integration.surface.conftest import MakeKey, Running


def operate(server: EmbeddedServer, *slugs: str) -> None:
    """Makes these workspaces the operator's, and no others."""
    with owner_connection(server.owner_url) as owner:
        owner.execute("UPDATE control.workspace SET operates = slug = ANY ($1)", (list(slugs),))


async def test_a_quota_changes_by_what_is_named(client: httpx2.AsyncClient, server: EmbeddedServer, root: str, project: ProjectRef) -> None:
    operate(server, project.workspace)
    address = f"{root}/quota"
    everything = {"events": 7, "bytes": 800, "projects": 9}
    assert (await client.put(address, json=everything)).json()["quota"] == everything
    lifted = await client.put(address, json={"events": None, "bytes": None})
    assert lifted.json()["quota"] == {"events": None, "bytes": None, "projects": 9}
    assert (await client.put(address, json={"bytes": 5})).json()["quota"] == {"events": None, "bytes": 5, "projects": 9}
    for empty in (client.put(address, json={}), client.put(address)):
        assert await code_of(empty) == (422, "invalid_request")
    assert (await client.put(address, json={"bytes": 5})).json()["quota"] == {"events": None, "bytes": 5, "projects": 9}


async def test_a_role_keeps_its_end(running: Running, client: httpx2.AsyncClient, root: str, make: Make) -> None:
    address, ends = f"{root}/members/ada", in_days(1)
    await client.put(address, json={"role": "writer", "expires_at": ends})
    changed = (await client.put(address, json={"role": "reader"})).json()
    assert (changed["outcome"], datetime.fromisoformat(changed["expires_at"])) == ("updated", datetime.fromisoformat(ends))
    giver = await make(scopes=["read", "admin"], expires_at=in_days(5))
    async with running.client(giver["key"]) as own:
        assert (await own.put(address, json={"role": "none"})).json()["expires_at"] == changed["expires_at"]
        lifted = (await client.put(address, json={"role": "reader", "expires_at": None})).json()
        assert (lifted["outcome"], lifted["expires_at"]) == ("updated", None)
        # What a key that ends gives does not last longer, not even when it was there before.
        limited = (await own.put(address, json={"role": "none"})).json()["expires_at"]
        assert datetime.fromisoformat(limited) == datetime.fromisoformat(giver["expires_at"])
    (member,) = (await client.get(f"{root}/members")).json()["members"]
    assert member["expires_at"] == limited


async def test_the_openapi_document_tells_null_from_left_out(client: httpx2.AsyncClient) -> None:
    paths = (await client.get("/api/v1/openapi.json")).json()["paths"]
    body = paths["/api/v1/workspaces/{workspace}/quota"]["put"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert {"type": "null"} in body["events"]["anyOf"]
    assert "default" not in body["events"]


async def test_the_operators_last_workspace_is_not_deleted(
    client: httpx2.AsyncClient, server: EmbeddedServer, projects: Projects, root: str, base: str, project: ProjectRef
) -> None:
    operate(server, project.workspace)
    refused = await client.delete(root)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "muniment workspace operator" in refused.json()["hint"]
    assert (await client.get(f"{base}/status")).status_code == 200
    with owner_connection(server.owner_url) as owner:
        found = workspaces.find_workspace(owner, project.workspace)
        with pytest.raises(Conflict):
            workspaces.delete_workspace(owner, found)
        with pytest.raises(psycopg.Error):
            owner.execute("SELECT control.drop_workspace($1)", (found.id,))
    assert (await client.get(f"{base}/status")).status_code == 200
    operate(server, project.workspace, projects.make().workspace)
    assert (await client.delete(root)).status_code == 200


async def test_of_two_operators_that_are_deleted_at_once_one_stays(
    running: Running, server: EmbeddedServer, projects: Projects, make_api_key: MakeKey
) -> None:
    for _ in range(3):
        both = [projects.make(), projects.make()]
        operate(server, *(each.workspace for each in both))
        async with (
            running.client(make_api_key(both[0], "read", "write", "admin")) as first,
            running.client(make_api_key(both[1], "read", "write", "admin")) as second,
        ):
            replies = await asyncio.gather(
                *(each.delete(f"/api/v1/workspaces/{ref.workspace}") for each, ref in zip((first, second), both, strict=True))
            )
        assert sorted(reply.status_code for reply in replies) == [200, 409]
        with owner_connection(server.owner_url) as owner:
            assert len(owner.execute("SELECT 1 FROM control.workspace WHERE operates").fetchall()) == 1
