"""REST on a running server: routes, bodies, versions, refusals."""

import json
from typing import Any

import httpx2
import pytest

from service.db.scope import ProjectRef
from tests.integration.surface.conftest import MakeKey, Running


def problem(reply: httpx2.Response) -> dict[str, Any]:
    assert reply.headers["content-type"] == "application/problem+json"
    body = reply.json()
    assert body["status"] == reply.status_code
    assert {"type", "title", "detail", "code", "error"} <= body.keys()
    return body


async def test_saves_an_event_and_reads_it_back(client: httpx2.AsyncClient, base: str) -> None:
    saved = await client.post(f"{base}/events", json={"summary": "The parser was rewritten.", "entities": [{"name": "parser"}]})
    assert saved.status_code == 200
    read = await client.get(f"{base}/events", params={"ids": saved.json()["id"]})
    assert read.json()["events"][0]["summary"] == "The parser was rewritten."


async def test_lists_in_the_query_are_repeated_or_separated_by_commas(client: httpx2.AsyncClient, base: str) -> None:
    ids = [(await client.post(f"{base}/events", json={"summary": f"Event {n}."})).json()["id"] for n in range(2)]
    repeated = await client.get(f"{base}/events", params={"ids": ids})
    joined = await client.get(f"{base}/events", params={"ids": ",".join(ids)})
    assert [event["id"] for event in repeated.json()["events"]] == ids
    assert joined.json() == repeated.json()


async def test_page_versions_are_etags(client: httpx2.AsyncClient, base: str) -> None:
    page = f"{base}/pages/decisions/storage.md"
    first = await client.put(page, json={"body": "# Storage\n\nPostgres."}, headers={"if-none-match": "*"})
    assert (first.status_code, first.headers["etag"]) == (200, '"v1"')
    again = await client.put(page, json={"body": "other"}, headers={"if-none-match": "*"})
    assert problem(again)["code"] == "version_conflict"
    second = await client.put(page, json={"body": "# Storage\n\nPostgres 18."}, headers={"if-match": '"v1"'})
    assert second.headers["etag"] == '"v2"'
    stale = await client.put(page, json={"body": "lost edit"}, headers={"if-match": '"v1"'})
    assert stale.status_code == 409
    read = await client.get(page)
    assert (read.headers["etag"], read.json()["body"]) == ('"v2"', "# Storage\n\nPostgres 18.")
    unchanged = await client.get(page, headers={"if-none-match": '"v2"'})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert (await client.put(page, json={"body": "x"}, headers={"if-match": "v2"})).status_code == 422


async def test_an_idempotency_key_stores_once(client: httpx2.AsyncClient, base: str) -> None:
    replies = [await client.post(f"{base}/events", json={"summary": "Once."}, headers={"idempotency-key": "retry-1"}) for _ in range(2)]
    assert replies[0].json()["id"] == replies[1].json()["id"]
    assert replies[1].json()["known"] is True


async def test_a_batch_answers_line_by_line(client: httpx2.AsyncClient, base: str) -> None:
    lines = [json.dumps({"summary": "good"}), "", "{not json", json.dumps({"summary": 5}), '{"summary": "half \\ud83d of a pair"}']
    reply = await client.post(f"{base}/events:batch", content="\r\n".join(lines).encode(), headers={"content-type": "application/x-ndjson"})
    assert reply.status_code == 207
    results = reply.json()["results"]
    assert ["id" in result for result in results] == [True, False, False, True]


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b'{"summary": "x"}', "text/plain", 415, "unsupported_media_type"),
        (b'{"summary": "x"}', "", 415, "unsupported_media_type"),
        (b"{", "application/json", 400, "malformed_body"),
        (b"[]", "application/json", 400, "malformed_body"),
        (b"\xff\xfe", "application/json", 400, "malformed_body"),
        (b'{"summary": NaN}', "application/json", 400, "malformed_body"),
        (b"[" * 100_000, "application/json", 400, "malformed_body"),
        (b'{"a":' * 100_000, "application/json", 400, "malformed_body"),
        (b"", "application/json", 422, "invalid_request"),
        (b'{"summary": 5}', "application/json; charset=utf-8", 422, "invalid_request"),
        (b'{"summary": "x", "sumary": "y"}', "application/json", 422, "invalid_request"),
    ],
)
async def test_bodies_that_cannot_be_read(client: httpx2.AsyncClient, base: str, body: bytes, kind: str, status: int, code: str) -> None:
    reply = await client.post(f"{base}/events", content=body, headers={"content-type": kind} if kind else {})
    assert (reply.status_code, problem(reply)["code"]) == (status, code)


@pytest.mark.parametrize("text", ['"half \\ud83d"', '"nul \\u0000 in it"'])
async def test_text_that_cannot_be_stored_is_replaced(client: httpx2.AsyncClient, base: str, text: str) -> None:
    body = f'{{"summary": {text}, "content": {text}, "entities": [{{"name": {text}}}]}}'
    saved = await client.post(f"{base}/events", content=body.encode(), headers={"content-type": "application/json"})
    assert saved.status_code == 200
    read = await client.get(f"{base}/events", params={"ids": saved.json()["id"]})
    assert "\ufffd" in read.json()["events"][0]["content"]


async def test_an_escaped_backslash_is_no_nul(client: httpx2.AsyncClient, base: str) -> None:
    saved = await client.post(f"{base}/events", json={"summary": "literal", "content": "a\\u0000b"})
    read = await client.get(f"{base}/events", params={"ids": saved.json()["id"]})
    assert read.json()["events"][0]["content"] == "a\\u0000b"


@pytest.mark.parametrize("query", ["name=%00", "name=%ed%a0%bd", "name=%ff", "name=a&limit=x", "nam=a", "name=a&name=b"])
async def test_strange_queries_are_never_a_server_error(client: httpx2.AsyncClient, base: str, query: str) -> None:
    reply = await client.get(f"{base}/entities?{query}")
    assert reply.status_code in (200, 422)


async def test_path_and_body_must_agree(client: httpx2.AsyncClient, base: str, project: ProjectRef) -> None:
    same = await client.post(f"{base}/events", json={"summary": "x", "project": project.project})
    other = await client.post(f"{base}/events", json={"summary": "x", "project": "another"})
    assert (same.status_code, other.status_code) == (200, 422)


async def test_methods_and_addresses_that_are_not_there(client: httpx2.AsyncClient, base: str) -> None:
    missing = await client.get("/api/v1/nothing")
    assert problem(missing)["code"] == "not_found"
    wrong = await client.patch(f"{base}/status")
    assert problem(wrong)["code"] == "method_not_allowed"
    assert set(wrong.headers["allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}
    for address, allowed in (
        ("status", "GET, HEAD, OPTIONS"),
        ("pages/a/b", "DELETE, GET, HEAD, OPTIONS, PUT"),
        ("events/evt_1", "DELETE, OPTIONS, PATCH"),
    ):
        options = await client.options(f"{base}/{address}")
        assert (options.status_code, options.headers["allow"], options.content) == (204, allowed, b"")


async def test_head_has_no_body(client: httpx2.AsyncClient, base: str) -> None:
    reply = await client.head(f"{base}/status")
    assert (reply.status_code, reply.content) == (200, b"")


@pytest.mark.parametrize("token", [None, "", "Basic abc", "Bearer nonsense", "Bearer mun_" + "a" * 12 + "_" + "b" * 43])
async def test_no_valid_key(running: Running, base: str, token: str | None) -> None:
    async with running.client() as anonymous:
        reply = await anonymous.get(f"{base}/status", headers={} if token is None else {"authorization": token})
    assert (reply.status_code, problem(reply)["code"]) == (401, "unauthenticated")
    assert reply.headers["www-authenticate"].startswith("Bearer")


async def test_a_key_without_the_scope_writes_nothing(
    running: Running, project: ProjectRef, base: str, make_api_key: MakeKey, client: httpx2.AsyncClient
) -> None:
    async with running.client(make_api_key(project, "read")) as reader:
        refused = await reader.post(f"{base}/events", json={"summary": "x"})
        unread = await reader.post(f"{base}/events", content=b"{", headers={"content-type": "application/json"})
    assert (refused.status_code, problem(refused)["code"]) == (403, "forbidden")
    assert unread.status_code == 403
    assert (await client.get(f"{base}/status")).json()["counts"]["events"] == 0


async def test_another_workspace_looks_as_if_it_were_not_there(client: httpx2.AsyncClient, projects: Any) -> None:
    other = projects.make()
    reply = await client.get(f"/api/v1/workspaces/{other.workspace}/projects/{other.project}/status")
    assert problem(reply)["code"] == "not_found"


async def test_request_ids_go_in_and_out(client: httpx2.AsyncClient, base: str) -> None:
    given = await client.get(f"{base}/status", headers={"x-request-id": "abc-123"})
    made = await client.get(f"{base}/status", headers={"x-request-id": "not\tfit for a log"})
    assert given.headers["x-request-id"] == "abc-123"
    assert len(made.headers["x-request-id"]) == 32
