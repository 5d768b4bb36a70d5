"""Forgetting over REST: one thing a call, with a receipt, by whoever may write there."""

import httpx2

from service.db.scope import ProjectRef
from tests.conftest import Memory, Projects
from tests.integration.surface.conftest import MakeKey, Running


async def test_each_thing_is_forgotten_with_a_receipt(client: httpx2.AsyncClient, base: str, memory: Memory, project: ProjectRef) -> None:
    ids = await memory.save(
        project, [{"summary": f"line {n}", "session": "run", "entities": [("Solo", "name"), ("Pair", "name")]} for n in range(3)]
    )
    await memory.page(project, "a.md", "A", "Text")
    (entity,) = await memory.rows(project, "SELECT id FROM m_0.entity WHERE name = 'Solo'")
    for given, kind, count in (
        ({"ids": ids[:1]}, "event", 1),
        ({"entity": f"ent_{entity['id']}"}, "participation", 2),
        ({"path": "a.md"}, "page", 1),
        ({"session": "run"}, "event", 2),
    ):
        answer = await client.post(f"{base}/forget", json=given)
        assert answer.status_code == 200, answer.text
        assert (answer.json()["counts"][kind], answer.json()["complete"]) == (count, True), given
        again = await client.post(f"{base}/forget", json=given)
        assert (again.status_code, again.json()["code"]) == (404, "not_found"), given
    (later,) = await memory.save(project, [{"summary": "later"}])
    assert (await client.post(f"{base}/forget", json={"author": "test"})).json()["counts"]["event"] == 1
    assert (await client.get(f"{base}/events", params={"ids": later})).json()["missing"] == [later]


async def test_a_call_names_exactly_one_thing(client: httpx2.AsyncClient, base: str, memory: Memory, project: ProjectRef) -> None:
    (kept,) = await memory.save(project, [{"summary": "kept", "session": "run"}])
    for given in ({}, {"ids": []}, {"ids": [kept], "session": "run"}, {"ids": ["7"]}, {"entity": kept}, {"ids": [kept] * 10_001}):
        answer = await client.post(f"{base}/forget", json=given)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request"), given
    assert (await client.get(f"{base}/events", params={"ids": kept})).json()["missing"] == []


async def test_nobody_forgets_for_others(
    running: Running, client: httpx2.AsyncClient, base: str, memory: Memory, project: ProjectRef, projects: Projects, make_api_key: MakeKey
) -> None:
    other = projects.make()
    (kept,) = await memory.save(other, [{"summary": "theirs"}])
    address = f"/api/v1/workspaces/{other.workspace}/projects/{other.project}"
    assert (await client.post(f"{address}/forget", json={"ids": [kept]})).status_code == 404
    assert (await client.delete(address)).status_code == 404
    async with running.client(make_api_key(project, "read", "write")) as writer:
        assert (await writer.delete(base)).status_code == 403
    async with running.client(make_api_key(project, "read")) as reader:
        assert (await reader.post(f"{base}/forget", json={"author": "test"})).status_code == 403
    assert len(await memory.rows(other, "SELECT id FROM m_0.event")) == 1
    gone = await client.delete(base)
    assert (gone.status_code, gone.json()["forgotten"]) == (200, "project")
    for answer in (
        await client.get(f"{base}/status"),
        await client.get(f"{base}/export"),
        await client.post(f"{base}/forget", json={"author": "x"}),
    ):
        assert answer.status_code == 404
