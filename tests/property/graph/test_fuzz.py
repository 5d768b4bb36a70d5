"""Any text is answered or rejected with a hint: what is accepted runs. `MUNIMENT_FUZZ` says how many texts are tried."""

import os
import random
import re
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.graph.describe import RECIPES
from service.graph.limits import GraphLimits
from service.graph.rejection import GraphRejection
from service.graph.run import run_query
from tests.property.graph.model import DIM, random_graph
from tests.property.graph.store import store
from tests.property.graph.test_any_text import WORDS
from tests.property.graph.test_evaluator import SEED, Spelled
from tests.property.graph.writer import Writer

TEXTS = int(os.environ.get("MUNIMENT_FUZZ", "5000" if os.environ.get("MUNIMENT_DEEP") else "400"))
PARAMS: dict[str, Any] = {
    "q": "1 0 0 0", "ids": ["evt_1", "evt_2"], "x": None, "name": "kafka", "a": "kafka", "b": "Kafka", "part": "ka", "tag": "auth", "seen": [],
    "n": 3, "flag": True, "huge": 10**300, "decimal": 1e308, "list": [None, 1, "x", 2.5, False],
}  # fmt: skip
EXTREMES = [
    "(" * 10_000,
    "START a = events(ids: $ids) MATCH (a) WHERE " + "(" * 10_000 + "a.id = 'x'" + ")" * 10_000 + " RETURN a",
    "START a = events(ids: $ids) MATCH (a) WHERE " + "NOT " * 4_000 + "a.id = 'x' RETURN a",
    "START a = events(ids: " + "[" * 9_000 + "]" * 9_000 + ") RETURN a",
    "START a = events(ids: $ids) MATCH " + "(a)-[:SHARES]-" * 1_000 + "(a) RETURN a",
    "START a = events(ids: $ids) RETURN " + "count(" * 3_000 + "a" + ")" * 3_000,
    "START a = events(ids: $ids) RETURN a LIMIT " + "0" * 19_000 + "7",
    "START a = events(ids: $ids) RETURN a LIMIT " + "9" * 19_000,
    "START a = events(ids: $ids) RETURN a LIMIT 1e" + "9" * 19_000,
    "START a = events(text: '" + "\\" * 19_000 + "') RETURN a",
    "START a = events(text: '" + "x" * 1_000_000 + "') RETURN a",
    "/*" * 9_000,
    "//" * 9_000,
    "\x00" * 100,
    "\ud800" * 100,
    "START a = events(ids: $ids) RETURN a AS " + "x" * 19_000,
    "$" * 19_000,
    "START a = events(ids: [" + "'evt_1'," * 2_000 + "'evt_2']) RETURN a.id",
    "START a = events(ids: $ids) MATCH (a) WHERE " + " OR ".join(["a.order_index = 1"] * 200) + " RETURN a",
    "START a = events(ids: $ids) MATCH (a)" + "-[:PARTICIPATED_IN]-()" * 20 + " RETURN count(*)",
    "START a = events(ids: $ids) RETURN " + ", ".join(f"a.id AS c{i}" for i in range(100)),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def project(database: Database, projects: Any) -> ProjectRef:
    made = projects.make(dim=DIM)
    await store(database, made, random_graph(random.Random(5)))
    return made


async def tried(database: Database, project: ProjectRef, text: str, params: dict[str, Any]) -> bool:
    """Whether the text was accepted; anything but an answer or a rejection with a hint is raised."""
    try:
        answer = await run_query(database, project, text, params, embed=Spelled(), limits=GraphLimits(deadline_ms=4_000, row_budget=5_000))
    except GraphRejection as caught:
        problem = caught.problem()
        assert msgspec.json.encode(problem)
        assert (problem.status, bool(problem.hint)) == (400, True)
        assert problem.members["blocked_by"] in ("syntax", "grammar", "params")
        assert len(problem.members.get("excerpt", "")) < 2_000
        return False
    assert msgspec.json.encode(answer)
    return True


@pytest.mark.parametrize("text", EXTREMES, ids=[f"{text[:24]!a}…{len(text)}" for text in EXTREMES])
async def test_extremes_are_answered_or_rejected(database: Database, project: ProjectRef, text: str) -> None:
    assert await tried(database, project, text, PARAMS) in (True, False)


@pytest.mark.parametrize(
    "value",
    [
        10**400,
        -(2**63),
        2**63,
        1e308,
        -0.0,
        5e-324,
        "\x00",
        "\ud800",
        "x" * 100_000,
        "",
        "﷽" * 1_000,
        "$1",
        "'",
        "\\",
        "[1,2]",
        True,
        None,
        [],
        [None] * 500,
        ["\x00"],
        [1e308, 10**400],
    ],
    ids=lambda value: repr(value)[:20],
)
@pytest.mark.parametrize(
    "query",
    [
        "START a = events(entity: $v) RETURN a",
        "START a = events(ids: $v) RETURN a",
        "START a = events(ids: $ids, k: $v) RETURN a",
        "START a = events(ids: $ids) RETURN a LIMIT $v",
        "START a = events(ids: $ids) MATCH (a)-[s:SHARES {min_w: $v}]-(b) RETURN s.weight",
        "START a = events(ids: $ids) MATCH (a)-[s:SHARES]-(b) WHERE s.weight > $v OR a.order_index < $v OR a.timestamp = $v OR b.id = $v RETURN b",
        "START a = events(ids: $ids) MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE n.name IN $v OR n.type IN $v OR a.order_index IN $v RETURN n",
        "START a = events(ids: $ids) MATCH (a)-[:PARTICIPATED_IN]-(n {name: $v}) WHERE n.name CONTAINS $v AND n.name <= $v RETURN n",
    ],
)  # fmt: skip
async def test_any_value_is_bound_or_rejected(database: Database, project: ProjectRef, query: str, value: Any) -> None:
    assert await tried(database, project, query, {"ids": ["evt_1"], "v": value}) in (True, False)


def mutated(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """A valid query with a few words exchanged, dropped, doubled or put in."""
    writer = Writer(rng, random_graph(rng))
    text = writer.query() if rng.random() < 0.7 else rng.choice(RECIPES)[1]
    parts = re.findall(r"\s+|\w+|'[^']*'|.", text, re.DOTALL)
    for _ in range(rng.choice((1, 1, 2, 3))):
        place = rng.randrange(len(parts))
        parts[place : place + rng.choice((0, 1, 1, 2))] = rng.choice(
            ([], [rng.choice(WORDS)], [rng.choice(parts)], [" ", rng.choice(parts), " "])
        )
        parts = parts or ["START"]
    return "".join(parts), {**PARAMS, **writer.params}


async def test_mutated_queries_are_answered_or_rejected(
    database: Database, project: ProjectRef, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(f"{SEED} fuzz")
    accepted = 0
    for _ in range(TEXTS):
        text, params = mutated(rng)
        try:
            accepted += await tried(database, project, text, params)
        except Exception as error:
            raise AssertionError(f"seed {SEED}: {text!r} with {params}") from error
    with capsys.disabled():
        print(f"\ngraph: seed {SEED}, {TEXTS} mutated queries, {accepted} accepted")
    assert TEXTS * 0.05 < accepted < TEXTS
