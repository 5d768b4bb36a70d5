"""What a key reads that another workspace let it read, over REST and MCP: what is open to it, what that is called, how it ends."""

import json

import httpx2
import pytest

from service.db.embedded import EmbeddedServer
from service.db.scope import ProjectRef
from service.tenants.owner import owner_connection
from tests.integration.surface.asking import code_of
from tests.integration.surface.conftest import Reader, Running
from tests.mcp.conftest import call


async def test_what_was_granted_is_read_under_its_full_name(
    client: httpx2.AsyncClient, root: str, base: str, reader: Reader, project: ProjectRef, told: str
) -> None:
    assert await code_of(reader.client.get(f"{base}/status")) == (404, "not_found")
    given = await client.put(f"{root}/grants/{reader.id}", json={"projects": [project.project]})
    assert (given.status_code, given.json()["outcome"]) == (201, "created")
    status = (await reader.client.get(f"{base}/status")).json()
    assert (status["workspace"], status["project"], status["scopes"], status["quota"]) == (project.workspace, told, ["read"], [])
    for named in (
        {"project": told},
        {"workspace": project.workspace, "project": project.project},
        {"workspace": reader.home.workspace, "project": told},
    ):
        found = await reader.search(**named)
        assert found["scope"] == {"workspace": reader.home.workspace, "projects": [told], "resolved_by": "named"}
        assert ({hit["project"] for hit in found["hits"]}, {hit["project"] for hit in found["raw_hits"]}) == ({told}, {told})
    for path in ("events?ids=evt_1", "pages", "entities?name=quince", "tags", "timeline", "sessions", "connections?id=evt_1", "embedding"):
        assert (await reader.client.get(f"{base}/{path}")).json()["project"] == told, path
    assert "quince on a page" in (await reader.client.get(f"{base}/pages/quince.md")).text
    assert "quince elsewhere" in (await reader.client.get(f"{base}/export")).text
    graph = await reader.client.post(
        "/api/v1/graph", json={"query": "START a = events(entity: 'Quince') RETURN a.summary", "project": told}
    )
    sql = await reader.client.post("/api/v1/sql", json={"sql": "SELECT summary FROM events", "project": told})
    assert graph.json()["rows"] == sql.json()["rows"] == [["quince elsewhere"]]


async def test_only_what_names_it_leaves_the_own_workspace(
    client: httpx2.AsyncClient, root: str, reader: Reader, project: ProjectRef, told: str
) -> None:
    await client.put(f"{root}/grants/{reader.id}", json={})
    own = reader.home.project
    assert (await reader.search())["scope"]["projects"] == [own]
    everywhere = await reader.search(**{"global": True})
    assert everywhere["scope"] == {"workspace": reader.home.workspace, "projects": [own, told], "resolved_by": "global"}
    assert {hit["project"] for hit in everywhere["raw_hits"]} == {own, told}
    there = await reader.search(workspace=project.workspace)
    assert (there["scope"]["projects"], there["scope"]["resolved_by"]) == ([told], "workspace")
    both = await reader.search(scopes=[{"project": own}, {"project": told}, {"workspace": project.workspace, "project": project.project}])
    assert both["scope"]["projects"] == [own, told]
    missing = (await reader.client.post("/api/v1/graph", json={"query": "START a = events(entity: 'x') RETURN a"})).json()
    assert (missing["code"], missing["allowed_projects"]) == ("scope_missing", [own, told])
    for place in ({}, {"workspace": project.workspace}):  # the workspace's own project is not the key's default
        refusal = await call(reader.client, "memory_status", place)
        assert (refusal["isError"], json.loads(refusal["content"][0]["text"])["code"]) == (True, "scope_missing")


async def test_projects_are_listed_with_their_workspace(
    client: httpx2.AsyncClient, root: str, reader: Reader, project: ProjectRef, told: str
) -> None:
    await client.patch(f"{root}/projects/{project.project}", json={"name": "Quinces"})
    await client.put(f"{root}/grants/{reader.id}", json={})
    own = {"workspace": reader.home.workspace, "project": reader.home.project, "default": False, "name": reader.home.project}
    other = {"workspace": project.workspace, "project": told, "default": False, "name": "Quinces"}
    by_age = [other, own] if project.project_id < reader.home.project_id else [own, other]
    assert (await reader.client.get("/api/v1/projects")).json()["projects"] == by_age
    assert (await call(reader.client, "list_projects", {}))["structuredContent"]["projects"] == by_age
    first = (await reader.client.get("/api/v1/projects", params={"limit": 1})).json()
    rest = (await reader.client.get("/api/v1/projects", params={"limit": 1, "cursor": first["next_cursor"]})).json()
    assert (first["projects"] + rest["projects"], rest["next_cursor"]) == (by_age, None)
    assert (await reader.client.get(f"{root}/projects")).json()["projects"] == [other]
    assert (await reader.client.get(f"/api/v1/workspaces/{reader.home.workspace}/projects")).json()["projects"] == [own]


async def test_the_same_slug_at_home_is_another_project(
    running: Running, client: httpx2.AsyncClient, root: str, reader: Reader, project: ProjectRef, told: str
) -> None:
    await client.put(f"{root}/grants/{reader.id}", json={})
    await reader.client.post(f"/api/v1/workspaces/{reader.home.workspace}/projects", json={"slug": project.project})
    assert (await reader.search(project=project.project))["raw_hits"] == []
    (hit,) = (await reader.search(project=told))["raw_hits"]
    assert (hit["project"], hit["summary"]) == (told, "quince elsewhere")


async def test_some_projects_are_not_all_and_all_are_the_later_ones_too(
    client: httpx2.AsyncClient, root: str, reader: Reader, project: ProjectRef
) -> None:
    await client.post(f"{root}/projects", json={"slug": "second"})
    await client.put(f"{root}/grants/{reader.id}", json={"projects": [project.project]})
    assert await code_of(reader.client.get(f"{root}/projects/second/status")) == (404, "not_found")
    assert (await client.put(f"{root}/grants/{reader.id}", json={"projects": ["second"]})).json()["outcome"] == "updated"
    assert await code_of(reader.client.get(f"{root}/projects/{project.project}/status")) == (404, "not_found")
    assert (await reader.client.get(f"{root}/projects/second/status")).status_code == 200
    assert (await client.put(f"{root}/grants/{reader.id}", json={})).json()["projects"] is None
    await client.post(f"{root}/projects", json={"slug": "third"})
    assert [(await reader.client.get(f"{root}/projects/{slug}/status")).status_code for slug in ("second", "third")] == [200, 200]
    (entry,) = (await client.get(f"{root}/grants")).json()["grants"]
    assert (entry["key_id"], entry["project"]) == (reader.id, None)


@pytest.mark.parametrize("how", ["taken back", "key revoked", "key gone", "project gone", "workspace gone", "home gone"])
async def test_a_grant_ends(
    running: Running,
    client: httpx2.AsyncClient,
    server: EmbeddedServer,
    root: str,
    base: str,
    reader: Reader,
    project: ProjectRef,
    how: str,
) -> None:
    home = f"/api/v1/workspaces/{reader.home.workspace}"
    await client.put(f"{root}/grants/{reader.id}", json={"projects": [project.project]})
    assert (await reader.client.get(f"{base}/status")).status_code == 200
    if how == "key gone":
        with owner_connection(server.owner_url) as owner:
            owner.execute("DELETE FROM control.api_key WHERE id = $1", (reader.id,))
    calls = {
        "taken back": lambda: client.delete(f"{root}/grants/{reader.id}"),
        "key revoked": lambda: reader.client.delete(f"{home}/keys/{reader.id}"),
        "key gone": lambda: client.patch(root, json={"name": "Told the server to look again"}),
        "project gone": lambda: client.delete(base),
        "workspace gone": lambda: client.delete(root),
        "home gone": lambda: reader.client.delete(home),
    }
    assert (await calls[how]()).status_code == 200
    left = (401, "unauthenticated") if how in ("key revoked", "key gone", "home gone") else (404, "not_found")
    assert await code_of(reader.client.get(f"{base}/status")) == left
    with owner_connection(server.owner_url) as owner:
        rows = owner.execute("SELECT 1 FROM control.reading_grant WHERE key_id = $1", (reader.id,)).fetchall()
    assert len(rows) == (1 if how == "key revoked" else 0)
