"""Random queries over random graphs are answered as the evaluator answers them: rows, order, notes and flags.

`MUNIMENT_GRAPH_PAIRS` says how many pairs of query and graph are compared, `MUNIMENT_SEED` from which seed; both are printed.
"""

import os
import random
from collections.abc import Iterator
from itertools import product
from pprint import pformat
from typing import Any, NamedTuple

import msgspec
import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.provider import Space
from service.graph.answer import GraphAnswer
from service.graph.limits import GraphLimits
from service.graph.parse import parse
from service.graph.run import run_query
from service.graph.walker import PieceCut, Walker
from tests.property.graph.evaluator import TooMany
from tests.property.graph.expectation import Expectation, Expected
from tests.property.graph.model import DIM, Graph, random_graph
from tests.property.graph.ordering import differs
from tests.property.graph.relations import Unsure
from tests.property.graph.store import store
from tests.property.graph.writer import Writer

PAIRS = int(os.environ.get("MUNIMENT_GRAPH_PAIRS", "1500"))
# The usual run asks the same each time; a long one, or a seed that is given, asks anew.
_FRESH = random.SystemRandom().randrange(1, 2**31) if os.environ.get("MUNIMENT_DEEP") else 20_260_901
SEED = int(os.environ.get("MUNIMENT_SEED", "0")) or _FRESH
# Each query is asked of so many graphs, as compiling it costs more than asking it; then come other graphs.
TOGETHER, QUERIES = 5, 40


class Spelled:
    """Gives the vector that the text spells, if its numbers fit 16 bits as those of every provider do."""

    space = Space("test", "vectors", DIM)

    async def __call__(self, text: str, /) -> str:
        if any(abs(float(number)) > 65_504 for number in text.split()):
            raise ValueError("too large")
        return f"[{','.join(text.split())}]"


class Pair(NamedTuple):
    """A query on a graph, with all that the call is given."""

    text: str
    params: dict[str, Any]
    embeds: bool
    exact: int


@pytest.fixture(scope="module")
def playgrounds(projects: Any) -> list[ProjectRef]:
    return [projects.make(dim=DIM) for _ in range(TOGETHER)]


def rounds(pairs: int, salt: str) -> Iterator[tuple[list[Graph], list[Pair]]]:
    """Graphs that stand side by side, with the queries that are asked of each."""
    each = TOGETHER * QUERIES
    for number in range(-(-pairs // each)):
        rng = random.Random(f"{SEED} {salt} {number}")
        graphs = [random_graph(rng) for _ in range(TOGETHER)]
        asked: list[Pair] = []
        for i in range(min(QUERIES, -(-(pairs - number * each) // TOGETHER))):
            writer = Writer(rng, graphs[i % TOGETHER])
            asked.append(Pair(writer.query(), writer.params, rng.random() < 0.95, rng.choice((20_000, 20_000, 3))))
        yield graphs, asked


def expected_of(graph: Graph, pair: Pair) -> Expected | None:
    """The evaluator's answer; None where measured numbers are too close, or rows too many."""
    try:
        return Expectation(graph, parse(pair.text), pair.params, embeds=pair.embeds, exact=pair.exact).answer()
    except (Unsure, TooMany):
        return None


async def answered(database: Database, project: ProjectRef, pair: Pair) -> GraphAnswer:
    limits = GraphLimits(exact_candidates=pair.exact)
    return await run_query(database, project, pair.text, pair.params, embed=Spelled() if pair.embeds else None, limits=limits)


def difference(answer: GraphAnswer, expected: Expected) -> str | None:
    """What an answer has wrong."""
    found = msgspec.to_builtins(answer)
    for name, got, wanted in (
        ("columns", found["columns"], expected.columns),
        ("start", found["start"], expected.start),
        ("notes", found["notes"], expected.notes),
        ("truncated", [(cut["where"], cut["reason"]) for cut in found["truncated"]], expected.truncated),
        ("partial", found["partial"], bool(expected.truncated)),
        ("row_count", found["row_count"], len(found["rows"])),
    ):
        if got != wanted:
            return f"{name}: {got}\nexpected: {wanted}"
    return differs(found["rows"], expected.rows, expected.limit)


def told(graph: Graph, pair: Pair, wrong: str) -> str:
    return f"\nseed {SEED}: {wrong}\n{pair.text}\n{pair.params}\nembeds {pair.embeds}, exact {pair.exact}\n{pformat(graph, width=160)}"


async def test_answers_as_the_evaluator(database: Database, playgrounds: list[ProjectRef], capsys: pytest.CaptureFixture[str]) -> None:
    asked = compared = filled = 0
    for graphs, pairs in rounds(PAIRS, "at once"):
        for project, graph in zip(playgrounds, graphs, strict=True):
            await store(database, project, graph)
        for pair, (project, graph) in product(pairs, list(zip(playgrounds, graphs, strict=True))):
            asked += 1
            expected = expected_of(graph, pair)
            answer = await answered(database, project, pair)
            if expected is not None:
                wrong = difference(answer, expected)
                assert wrong is None, told(graph, pair, wrong)
                compared += 1
                filled += bool(expected.rows)
    with capsys.disabled():
        print(f"\ngraph: seed {SEED}, {asked} pairs, {compared} compared, {filled} of them with rows")
    assert asked >= PAIRS
    assert compared > asked * 0.8
    assert filled > asked * 0.2


async def test_answers_as_the_evaluator_in_pieces(
    database: Database, playgrounds: list[ProjectRef], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def too_slow(walker: Walker, bindings: Any, attempt: Any) -> Any:
        raise PieceCut(0, "statement_timeout")

    monkeypatch.setattr(Walker, "_at_once", too_slow)
    compared = 0
    for graphs, pairs in rounds(PAIRS // 5, "in pieces"):
        for project, graph in zip(playgrounds, graphs, strict=True):
            await store(database, project, graph)
        for pair, (project, graph) in product(pairs, list(zip(playgrounds, graphs, strict=True))):
            expected = expected_of(graph, pair)
            # A single start that was too wide is not tried again.
            if expected is None or expected.start["returned"] < 2:
                continue
            wrong = difference(await answered(database, project, pair), expected)
            assert wrong is None, told(graph, pair, wrong)
            compared += 1
    assert compared > PAIRS / 5 * 0.3
