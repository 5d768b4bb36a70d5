"""Walks that are too wide: what is kept of them, and what is said."""

from typing import Any

import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.graph.answer import NOT_CONFIRMED
from service.graph.limits import GraphLimits


@pytest.fixture
async def hub(database: Database, small: ProjectRef) -> None:
    """Events 1 and 3 have few neighbours; event 2 takes part in two hubs of 700."""
    async with database.write(small) as tx:
        await tx.fetch("INSERT INTO m_0.event (id, summary) SELECT n, 'event ' || n FROM generate_series(1, 710) AS n")
        await tx.fetch("INSERT INTO m_0.entity (id, name, type, folded) SELECT n, 'n' || n, 't', 'n' || n FROM generate_series(1, 6) AS n")
        await tx.fetch(
            "INSERT INTO m_0.participation (event_id, entity_id) SELECT n, h FROM generate_series(11, 710) AS n, generate_series(1, 2) AS h"
        )
        await tx.fetch(
            "INSERT INTO m_0.participation (event_id, entity_id) VALUES (2, 1), (1, 3), (4, 3), (1, 4), (6, 4), (3, 5), (5, 5), (3, 6), (7, 6)"
        )


WIDE = "START a = events(ids: ['evt_1', 'evt_2', 'evt_3']) MATCH (a)-[:PARTICIPATED_IN]-(e)"
FAR_TOO_WIDE = (
    WIDE + "-[:PARTICIPATED_IN]-(b) MATCH (b)-[:PARTICIPATED_IN]-(f)-[:PARTICIPATED_IN]-(c)-[:PARTICIPATED_IN]-(g)-[:PARTICIPATED_IN]-(d)"
)


async def test_a_walk_that_is_too_wide_keeps_the_starts_it_finished(ask: Any, hub: None) -> None:
    limits = GraphLimits(deadline_ms=6_000, row_budget=10**12)
    answer = await ask(FAR_TOO_WIDE + " WHERE NOT e.name CONTAINS 'xx' RETURN a.id, count(*)", limits=limits)
    assert answer.partial
    assert [cut.where for cut in answer.truncated] == ["match[1]"]
    reason = answer.truncated[0].reason
    assert reason in ("deadline", "statement_timeout")
    assert answer.notes == [
        f"CONTAINS filtered after the walk and the walk was truncated - {NOT_CONFIRMED}",
        f"walk cut at match[1] ({reason}) - rows may be missing; {NOT_CONFIRMED}",
        "aggregates cover only what was walked before the cut",
    ]
    assert "evt_1" in [row[0] for row in answer.rows]
    assert "evt_2" not in [row[0] for row in answer.rows]


async def test_one_start_that_is_too_wide_gives_nothing_and_says_so(ask: Any, hub: None) -> None:
    limits = GraphLimits(statement_ms=1_000, row_budget=10**12)
    answer = await ask(FAR_TOO_WIDE.replace("'evt_1', 'evt_2', 'evt_3'", "'evt_2'") + " RETURN d", limits=limits)
    assert (answer.rows, answer.partial) == ([], True)
    assert [(cut.where, cut.reason) for cut in answer.truncated] == [("match[1]", "statement_timeout")]
    assert answer.notes == [f"walk cut at match[1] (statement_timeout) - rows may be missing; {NOT_CONFIRMED}"]


@pytest.mark.parametrize("returned", ["b", "count(*)", "DISTINCT b"])
async def test_more_rows_than_the_budget_are_cut(ask: Any, hub: None, returned: str) -> None:
    answer = await ask(WIDE + f"-[:PARTICIPATED_IN]-(b) RETURN {returned} LIMIT 200", limits=GraphLimits(row_budget=100))
    assert [(cut.where, cut.reason) for cut in answer.truncated] == [("match[0]", "row_budget")]
    assert answer.partial
    assert answer.notes[0] == f"walk cut at match[0] (row_budget) - rows may be missing; {NOT_CONFIRMED}"
    assert answer.rows


async def test_the_budget_holds_between_clauses_too(ask: Any, hub: None) -> None:
    query = WIDE + "-[:PARTICIPATED_IN]-(b) MATCH (b)-[:PARTICIPATED_IN]-(f) WHERE f.name = 'none' RETURN b"
    answer = await ask(query, limits=GraphLimits(row_budget=100))
    assert (answer.rows, [(cut.where, cut.reason) for cut in answer.truncated]) == ([], [("match[0]", "row_budget")])


async def test_a_walk_within_its_budget_is_not_cut(ask: Any, hub: None) -> None:
    answer = await ask(WIDE + "-[:PARTICIPATED_IN]-(b) RETURN count(*)", limits=GraphLimits(row_budget=704))
    assert (answer.rows, answer.partial) == ([[704]], False)
