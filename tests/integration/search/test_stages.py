"""Statements of one call share a transaction: one that is cut costs only itself."""

import pytest

from service.db.budget import Budget, Cut
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.db.transaction import Opening

# Time enough for what takes none, on a busy machine too.
STATEMENT_MS = 1_000
ENDLESS = "SELECT count(*) AS n FROM generate_series(1, 100000000000) AS s"


async def test_a_cut_statement_leaves_the_others_and_the_settings(database: Database, project: ProjectRef) -> None:
    async with database.read(project) as tx:
        await tx.set_local(plan_cache_mode="force_generic_plan")
        budget = Budget(60_000, STATEMENT_MS)
        for number in range(2):
            assert await tx.fetchval("SELECT $1::integer", number, budget=budget) == number
            with pytest.raises(Cut) as cut:
                await tx.fetch(ENDLESS, budget=budget)
            assert cut.value.reason == "statement_timeout"
        assert await tx.fetchval("SHOW plan_cache_mode", budget=budget) == "force_generic_plan"
        assert await tx.fetchval("SHOW statement_timeout", budget=budget) == "1s"


async def test_what_has_no_budget_has_none_of_an_earlier_stages_time(database: Database, project: ProjectRef) -> None:
    show = "SHOW statement_timeout"
    async with database.read(project, opening=Opening(stage_ms=700)) as tx:
        assert await tx.fetchval(show, budget=Budget(60_000, 700)) == "700ms"
        own = await tx.fetchval(show)
        with pytest.raises(Cut):
            await tx.fetch(ENDLESS, budget=Budget(60_000, 50))
        assert await tx.fetchval(show, budget=Budget(60_000, 300)) == "300ms"
        with pytest.raises(Cut):
            await tx.fetch(ENDLESS, budget=Budget(60_000, 50))
        assert await tx.fetchval(show) == own
    async with database.read(project) as tx:
        assert await tx.fetchval(show) == own


async def test_a_transaction_begins_with_its_settings_and_its_first_savepoint(database: Database, project: ProjectRef) -> None:
    budget = Budget(60_000, 50)
    opening = Opening({"plan_cache_mode": "force_generic_plan", "hnsw.ef_search": 77}, stage_ms=50)
    async with database.read(project, opening=opening) as tx:
        with pytest.raises(Cut):
            await tx.fetch(ENDLESS, budget=budget)
        assert await tx.fetchval("SHOW plan_cache_mode", budget=budget) == "force_generic_plan"
        assert await tx.fetchval("SHOW hnsw.ef_search", budget=budget) == "77"
    async with database.read(project) as tx:
        assert await tx.fetchval("SHOW plan_cache_mode") == "auto"


@pytest.mark.parametrize(("name", "value"), [("work_mem", "1; COMMIT"), ("role", "'x'"), ("a b", 1)])
def test_what_is_no_plain_setting_begins_nothing(name: str, value: str | int) -> None:
    with pytest.raises(ValueError, match="not settings"):
        Opening({name: value}).statements()


async def test_what_was_written_before_a_cut_stays(database: Database, project: ProjectRef) -> None:
    budget = Budget(60_000, STATEMENT_MS)
    async with database.write(project) as tx:
        await tx.fetch("SELECT 1", budget=budget)
        await tx.execute("UPDATE m_0.counter SET events = 41")
        await tx.fetch("UPDATE m_0.counter SET pages = 7 RETURNING pages")
        with pytest.raises(Cut):
            await tx.fetch(ENDLESS, budget=budget)
    async with database.read(project) as tx:
        row = await tx.fetchrow("SELECT events, pages FROM m_0.counter")
    assert row is not None
    assert tuple(row) == (41, 7)
