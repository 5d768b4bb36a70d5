"""What links, corrects, lists and connects answers the same on REST and on MCP; and reading changes nothing."""

from typing import Any

import httpx2
import pytest

from service.db.scope import ProjectRef
from tests.conftest import Memory
from tests.integration.surface.conftest import base
from tests.mcp.conftest import call

__all__ = ["base"]

READS: list[tuple[str, str, dict[str, Any]]] = [
    ("list_tags", "tags", {"name": "AREA", "limit": "1"}),
    ("list_memory_timeline", "timeline", {"entity": "jo", "order": "oldest", "until": "2026-01-02", "limit": 1}),
    ("list_memory_timeline", "timeline", {}),
    ("find_memory_connections", "connections", {"id": "evt_1", "parts": "before,after"}),
    ("find_memory_connections", "connections", {"query": "plan"}),
    ("search_memory", "events:search", {"query": "plan", "limit": 5}),
]


async def fill(memory: Memory, project: ProjectRef) -> None:
    await memory.save(
        project,
        [
            {
                "summary": "the plan",
                "entities": [("jo", "person"), ("José", "person")],
                "tags": ["area/x", "area/y"],
                "timestamp": "2026-01-01",
            },
            {"summary": "the proof", "entities": [("jo", "person")], "timestamp": "2026-01-02T23:00:00Z", "kind": "fix"},
        ],
    )


async def dump(memory: Memory, project: ProjectRef) -> list[str]:
    """Every row of every table."""
    query = (
        "SELECT relname FROM pg_class WHERE relnamespace = $1::text::regnamespace AND relkind = 'r' AND relname !~ '^vector_' ORDER BY 1"
    )
    tables = [row["relname"] for row in await memory.rows(project, query, project.schema)]
    return [str(row) for table in tables for row in await memory.rows(project, f"SELECT t::text FROM m_0.{table} AS t ORDER BY 1")]


@pytest.mark.parametrize(("name", "path", "arguments"), READS)
async def test_reads_answer_the_same_and_change_nothing(
    client: httpx2.AsyncClient, base: str, memory: Memory, project: ProjectRef, name: str, path: str, arguments: dict[str, Any]
) -> None:
    await fill(memory, project)
    before = await dump(memory, project)
    rest = await client.get(f"{base}/{path}", params=arguments)
    assert rest.status_code == 200, rest.text
    tool = await call(client, name, arguments)
    assert not tool.get("isError"), tool
    assert tool["structuredContent"] == without_nulls(rest.json())
    assert await dump(memory, project) == before


def without_nulls(value: Any) -> Any:
    """Tools leave fields out that are null."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


async def test_a_link_is_made_on_one_surface_and_taken_back_on_the_other(
    client: httpx2.AsyncClient, base: str, memory: Memory, project: ProjectRef
) -> None:
    await fill(memory, project)
    link = {"relation": "RESOLVED_BY", "from": "evt_1", "to": "evt_2"}
    made = await client.post(f"{base}/links", json=link)
    assert made.json() == {**link, "outcome": "created", "project": project.project}
    back = await call(client, "link_memories", {**link, "revoke": "true"})
    assert back["structuredContent"]["outcome"] == "revoked"
    wrong = await call(client, "link_memories", {**link, "relation": "LIKES"})
    assert wrong["isError"]
    assert (await client.post(f"{base}/links", json={**link, "to": "evt_9"})).status_code == 404


async def test_a_correction_on_both_surfaces(client: httpx2.AsyncClient, base: str, memory: Memory, project: ProjectRef) -> None:
    await fill(memory, project)
    first = await client.patch(f"{base}/events/evt_1", json={"summary": "the better plan", "timestamp": "1767225600", "tags": ["area/z"]})
    assert (first.status_code, first.json()["version"]) == (200, 2)
    second = await call(client, "update_memory", {"id": "evt_1", "content": "in detail", "entities": ["jo"]})
    assert second["structuredContent"]["version"] == 3
    (event,) = (await client.get(f"{base}/events", params={"ids": "evt_1"})).json()["events"]
    assert (event["summary"], event["content"], event["version"], event["timestamp"]) == (
        "the better plan",
        "in detail",
        3,
        "2026-01-01T00:00:00Z",
    )
    assert [tag["name"] for tag in event["tags"]] == ["area/z"]
    assert (await client.patch(f"{base}/events/evt_1", json={})).status_code == 422
    assert (await client.patch(f"{base}/events/evt_77", json={"kind": "fix"})).status_code == 404


async def test_a_forgotten_event_leaves_no_link_behind(client: httpx2.AsyncClient, base: str, memory: Memory, project: ProjectRef) -> None:
    await fill(memory, project)
    for link in ({"relation": "NEXT", "from": "evt_1", "to": "evt_2"}, {"relation": "RESOLVED_BY", "from": "evt_1", "to": "evt_2"}):
        await client.post(f"{base}/links", json=link)
    await client.post(f"{base}/links", json={"relation": "SAME_AS", "from": "jo", "to": "José", "confidence": 0.5})
    await client.patch(f"{base}/events/evt_1", json={"summary": "another plan"})
    assert (await client.delete(f"{base}/events/evt_1")).status_code == 200
    for table in ("next_link", "resolution", "alias", "event_version", "tag", "membership"):
        assert await memory.rows(project, f"SELECT 1 FROM m_0.{table}") == [], table
    listed = (await client.get(f"{base}/timeline")).json()
    assert [event["id"] for event in listed["events"]] == ["evt_2"]
    assert (await client.get(f"{base}/tags")).json()["total"] == 0
    assert (await client.get(f"{base}/timeline", params={"entity": "José"})).status_code == 404
    connected = (await client.get(f"{base}/connections", params={"id": "evt_2"})).json()
    assert [connected[part] for part in ("before", "after", "similar")] == [[], [], []]
