"""The highest counts, found with and without the longest list, beside counting everything: rows, order, notes and what was walked."""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.graph import compile_highest
from service.graph.compile import compiled
from service.graph.limits import GraphLimits
from service.graph.run import run_query
from tests.conftest import Projects
from tests.property.graph.test_evaluator import SEED

SHARED = (
    "START a = events(ids: $ids) MATCH (a)-[:PARTICIPATED_IN]-(e)-[:PARTICIPATED_IN]-(b) WHERE NOT b.id IN $seen AND b.id <> $one "
    "RETURN b.id AS id, count(DISTINCT e) AS shared ORDER BY shared DESC LIMIT $limit"
)
EVENTS, GRAPHS, QUESTIONS = 60, 24, 12
Lists = dict[int, set[int]]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """No statement that was compiled with a test's own limits stays."""
    compiled.cache_clear()
    yield
    compiled.cache_clear()


def set_limits(patch: pytest.MonkeyPatch, chance: random.Random) -> None:
    """Such that small lists are long, and every way is taken now and then."""
    patch.setattr(compile_highest, "SHORT", 0)
    patch.setattr(compile_highest, "WORTH", (100, 1))
    patch.setattr(compile_highest, "SURE", chance.choice([(100, 1), (1, 100)]))
    patch.setattr(compile_highest, "SAMPLED_PART", chance.choice([1, 2, 4]))
    patch.setattr(compile_highest, "FIRST", chance.choice([1, 64]))
    patch.setattr(compile_highest, "ALL", chance.choice([0, 8, 10_000]))
    compiled.cache_clear()


async def fill(database: Database, project: ProjectRef, lists: Lists, chance: random.Random) -> None:
    edges = [(event, entity) for entity, events in lists.items() for event in sorted(events)]
    chance.shuffle(edges)
    async with database.write(project) as tx:
        await tx.execute("DELETE FROM m_0.event")
        await tx.fetch(
            "INSERT INTO m_0.event (id, summary) SELECT n, 'event ' || n FROM unnest($1::bigint[]) AS n",
            sorted(set().union(*lists.values())),
        )
        await tx.fetch(
            "INSERT INTO m_0.entity (id, name, type, folded) SELECT n, 'n' || n, 't', 'n' || n FROM unnest($1::bigint[]) AS n", list(lists)
        )
        await tx.fetch(
            "INSERT INTO m_0.participation (event_id, entity_id) SELECT * FROM unnest($1::bigint[], $2::bigint[])",
            *zip(*edges, strict=True),
        )


def expected(lists: Lists, params: dict[str, Any]) -> tuple[list[list[Any]], int, int]:
    """The rows, how many edges the second hop walks, and the count of the event after the last row."""
    starts, out = ({int(name[4:]) for name in params[key]} for key in ("ids", "seen"))
    out.add(int(params["one"][4:]))
    counts: Counter[int] = Counter()
    for events in lists.values():
        mine = events & starts
        counts.update(events - out - (mine if len(mine) == 1 else set()) if mine else ())
    order = sorted(counts, key=lambda event: (-counts[event], event))
    after = order[params["limit"]] if len(order) > params["limit"] else None
    return [[f"evt_{event}", counts[event]] for event in order[: params["limit"]]], counts.total(), counts[after] if after else 0


async def asked(database: Database, project: ProjectRef, lists: Lists, params: dict[str, Any]) -> int:
    rows, walked, after = expected(lists, params)
    answer = await run_query(database, project, SHARED, params, embed=None, limits=GraphLimits())
    assert answer.rows == rows, (SEED, params)
    assert [step.rows for step in answer.plan if step.relation][-1] == walked, (SEED, params)
    assert (answer.partial, answer.notes) == (False, []), (SEED, params)
    return after


async def test_the_highest_are_those_of_counting_all(database: Database, projects: Projects, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, project, high = random.Random(SEED), projects.make(dim=3), 0
    for _ in range(GRAPHS):
        set_limits(monkeypatch, chance)
        last = chance.choice([20, EVENTS])
        lists = {n: set(chance.sample(range(1, last + 1), chance.randint(1, last))) for n in range(1, chance.randint(2, 9))}
        if chance.random() < 0.3:
            lists[max(lists)] = lists[1]
        await fill(database, project, lists, chance)
        names = [f"evt_{n}" for n in sorted(set().union(*lists.values()))]
        for _ in range(QUESTIONS):
            ids = chance.sample(names, min(len(names), chance.randint(1, 3)))
            seen = chance.choice([[], ids, chance.sample(names, min(len(names), 4))])
            after = await asked(
                database, project, lists, {"ids": ids, "seen": seen, "one": chance.choice(names), "limit": chance.randint(1, 6)}
            )
            high += after > 2
    assert high > GRAPHS * QUESTIONS // 8


@pytest.mark.parametrize("others", [range(2, 9), range(2, 3)], ids=["high counts", "low counts"])
async def test_long_lists_are_counted_exactly(database: Database, projects: Projects, others: range) -> None:
    chance, project = random.Random(SEED), projects.make(dim=3)
    lists = {1: set(range(1, 6_001))} | {n: {1, *chance.sample(range(2, 9_001), 1_500)} for n in others}
    await fill(database, project, lists, chance)
    after = await asked(database, project, lists, {"ids": ["evt_1"], "seen": ["evt_1", "evt_2"], "one": "evt_3", "limit": 20})
    assert (after > 2) == (len(others) > 1)
