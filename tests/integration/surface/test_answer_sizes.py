"""No answer is larger than the settings have it: lists end earlier and say so, or there is a cursor to go on with, or a hint."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.operations import CATALOGUE
from service.settings import Settings
from service.tenants.owner import owner_connection
from tests.conftest import Memory, Projects
from tests.integration.surface.conftest import MakeKey, Running, run_app
from tests.mcp.conftest import call

LIMIT = 20_000
EVENTS = 120
OTHERS = 120


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def bounded(database: Database) -> AsyncIterator[Running]:
    async with run_app(database, Settings(embedding_provider="none", answer_max_bytes=LIMIT)) as served:
        yield served


@pytest.fixture(scope="module")
def full(projects: Projects) -> ProjectRef:
    return projects.make()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def saved(memory: Memory, full: ProjectRef, server: EmbeddedServer) -> list[str]:
    """A project of which every list is too long for one answer."""
    events = [
        {
            "summary": f"Line {n}: " + "häufig " * 60,
            "content": "€" * 1_000,
            "entities": [("Ana", "person"), (f"thing{n:03} " + "long " * 30, "thing")],
            "tags": ["area/auth", f"area/{n:03}/" + "x" * 150],
            "session": f"s{n:03}" + "s" * 180,
            "ingest_key": f"k{n}",
        }
        for n in range(EVENTS)
    ]
    ids = await memory.save(full, events)
    await memory.page(full, "hub.md", "Hub", "The hub.")
    for n in range(EVENTS):
        await memory.page(full, f"{n:03}/{'p' * 180}.md", "häufig " * 20, "häufig [hub](/hub.md)")
    with owner_connection(server.owner_url) as owner:
        for n in range(OTHERS):
            owner.execute(
                "SELECT control.create_project($1, $2, $3, NULL)", (full.workspace_id, f"p{n:03}" + "p" * 59, f"{n:03}" + "häufig " * 10)
            )
    await memory.page(full, "long.md", "Long", "€\n" * 40_000)
    return ids


@pytest_asyncio.fixture
async def reader(bounded: Running, full: ProjectRef, saved: list[str], make_api_key: MakeKey) -> AsyncIterator[httpx2.AsyncClient]:
    async with bounded.client(make_api_key(full, "read")) as client:
        yield client


ALL_IDS = "all the ids"
# What each operation is asked, and the list that is then too long; None where no list can be.
ASKED: dict[str, tuple[dict[str, Any], str | None]] = {
    "memory_query": ({"query": "häufig", "limit": 100, "explain": True}, "raw_hits"),
    "search_memory": ({"query": "häufig"}, None),
    "find_memory_connections": ({"entity": "Ana", "limit": 50}, "evolution"),
    "query_memory_graph": ({"query": "START a = events(entity: 'Ana', k: 200) RETURN a LIMIT 200"}, "rows"),
    "query_memories_with_sql": ({"sql": "SELECT * FROM events"}, "rows"),
    "get_memory_content": ({"ids": ALL_IDS}, "events"),
    "read_page": ({"path": "hub.md"}, "backlinks"),
    "list_pages": ({"limit": 200}, "pages"),
    "find_memories_by_entity": ({"name": "n", "limit": 50, "events_per_entity": 10}, "entities"),
    "list_tags": ({"limit": 200}, "tags"),
    "list_memory_timeline": ({"limit": 200}, "events"),
    "memory_status": ({}, None),
    "list_projects": ({}, "projects"),
    "embedding_progress": ({}, None),
    "list_sessions": ({"limit": 200}, "sessions"),
}


def test_every_operation_that_reads_is_asked() -> None:
    assert ASKED.keys() == {operation.name for operation in CATALOGUE if operation.scope == "read" and operation.lines is None}


def _path(full: ProjectRef, name: str) -> tuple[str, str]:
    route = next(operation for operation in CATALOGUE if operation.name == name).routes[0]
    path = route.path.replace("{workspace}", full.workspace).replace("{project}", full.project)
    return route.method, "/api/v1" + path


async def _ask(client: httpx2.AsyncClient, full: ProjectRef, name: str, arguments: dict[str, Any]) -> httpx2.Response:
    method, path = _path(full, name)
    if "{path*}" in path:
        arguments = dict(arguments)
        path = path.replace("{path*}", arguments.pop("path"))
    given = {"params": arguments} if method == "GET" else {"json": arguments}
    return await client.request(method, path, **given)


@pytest.mark.parametrize("name", ASKED)
async def test_no_answer_is_too_large(reader: httpx2.AsyncClient, full: ProjectRef, saved: list[str], name: str) -> None:
    arguments, cut = ASKED[name]
    arguments = arguments | ({"ids": saved[:100]} if arguments.get("ids") == ALL_IDS else {})
    reply = await _ask(reader, full, name, arguments)
    assert reply.status_code == 200, reply.text
    assert len(reply.content) <= LIMIT
    answer = reply.json()
    if cut is None:
        return
    assert answer[cut]
    if "next_cursor" in answer:
        assert answer["next_cursor"]
        return
    assert answer.get("truncated") or answer.get("partial")
    assert any(str(LIMIT) in note for note in answer["notes"]), answer["notes"]
    assert answer.get("row_count", len(answer[cut])) == len(answer[cut])


@pytest.mark.parametrize("name", [name for name, (_, cut) in ASKED.items() if cut in ("pages", "tags", "events", "sessions", "projects")])
async def test_what_has_a_cursor_can_be_read_to_its_end(reader: httpx2.AsyncClient, full: ProjectRef, saved: list[str], name: str) -> None:
    arguments, cut = ASKED[name]
    if cut is None or name == "get_memory_content":
        return
    seen: list[str] = []
    while True:
        answer = (await _ask(reader, full, name, arguments)).json()
        seen += [json.dumps(each, sort_keys=True) for each in answer[cut]]
        if not answer["next_cursor"]:
            break
        arguments = {**arguments, "cursor": answer["next_cursor"]}
    assert (
        len(seen)
        == len(set(seen))
        == {"pages": EVENTS + 2, "tags": EVENTS + 1, "events": EVENTS, "sessions": EVENTS, "projects": OTHERS + 1}[cut]
    )


async def test_the_events_left_out_can_be_asked_for(reader: httpx2.AsyncClient, full: ProjectRef, saved: list[str]) -> None:
    wanted, calls = saved[:100], 0
    while wanted:
        answer = (await _ask(reader, full, "get_memory_content", {"ids": wanted})).json()
        assert [event["id"] for event in answer["events"]] == wanted[: len(answer["events"])]
        wanted, calls = wanted[len(answer["events"]) :], calls + 1
        assert (answer["truncated"], answer["next_ids"]) == (bool(wanted), wanted)
    assert calls > 2


async def test_a_long_page_comes_in_pieces(reader: httpx2.AsyncClient, full: ProjectRef, saved: list[str]) -> None:
    body, pieces = "", 0
    while True:
        reply = await _ask(reader, full, "read_page", {"path": "long.md", "start": len(body)})
        answer = reply.json()
        assert (answer["start"], answer["length"], "etag" in reply.headers) == (len(body), 80_000, False)
        assert len(reply.content) <= LIMIT
        body, pieces = body + answer["body"], pieces + 1
        if answer["next_start"] is None:
            break
        assert (answer["next_start"], answer["truncated"]) == (len(body), True)
        assert f"go on with start={len(body)}" in answer["notes"][0]
    assert not answer["truncated"]
    for past in (80_000, 90_000):
        end = (await _ask(reader, full, "read_page", {"path": "long.md", "start": past})).json()
        assert (end["body"], end["truncated"], end["next_start"], end["length"]) == ("", False, None, 80_000)
        assert end["notes"] == ["body: it ends at character 80000"]
    assert body.strip() == ("€\n" * 40_000).strip()
    assert pieces > 5


async def test_a_page_that_has_room_is_whole(reader: httpx2.AsyncClient, full: ProjectRef, saved: list[str]) -> None:
    reply = await _ask(reader, full, "read_page", {"path": f"000/{'p' * 180}.md"})
    assert (reply.json()["truncated"], reply.json()["notes"], reply.headers["etag"]) == (False, [], '"v1"')


async def test_what_cannot_be_cut_says_how_to_ask_for_less(reader: httpx2.AsyncClient, full: ProjectRef, saved: list[str]) -> None:
    query = "START a = events(entity: 'Ana', k: 200) RETURN collect(a) AS all"
    reply = await _ask(reader, full, "query_memory_graph", {"query": query})
    assert (reply.status_code, reply.json()["code"], reply.json()["limit"]) == (422, "answer_too_large", LIMIT)
    assert "LIMIT" in reply.json()["hint"]
    result = await call(reader, "query_memory_graph", {"query": query})
    assert (result["isError"], json.loads(result["content"][0]["text"])["code"]) == (True, "answer_too_large")


async def test_writes_are_told_whole(bounded: Running, full: ProjectRef, make_api_key: MakeKey) -> None:
    """What was done is done, and its answer is not refused."""
    async with bounded.client(make_api_key(full, "write")) as writer:
        method, path = _path(full, "save_events")
        reply = await writer.request(method, path, json={"events": [{"summary": ""}] * 1000})
    assert reply.status_code == 207
    assert len(reply.json()["results"]) == 1000
