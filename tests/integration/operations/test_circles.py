"""Events that follow one another in a circle, as an import may bring them: every reader, writer and deleter comes to an end."""

from typing import Any

import pytest

from service.memory.imports.restore import restore_lines
from tests.integration.operations.conftest import Desk

SOURCES = ("thread", "chunk_order", "file_name", "folder_name", "topic_segment", "user_manual", "version_up")
MEMBERS = [f"evt_{number}" for number in range(1, 6)]


async def circle(desk: Desk, source: str) -> None:
    """Five events, the first of which follows the last; two of them also follow each other."""
    await desk.save(*({"summary": f"apples {number}", "entities": [("Orchard", "place")]} for number in range(5)))
    pairs = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 1), (3, 2)]
    lines: list[dict[str, Any]] = [{"line": "next_link", "from_id": a, "to_id": b, "source": source} for a, b in pairs]
    assert [each.error for each in await restore_lines(desk.memory.database, desk.project, lines)] == [None] * 6


@pytest.mark.parametrize("source", SOURCES)
async def test_a_circle_holds_up_nobody(desk: Desk, source: str) -> None:
    await circle(desk, source)
    (event,) = (await desk.ask("get_memory_content", ids=["evt_1"])).events
    assert event.chunks == (MEMBERS[1:] if source == "chunk_order" else [])
    walked = await desk.ask(
        "query_memory_graph",
        query="START a = events(ids: ['evt_1']) MATCH (a)-[n:NEXT*1..3]->(b) RETURN b.id, n.hops, n.source ORDER BY n.hops",
    )
    assert walked.rows == [["evt_2", 1, source], ["evt_3", 2, source], ["evt_4", 3, source]]
    back = await desk.ask(
        "query_memory_graph", query="START a = events(ids: ['evt_1']) MATCH (a)<-[n:NEXT*1..3]-(b) RETURN b.id ORDER BY n.hops"
    )
    assert back.rows == [["evt_5"], ["evt_4"], ["evt_3"]]
    around = await desk.ask("find_memory_connections", id="evt_1", parts=["before", "after"])
    assert ("evt_2" in [each.id for each in around.after]) is (source != "chunk_order")
    assert len((await desk.ask("memory_query", query="apples")).raw_hits) == 5
    assert len((await desk.ask("list_memory_timeline")).events) == 5


@pytest.mark.parametrize("source", ["thread", "chunk_order"])
async def test_what_stands_in_a_circle_is_corrected_and_forgotten(desk: Desk, source: str) -> None:
    await circle(desk, source)
    corrected = await desk.ask("update_memory", id="evt_1", kind="decision")
    assert corrected.id == "evt_1"
    gone = await desk.ask("forget_memory", id="evt_1")
    assert gone.deleted == (MEMBERS if source == "chunk_order" else MEMBERS[:1])
