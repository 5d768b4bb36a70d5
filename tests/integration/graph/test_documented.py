"""The examples of docs/graph.md and the recipes of the tool's description run as written, on the sample memory."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.graph.describe import DESCRIPTION, RECIPES
from service.graph.limits import GraphLimits
from service.graph.relations.registry import RELATIONS
from service.graph.run import run_query
from service.sample.load import load_sample

PAGE = (Path(__file__).parents[3] / "docs" / "graph.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```graph\n(.*?)```\n```params\n(.*?)```", PAGE, re.DOTALL)
PARAMS: dict[str, Any] = {
    "name": "save format",
    "a": "save format",
    "b": "compaction",
    "tag": "area/storage",
    "q": "fixed a load bug",
    "part": "com",
    "ids": ["evt_4", "evt_5"],
    "seen": ["evt_6"],
}


@pytest.fixture(scope="module")
async def sample(database: Database, projects: Any) -> ProjectRef:
    project = projects.make()
    await load_sample(database, project)
    return project


@pytest.mark.parametrize(("query", "params"), EXAMPLES, ids=[query[:50] for query, _ in EXAMPLES])
async def test_examples_of_the_page_find_something(database: Database, sample: ProjectRef, query: str, params: str) -> None:
    answer = await run_query(database, sample, query, json.loads(params), embed=None, limits=GraphLimits())
    assert answer.rows
    assert not answer.partial


@pytest.mark.parametrize(("what", "query"), RECIPES, ids=[what for what, _ in RECIPES])
async def test_recipes_of_the_description_run(database: Database, sample: ProjectRef, what: str, query: str) -> None:
    params = {name: PARAMS[name] for name in set(re.findall(r"\$(\w+)", query))}
    answer = await run_query(database, sample, query, params, embed=None, limits=GraphLimits())
    needs_vectors = "text:" in query
    assert [cut.reason for cut in answer.truncated] == (["no_embedding"] if needs_vectors else [])
    assert answer.rows or needs_vectors or "SIMILAR" in query or "FAR" in query or "NEXT" in query


def test_the_page_shows_a_query_of_each_clause() -> None:
    assert len(EXAMPLES) >= 6
    assert all(word in PAGE for word in ("START", "MATCH", "WHERE", "RETURN", "ORDER BY", "LIMIT"))


@pytest.mark.parametrize("name", RELATIONS)
def test_every_relation_is_described(name: str) -> None:
    assert f"| `{name}` |" in PAGE
    assert f"- {name} " in DESCRIPTION


def test_the_description_is_short_enough_for_an_agent() -> None:
    assert len(DESCRIPTION) < 6_000
