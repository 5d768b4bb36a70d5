"""The audit as admins read it: their workspace's, the latest first, and nothing of what was said."""

from datetime import datetime
from typing import Any

import httpx2

from service.db.embedded import EmbeddedServer
from service.db.scope import ProjectRef
from service.memory.cursors import seal, unseal
from service.tenants.owner import owner_connection
from tests.integration.surface.asking import Make, code_of, in_days
from tests.integration.surface.conftest import Reader, Running


async def _read(client: httpx2.AsyncClient, root: str, **query: Any) -> list[dict[str, Any]]:
    """All entries, a few at a time."""
    entries: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = (await client.get(f"{root}/audit", params={"limit": 2, "cursor": cursor, **query})).json()
        assert len(answer["entries"]) <= 2
        entries += answer["entries"]
        cursor = answer["next_cursor"]
    return entries


async def test_who_did_what_the_latest_first(client: httpx2.AsyncClient, root: str, base: str, key: str, project: ProjectRef) -> None:
    await client.post(f"{base}/events", json={"summary": "xylocarpus"})
    await client.post("/api/v1/sql", json={"sql": "DROP TABLE xylocarpus"})
    await client.get(f"{base}/export")
    await client.patch(base, json={"name": "xylocarpus"})
    await client.get(f"{base}/status")
    entries = await _read(client, root)
    seen = [(each["operation"], each["outcome"], each["project"]) for each in entries if each["operation"] != "list_audit"]
    assert seen == [
        ("rename_project", "ok", project.project),
        ("export_project", "ok", project.project),
        ("query_memories_with_sql", "sql_rejected", project.project),
        ("save_memory", "ok", project.project),
    ]
    assert {each["who"] for each in entries} == {key.split("_")[1]}
    assert [each["at"] for each in entries] == sorted((each["at"] for each in entries), reverse=True)
    assert "xylocarpus" not in str(entries)
    middle = next(each["at"] for each in entries if each["operation"] == "export_project")
    assert [each["operation"] for each in await _read(client, root, until=middle)] == [name for name, *_ in seen[1:]]
    assert (await _read(client, root, since=middle))[-1]["operation"] == "export_project"
    assert await _read(client, root, since=in_days(1)) == []
    # A date includes its day, as in searches.
    assert entries[0]["at"] in [each["at"] for each in await _read(client, root, until=entries[0]["at"][:10])]


async def test_entries_of_one_time_are_each_given_once(
    client: httpx2.AsyncClient, root: str, project: ProjectRef, server: EmbeddedServer
) -> None:
    with owner_connection(server.owner_url) as owner:
        for days, first, last in ((-23, 1, 3), (-22, 4, 10), (-21, 11, 11)):
            owner.execute(
                "INSERT INTO control.audit (at, workspace_id, operation, outcome) "
                "SELECT $1::timestamptz, $2, 'done_' || n, 'ok' FROM generate_series($3::integer, $4) AS n",
                (in_days(days), project.workspace_id, first, last),
            )
    seen = [each["operation"] for each in await _read(client, root, until=in_days(-20))]
    assert seen == [f"done_{n}" for n in (11, *range(4, 11), *range(1, 4))]
    # Another end of the span than the one that the cursor was given for.
    cursor = (await client.get(f"{root}/audit", params={"limit": 3, "until": in_days(-20)})).json()["next_cursor"]
    rest = (await client.get(f"{root}/audit", params={"cursor": cursor, "until": in_days(-22.5)})).json()["entries"]
    assert [each["operation"] for each in rest] == ["done_1", "done_2", "done_3"]


async def test_a_cursor_tells_nothing_of_other_workspaces(
    client: httpx2.AsyncClient, root: str, base: str, project: ProjectRef, reader: Reader, server: EmbeddedServer
) -> None:
    """Whatever others do meanwhile, it is made of times of the workspace's own and of numbers of its own entries."""
    for _ in range(3):
        await client.post(f"{base}/events", json={"summary": "plum"})
        await reader.client.post("/api/v1/sql", json={"sql": "SELECT 1"})
    answer = (await client.get(f"{root}/audit", params={"limit": 2})).json()
    at, mark, number = unseal(answer["next_cursor"]).partition("#")
    assert datetime.fromisoformat(at) == datetime.fromisoformat(answer["entries"][-1]["at"])
    assert (mark, number) == ("#", "1")
    with owner_connection(server.owner_url) as owner:
        rows = owner.execute("SELECT id FROM control.audit WHERE workspace_id = $1", (project.workspace_id,)).fetchall()
    earlier = seal(f"{at} {max(row['id'] for row in rows)}")
    assert await code_of(client.get(f"{root}/audit", params={"cursor": earlier})) == (422, "invalid_request")


async def test_it_is_for_admins_of_the_whole_workspace(
    running: Running, client: httpx2.AsyncClient, root: str, base: str, make: Make, reader: Reader
) -> None:
    narrow, writer = await make(scopes=["admin"], projects=[base.rpartition("/")[2]]), await make(scopes=["read", "write"])
    for made in (narrow, writer):
        async with running.client(made["key"]) as own:
            assert await code_of(own.get(f"{root}/audit")) == (403, "forbidden")
    assert await code_of(reader.client.get(f"{root}/audit")) == (404, "not_found")
    for cursor in ("x", "bm8", *map(seal, ("2026-01-01#0", "2026-01-01#-1", "2026-01-01#" + "9" * 20))):
        assert await code_of(client.get(f"{root}/audit", params={"cursor": cursor})) == (422, "invalid_request")


async def test_what_others_read_stands_in_both(
    client: httpx2.AsyncClient, root: str, told: str, project: ProjectRef, reader: Reader
) -> None:
    await client.put(f"{root}/grants/{reader.id}", json={})
    workspace, name = told.split("/")
    await reader.client.post("/api/v1/sql", json={"sql": "SELECT 1", "workspace": workspace, "project": name})
    given = [(each["who"], each["project"]) for each in await _read(client, root) if each["operation"] == "query_memories_with_sql"]
    home = await _read(reader.client, f"/api/v1/workspaces/{reader.home.workspace}")
    taken = [(each["who"], each["project"]) for each in home if each["operation"] == "query_memories_with_sql"]
    assert (given, taken) == ([(reader.id, project.project)], [(reader.id, None)])
