"""Queries above, the rows they give below: what the language means, on one small graph, told by the product and by the tests' evaluator."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.graph.limits import GraphLimits
from service.graph.parse import parse
from service.graph.run import run_query
from tests.property.graph.expectation import Expectation
from tests.property.graph.model import DIM, Graph
from tests.property.graph.store import store
from tests.property.graph.test_evaluator import Spelled

TEXT = (Path(__file__).parent / "scenarios" / "scenarios.txt").read_text(encoding="utf-8")
SCENARIOS = [tuple(part.strip() for part in pair.split("\n\n", 1)) for pair in TEXT.split("-" * 40 + "\n")]


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


GRAPH = Graph(
    times=[day(1), None, day(3), None, day(1), day(6)],
    entities=[("ann", "person"), ("bob", "person"), ("kit", "tool"), ("ann", "tool")],
    tags=["x", "y"],
    participation=[(1, 1), (1, 2), (2, 1), (2, 3), (3, 2), (3, 3), (4, 3), (5, 1)],
    membership=[(1, 1, "contains"), (1, 1, "refers"), (2, 1, "contains"), (3, 2, "contains")],
    next=[(1, 2, "thread"), (2, 3, "thread"), (3, 4, "thread"), (4, 1, "thread"), (1, 3, "file_name")],
    resolution=[(1, 3, day(2), False), (1, 4, day(2), True)],
    alias=[(1, 4, 0.9)],
    vectors={1: (1.0, 0.0, 0.0, 0.0), 2: (0.0, 1.0, 0.0, 0.0), 3: (1.0, 1.0, 0.0, 0.0)},
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def small(database: Database, projects: Any) -> ProjectRef:
    project = projects.make(dim=DIM)
    await store(database, project, GRAPH)
    return project


def plain(value: Any) -> Any:
    """Nodes as their ids, decimals to four places."""
    if isinstance(value, dict):
        return value["id"]
    if isinstance(value, list):
        return [plain(one) for one in value]
    return round(float(value), 4) if isinstance(value, float) else value


@pytest.mark.parametrize(("query", "rows"), SCENARIOS, ids=[query.splitlines()[0][3:] for query, _ in SCENARIOS])
async def test_gives(database: Database, small: ProjectRef, query: str, rows: str) -> None:
    expected = [] if rows == "none" else [json.loads(row) for row in rows.splitlines()]
    answer = await run_query(database, small, query, {}, embed=Spelled(), limits=GraphLimits())
    assert plain(answer.rows) == expected
    evaluated = Expectation(GRAPH, parse(query), {}, embeds=True, exact=20_000).answer()
    assert [plain(cells) for cells, _ in evaluated.rows][: evaluated.limit] == expected
    assert answer.notes == evaluated.notes
