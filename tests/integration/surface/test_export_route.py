"""An export as it leaves the server: piece by piece, to whoever may read, and to nobody's loss when they leave."""

import json

import httpx2

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.surface.rest.openapi import make_document
from tests.conftest import Memory, Projects
from tests.integration.surface.conftest import MakeKey, Running


async def test_an_export_is_lines_and_goes_in_again(
    running: Running, client: httpx2.AsyncClient, base: str, memory: Memory, project: ProjectRef, projects: Projects
) -> None:
    await memory.save(project, [{"summary": f"line {n}", "content": "x" * 3000, "tags": ["t"]} for n in range(100)])
    answer = await client.get(f"{base}/export")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    assert "content-length" not in answer.headers
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert (lines[0]["line"], lines[0]["counts"]["event"], lines[-1]["line"]) == ("header", 100, "end")
    other = projects.make(project.workspace)
    target = f"/api/v1/workspaces/{project.workspace}/projects/{other.project}"
    for known in (False, True):
        sent = await client.post(f"{target}/import", json={"lines": lines[1:-1]})
        assert sent.status_code == 200, sent.text
        assert [result.get("known", False) for result in sent.json()["results"]] == [known] * 101
    again = await client.get(f"{target}/export")
    assert again.text.splitlines()[1:-1] == answer.text.splitlines()[1:-1]


async def test_refusals_come_before_the_first_line(
    running: Running, client: httpx2.AsyncClient, base: str, project: ProjectRef, projects: Projects, make_api_key: MakeKey
) -> None:
    other = projects.make()
    for address in (f"/api/v1/workspaces/{other.workspace}/projects/{other.project}", base + "x"):
        refused = await client.get(f"{address}/export")
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    async with running.client(make_api_key(project, "write")) as writer:
        assert (await writer.get(f"{base}/export")).status_code == 403
    async with running.client(make_api_key(project, "read", "write")) as reader:
        assert (await reader.get(f"{base}/export")).status_code == 200
        assert (await reader.post(f"{base}/import", json={"lines": []})).status_code == 403


async def test_who_leaves_in_the_middle_holds_nothing(
    running: Running, client: httpx2.AsyncClient, base: str, memory: Memory, project: ProjectRef, database: Database
) -> None:
    for _ in range(4):
        await memory.save(project, [{"summary": f"line {n}", "content": "x" * 40_000} for n in range(200)])
    for _ in range(5):  # more often than exports may run at once
        async with client.stream("GET", f"{base}/export") as answer:
            assert answer.status_code == 200
            assert await anext(answer.aiter_bytes())
        async with database._long:  # pyright: ignore[reportPrivateUsage]
            pass
    assert (await client.get(f"{base}/status")).status_code == 200


def test_it_is_described_as_lines() -> None:
    from service.operations import CATALOGUE

    document = make_document(CATALOGUE, "1")
    done = document["paths"]["/api/v1/workspaces/{workspace}/projects/{project}/export"]["get"]["responses"]["2XX"]
    assert list(done["content"]) == ["application/x-ndjson"]
