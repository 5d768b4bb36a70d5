"""SIMILAR: exact up to a number of vectors, the vector index above it, which end it starts from, and how a short list is told."""

from typing import Any

import pytest

from service.db.scope import ProjectRef
from service.graph import vector_scans, walker
from service.graph.answer import NOT_CONFIRMED
from service.graph.limits import GraphLimits
from service.tenants.owner import owner_connection

THROUGH_THE_INDEX = GraphLimits(exact_candidates=100)


@pytest.fixture
async def circle(memory: Any, projects: Any, small: ProjectRef) -> ProjectRef:
    """Three hundred events around a circle, evt_n beside evt_n+1, with a vector index; all share one name."""
    async with memory.database.write(small) as tx:
        await tx.fetch("INSERT INTO m_0.event (id, summary) SELECT n, 'event ' || n FROM generate_series(1, 301) AS n")
        await tx.fetch("INSERT INTO m_0.entity (id, name, type, folded) VALUES (1, 'all', 't', 'all')")
        await tx.fetch("INSERT INTO m_0.participation (event_id, entity_id) SELECT n, 1 FROM generate_series(1, 301) AS n")
        await tx.fetch(
            "INSERT INTO m_0.passage (id, event_id, number, text, words, length) SELECT n, n, 0, 'x', '', 1 FROM generate_series(1, 301) AS n"
        )
        await tx.fetch(
            "INSERT INTO m_0.vector_0 (passage_id, kind, owner_id, text_hash, vector) SELECT n, 0, n, 0, "
            "ARRAY[sin(n * 0.02), cos(n * 0.02), 0]::real[]::halfvec FROM generate_series(1, 300) AS n"
        )
        space = tx.space
    assert space is not None
    with owner_connection(projects._owner_url) as owner:
        found = owner.execute("SELECT extnamespace::regnamespace::text AS place FROM pg_extension WHERE extname = 'vector'").fetchone()
        assert found is not None
        owner.execute(f"SET search_path = {found['place']}")
        owner.execute(f"CREATE INDEX ON {small.schema}.vector_{space.id} USING hnsw (vector halfvec_cosine_ops) WHERE kind = 0")
        owner.execute(f"ANALYZE {small.schema}.vector_{space.id}")
    return small


@pytest.mark.parametrize("limits", [GraphLimits(), THROUGH_THE_INDEX])
async def test_finds_the_neighbours_either_way(ask: Any, circle: ProjectRef, limits: GraphLimits) -> None:
    answer = await ask(
        "START a = events(ids: ['evt_9', 'evt_50', 'evt_301']) MATCH (a)-[:SIMILAR {k: 2}]-(b) RETURN a.id, b.id ORDER BY a.id, b.id",
        limits=limits,
    )
    assert answer.rows == [["evt_9", "evt_8"], ["evt_9", "evt_10"], ["evt_50", "evt_49"], ["evt_50", "evt_51"]]
    assert not answer.partial


async def test_a_short_list_is_a_cut(ask: Any, circle: ProjectRef, monkeypatch: pytest.MonkeyPatch) -> None:
    async def narrowed(tx: Any, budget: Any) -> bool:
        found = await vector_scans.widen_scans(tx, budget)
        # The index alone, and no more of it than two vectors.
        await tx.set_local(enable_seqscan="off", enable_sort="off", hnsw__iterative_scan="off", hnsw__ef_search=2)
        return found

    monkeypatch.setattr(walker, "widen_scans", narrowed)
    query = "START a = events(ids: ['evt_9']) MATCH (a) MATCH (a)-[:SIMILAR {k: 20}]-(b) RETURN count(b)"
    answer = await ask(query, limits=THROUGH_THE_INDEX)
    assert answer.rows[0][0] < 20
    assert [(cut.where, cut.reason) for cut in answer.truncated] == [("match[1]", "unfilled")]
    assert answer.partial
    assert answer.notes == [
        f"walk cut at match[1] (unfilled) - rows may be missing; {NOT_CONFIRMED}",
        "aggregates cover only what was walked before the cut",
    ]
    assert ((await ask(query)).rows, (await ask(query)).partial) == ([[20]], False)


async def test_fewer_events_than_k_are_no_cut(ask: Any, memory: Any, circle: ProjectRef) -> None:
    async with memory.database.write(circle) as tx:
        await tx.execute("DELETE FROM m_0.vector_0 WHERE owner_id > 4")
    answer = await ask(
        "START a = events(ids: ['evt_1', 'evt_301']) MATCH (a)-[:SIMILAR {k: 20}]-(b) RETURN b.id",
        limits=GraphLimits(exact_candidates=1),
    )
    assert (answer.rows, answer.partial) == ([["evt_2"], ["evt_3"], ["evt_4"]], False)


@pytest.mark.parametrize("pattern", ["(a)-[:SIMILAR {k: 1}]-(b)", "(b)-[:SIMILAR {k: 1}]-(a)"])
async def test_between_bound_ends_it_is_asked_from_the_one_bound_first(ask: Any, memory: Any, circle: ProjectRef, pattern: str) -> None:
    async with memory.database.write(circle) as tx:
        await tx.execute("DELETE FROM m_0.vector_0 WHERE NOT owner_id = ANY('{1, 100, 120}')")
    query = f"START a = events(ids: ['evt_1']) MATCH (a)-[:SHARES]-(b {{id: $b}}) MATCH {pattern} RETURN b.id"
    # The nearest of evt_1 is evt_100, and that of evt_100 is evt_120.
    assert (await ask(query, b="evt_100")).rows == [["evt_100"]]
    assert (await ask(query, b="evt_120")).rows == []


async def test_the_least_cosine_is_asked_after_the_k_nearest(ask: Any, circle: ProjectRef) -> None:
    answer = await ask(
        "START a = events(ids: ['evt_9']) MATCH (a)-[f:SIMILAR {k: 4, min: $min}]-(b) WHERE b.order_index > 9 RETURN b.id",
        min=0.9999 - 0.0003,
    )
    assert answer.rows == [["evt_10"]]
