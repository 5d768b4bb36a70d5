"""Workspaces, projects and members over REST: what an admin may do, how far, and what nobody learns of others."""

import asyncio
from datetime import datetime

import httpx2
import pytest

from service.db.embedded import EmbeddedServer
from service.db.scope import ProjectRef
from service.tenants import workspaces
from service.tenants.owner import owner_connection
from tests.conftest import Projects
from tests.integration.surface.asking import Make, code_of, in_days
from tests.integration.surface.conftest import MakeKey, Running
from tests.integration.surface.test_perform import audit_of


@pytest.fixture
def operator(server: EmbeddedServer, project: ProjectRef) -> None:
    """Makes the workspace of `project` the operator's."""
    with owner_connection(server.owner_url) as owner:
        workspaces.set_operator(owner, workspaces.find_workspace(owner, project.workspace), operates=True)


async def test_projects_are_renamed(client: httpx2.AsyncClient, root: str, base: str) -> None:
    await client.post(f"{base}/events", json={"summary": "kept"})
    await client.post(f"{root}/projects", json={"slug": "taken"})
    assert await code_of(client.patch(base, json={"slug": "taken"})) == (409, "conflict")
    assert await code_of(client.patch(base, json={"slug": "No_Slug"})) == (422, "invalid_request")
    assert await code_of(client.patch(base, json={})) == (422, "invalid_request")
    assert (await client.patch(base, json={"slug": "moved", "name": "Moved 家"})).json()["project"] == "moved"
    assert await code_of(client.get(f"{base}/status")) == (404, "not_found")
    assert (await client.get(f"{root}/projects/moved/status")).json()["counts"]["events"] == 1
    listed = {each["project"]: each["name"] for each in (await client.get(f"{root}/projects")).json()["projects"]}
    assert listed["moved"] == "Moved 家"
    replies = await asyncio.gather(*(client.patch(f"{root}/projects/{slug}", json={"slug": "wanted"}) for slug in ("moved", "taken")))
    assert sorted(reply.status_code for reply in replies) == [200, 409]


async def test_members_have_one_role_each(client: httpx2.AsyncClient, root: str) -> None:
    address = f"{root}/members/auth0%7Cada"
    replies = await asyncio.gather(*(client.put(address, json={"role": "writer"}) for _ in range(4)))
    assert sorted(reply.json()["outcome"] for reply in replies) == ["created", "unchanged", "unchanged", "unchanged"]
    assert (await client.put(address, json={"role": "reader", "expires_at": in_days(1)})).json()["outcome"] == "updated"
    (member,) = (await client.get(f"{root}/members")).json()["members"]
    assert (member["subject"], member["role"]) == ("auth0|ada", "reader")
    assert await code_of(client.put(address, json={"role": "owner"})) == (422, "invalid_request")
    assert await code_of(client.put(f"{root}/members/{'x' * 256}", json={"role": "reader"})) == (422, "invalid_request")
    assert (await client.delete(address)).json()["outcome"] == "removed"
    assert await code_of(client.delete(address)) == (404, "not_found")


async def test_a_role_is_no_more_than_the_giver_has(running: Running, root: str, make: Make) -> None:
    ends = in_days(5)
    giver = await make(scopes=["read", "admin"], expires_at=ends)
    async with running.client(giver["key"]) as own:
        for role in ("writer", "admin"):
            assert await code_of(own.put(f"{root}/members/eve", json={"role": role})) == (403, "forbidden")
        assert await code_of(own.put(f"{root}/members/eve", json={"role": "reader", "expires_at": in_days(6)})) == (403, "forbidden")
        assert (await own.put(f"{root}/members/eve", json={"role": "reader"})).status_code == 201
        (member,) = (await own.get(f"{root}/members")).json()["members"]
    assert datetime.fromisoformat(member["expires_at"]) == datetime.fromisoformat(ends)


async def test_an_admin_governs_the_own_workspace_alone(
    running: Running, client: httpx2.AsyncClient, projects: Projects, make_api_key: MakeKey, root: str
) -> None:
    other = projects.make()
    foreign = f"/api/v1/workspaces/{other.workspace}"
    async with running.client(make_api_key(other, "read", "admin")) as theirs:
        key_id = (await theirs.get(f"{foreign}/keys")).json()["keys"][0]["id"]
        await theirs.put(f"{foreign}/members/ada", json={"role": "reader"})
        before = [(await theirs.get(f"{foreign}/{what}")).json() for what in ("keys", "members", "projects")]
        for there in (foreign, "/api/v1/workspaces/no-such"):
            answers = [
                await code_of(call)
                for call in (
                    client.patch(there, json={"name": "Mine"}),
                    client.patch(there, json={"slug": "mine"}),
                    client.delete(there),
                    client.put(f"{there}/quota", json={"events": 0}),
                    client.get(f"{there}/keys"),
                    client.post(f"{there}/keys", json={}),
                    client.delete(f"{there}/keys/{key_id}"),
                    client.get(f"{there}/members"),
                    client.put(f"{there}/members/ada", json={"role": "admin"}),
                    client.delete(f"{there}/members/ada"),
                    client.patch(f"{there}/projects/{other.project}", json={"name": "Mine"}),
                    client.delete(f"{there}/projects/{other.project}"),
                )
            ]
            assert answers == [(404, "not_found")] * 12
        assert await code_of(client.delete(f"{root}/keys/{key_id}")) == (404, "not_found")
        after = [(await theirs.get(f"{foreign}/{what}")).json() for what in ("keys", "members", "projects")]
        drop = [{name: value for name, value in key.items() if name != "last_used_at"} for key in after[0]["keys"]]
        assert drop == [{name: value for name, value in key.items() if name != "last_used_at"} for key in before[0]["keys"]]
        assert after[1:] == before[1:]
    (own,) = (await client.get("/api/v1/workspaces")).json()["workspaces"]
    assert own["workspace"] == root.rpartition("/")[2]
    # Not even by a name that is taken.
    taken = await client.patch(root, json={"slug": other.workspace})
    free = await client.patch(root, json={"slug": "surely-free"})
    assert (taken.status_code, taken.json()["detail"]) == (free.status_code, free.json()["detail"])
    assert taken.status_code == 403
    for slug in (other.workspace, "surely-free"):
        assert await code_of(client.post("/api/v1/workspaces", json={"slug": slug})) == (403, "forbidden")
    assert await code_of(client.put(f"{root}/quota", json={"events": 5})) == (403, "forbidden")


@pytest.mark.usefixtures("operator")
async def test_the_operator_makes_workspaces(running: Running, client: httpx2.AsyncClient, project: ProjectRef) -> None:
    slug = f"made-by-{project.workspace}"
    replies = await asyncio.gather(*(client.post("/api/v1/workspaces", json={"slug": slug, "name": "New"}) for _ in range(6)))
    assert sorted(reply.status_code for reply in replies) == [201, *[409] * 5]
    (made,) = [reply.json() for reply in replies if reply.status_code == 201]
    there = f"/api/v1/workspaces/{slug}"
    assert (await client.put(f"{there}/quota", json={"events": 2, "projects": 1})).json()["quota"] == {
        "events": 2,
        "bytes": None,
        "projects": 1,
    }
    async with running.client(made["key"]) as admin:
        assert (await admin.post(f"{there}/projects", json={"slug": "first"})).status_code == 201
        assert await code_of(admin.post(f"{there}/projects", json={"slug": "second"})) == (403, "quota_reached")
        assert (await admin.post(f"{there}/projects", json={"slug": "first"})).status_code == 200
        both = {"events": [{"summary": "a"}, {"summary": "b"}]}
        assert (await admin.post(f"{there}/projects/first/events:batch", json=both)).status_code == 200
        refusal = (await admin.post(f"{there}/projects/first/events", json={"summary": "c"})).json()
        assert (refusal["code"], refusal["quota"], refusal["limit"]) == ("quota_reached", "events", 2)
        assert (await admin.get(f"{there}/projects/first/status")).json()["quota"] == [
            {"kind": "events", "limit": 2, "used": 2},
            {"kind": "projects", "limit": 1, "used": 1},
        ]
        assert await code_of(admin.put(f"{there}/quota", json={})) == (403, "forbidden")
        (shown,) = (await admin.get("/api/v1/workspaces")).json()["workspaces"]
        assert (shown["name"], shown["events"], shown["projects"]) == ("New", {"used": 2, "limit": 2}, {"used": 1, "limit": 1})
        assert await code_of(admin.post("/api/v1/workspaces", json={"slug": "more"})) == (403, "forbidden")
    listed: list[str] = []
    cursor: str | None = ""
    while cursor is not None:  # the other tests' workspaces are there too
        page = (await client.get("/api/v1/workspaces", params={"limit": 200, "cursor": cursor})).json()
        listed += [each["workspace"] for each in page["workspaces"]]
        cursor = page["next_cursor"]
    assert {slug, project.workspace} <= set(listed)
    assert listed == sorted(listed)
    assert (await client.patch(there, json={"slug": f"{slug}-2"})).json() == {"workspace": f"{slug}-2"}
    assert await code_of(client.patch(f"{there}-2", json={"slug": project.workspace})) == (409, "conflict")
    gone = (await client.delete(f"{there}-2")).json()
    assert (gone["projects"], gone["counts"]["event"], gone["complete"]) == (1, 2, True)
    assert await code_of(client.delete(f"{there}-2")) == (404, "not_found")
    async with running.client(made["key"]) as admin:
        assert (await admin.get(f"{there}-2/projects")).json().get("projects", []) == []


@pytest.mark.usefixtures("operator")
async def test_the_operator_gives_no_more_than_it_has(
    running: Running, client: httpx2.AsyncClient, root: str, base: str, make: Make, project: ProjectRef
) -> None:
    bound = await make(scopes=["read", "write", "admin"], projects=[base.rpartition("/")[2]])
    partly = await make(scopes=["admin"])
    for key in (bound, partly):
        async with running.client(key["key"]) as own:
            assert await code_of(own.post("/api/v1/workspaces", json={"slug": f"no-{project.workspace}"})) == (403, "forbidden")
    ends = in_days(2)
    short = await make(scopes=["read", "write", "admin"], expires_at=ends)
    async with running.client(short["key"]) as own:
        made = (await own.post("/api/v1/workspaces", json={"slug": f"short-{project.workspace}"})).json()
    assert datetime.fromisoformat(made["expires_at"]) == datetime.fromisoformat(ends)


async def test_an_admin_deletes_the_own_workspace(
    running: Running, client: httpx2.AsyncClient, server: EmbeddedServer, root: str, base: str, project: ProjectRef, make: Make
) -> None:
    await client.post(f"{base}/events", json={"summary": "x"})
    await client.post(f"{root}/projects", json={"slug": "second"})
    await client.put(f"{root}/members/ada", json={"role": "reader"})
    gone = (await client.delete(root)).json()
    assert (gone["forgotten"], gone["projects"], gone["complete"]) == ("workspace", 2, True)
    with owner_connection(server.owner_url) as owner:
        for table in ("workspace", "project", "api_key", "member", "quota", "usage"):
            column = "id" if table == "workspace" else "workspace_id"
            assert owner.execute(f"SELECT 1 FROM control.{table} WHERE {column} = $1", (project.workspace_id,)).fetchall() == [], table
        assert owner.execute("SELECT 1 FROM pg_roles WHERE rolname = $1", (project.role,)).fetchall() == []


async def test_all_of_it_is_in_the_audit(
    client: httpx2.AsyncClient, server: EmbeddedServer, project: ProjectRef, root: str, base: str, make: Make
) -> None:
    made = await make(name="kept out of the audit")
    await client.get(f"{root}/keys")
    await client.delete(f"{root}/keys/{made['id']}")
    await client.put(f"{root}/members/ada", json={"role": "reader"})
    await client.delete(f"{root}/members/bob")
    await client.patch(base, json={"name": "Other"})
    await client.put(f"{root}/quota", json={"events": 1})
    await client.patch(root, json={"name": "Named"})
    assert audit_of(server, project) == [
        ("create_key", "ok", None),
        ("list_keys", "ok", None),
        ("revoke_key", "ok", None),
        ("set_member", "ok", None),
        ("remove_member", "not_found", None),
        ("rename_project", "ok", project.project_id),
        ("set_quota", "forbidden", None),
        ("rename_workspace", "ok", None),
    ]
    with owner_connection(server.owner_url) as owner:
        rows = owner.execute("SELECT t::text AS row FROM control.audit AS t WHERE workspace_id = $1", (project.workspace_id,)).fetchall()
    assert not any(word in row["row"] for row in rows for word in ("kept out", made["key"].split("_", 2)[2], "ada"))
