"""The official client in both generations of the protocol: lists tools, saves, searches, asks the graph."""

import json

import jsonschema
import pytest

from service.db.scope import ProjectRef
from service.operations import CATALOGUE
from tests.conftest import Memory
from tests.integration.surface.conftest import MakeKey, Running
from tests.mcp.conftest import open_client

GENERATIONS = ["legacy", "auto", "2026-07-28"]


@pytest.mark.parametrize("mode", GENERATIONS)
async def test_lists_saves_and_reads(running: Running, key: str, mode: str) -> None:
    async with open_client(running, key, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        saved = await client.call_tool("save_memory", {"summary": "The cache was dropped.", "entities": [{"name": "cache"}]})
        read = await client.call_tool("get_memory_content", {"ids": [saved.structured_content["id"]]})
        found = await client.call_tool("memory_query", {"query": "cache dropped"})
    assert tools.keys() == {operation.name for operation in CATALOGUE if operation.tool}
    assert read.structured_content["events"][0]["summary"] == "The cache was dropped."
    assert json.loads(read.content[0].text) == read.structured_content
    assert not found.is_error
    for name, result in (("save_memory", saved), ("get_memory_content", read), ("memory_query", found)):
        jsonschema.validate(result.structured_content, tools[name].output_schema)


@pytest.mark.parametrize("mode", GENERATIONS)
async def test_the_graph_finds_what_two_names_share(running: Running, project: ProjectRef, key: str, memory: Memory, mode: str) -> None:
    both, _ = await memory.save(
        project,
        [
            {"summary": "Ana fixed the parser.", "entities": [("Ana", "person"), ("parser", "component")]},
            {"summary": "Ana went on leave.", "entities": [("Ana", "person")]},
        ],
    )
    query = "START a = events(entity: $a, k: 200) MATCH (a)-[:PARTICIPATED_IN]-(n {name: $b}) RETURN DISTINCT a.id LIMIT 200"
    async with open_client(running, key, mode) as client:
        native = await client.call_tool("query_memory_graph", {"query": query, "params": {"a": "Ana", "b": "parser"}})
        as_text = await client.call_tool("query_memory_graph", {"query": query, "params": '{"a": "Ana", "b": "parser"}'})
        broken = await client.call_tool("query_memory_graph", {"query": query, "params": "not json"})
        rejected = await client.call_tool("query_memory_graph", {"query": "CREATE (a)"})
    assert both in native.content[0].text
    assert as_text.structured_content["rows"] == native.structured_content["rows"]
    assert broken.is_error
    assert json.loads(broken.content[0].text)["error"].startswith("params:")
    assert rejected.is_error
    assert {"error", "code", "blocked_by", "hint"} <= json.loads(rejected.content[0].text).keys()


@pytest.mark.parametrize("mode", GENERATIONS)
async def test_a_key_sees_and_uses_only_what_its_scopes_allow(
    running: Running, project: ProjectRef, make_api_key: MakeKey, mode: str
) -> None:
    async with open_client(running, make_api_key(project, "read"), mode) as client:
        tools = (await client.list_tools()).tools
        refused = await client.call_tool("save_memory", {"nonsense": "x"})
        status = await client.call_tool("memory_status", {})
    assert all(tool.annotations.read_only_hint for tool in tools)
    assert json.loads(refused.content[0].text)["code"] == "forbidden"
    assert status.structured_content["counts"]["events"] == 0


async def test_progress_comes_as_a_stream(running: Running, key: str) -> None:
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async with open_client(running, key, "legacy") as client:
        result = await client.call_tool("memory_status", {}, progress_callback=hear)
    assert not result.is_error
    assert heard == [0, 1]
