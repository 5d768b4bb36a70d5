"""The graph stream: what stands one step from the first hits."""

import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.search.parse import SearchRequest, SearchSettings
from service.search.plan import plan_search
from service.search.stages import Stage, find_neighbours
from service.search.streams.graph import Seed
from tests.conftest import Memory
from tests.integration.search.conftest import Ask


async def test_the_graph_brings_neighbours_of_the_best(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    await memory.page(project, "start.md", "Start", "The zeppelin, see [[hangar]].")
    await memory.page(project, "hangar.md", "Hangar", "A large hall.")
    await memory.page(project, "back.md", "Back", "Leads to [[start]].")
    plan, shared = await memory.save(project, [{"summary": "Plan a zeppelin flight"}, {"summary": "other", "entities": [("Graf", "ship")]}])
    after, done, carried = await memory.save(
        project,
        [
            {"summary": "Then it rained", "previous": plan},
            {"summary": "It flew", "resolves": [plan]},
            {"summary": "The zeppelin's captain", "entities": [("Graf", "ship")]},
        ],
    )
    answer = await ask(project, "zeppelin", explain=True)
    page_via = {hit.path: hit.explain.graph_via for hit in answer.hits}
    event_via = {hit.id: hit.explain.graph_via for hit in answer.raw_hits}
    assert page_via["hangar.md"] == ["LINKS pg_1"]
    assert page_via["back.md"] == ["LINKED_BY pg_1"]
    assert event_via[after] == [f"NEXT {plan}"]
    assert event_via[done] == [f"RESOLVED_BY {plan}"]
    assert event_via[shared] == ["SHARES Graf"]
    assert carried in event_via
    assert {hit.explain.fts_rank for hit in answer.hits if hit.path != "start.md"} == {None}


async def test_seeds_of_one_score_each_bring_what_they_share(project: ProjectRef, memory: Memory, database: Database) -> None:
    first, second, third = await memory.save(
        project, [{"summary": text, "entities": [("Graf", "ship")]} for text in ("one", "two", "three")]
    )
    numbers = [int(name.removeprefix("evt_")) for name in (first, second, third)]
    async with database.read(project) as tx:
        stage = Stage(tx, 1, plan_search(SearchRequest(query="any")), SearchSettings(), None)
        found = await find_neighbours(stage, [Seed(1, False, number, 0.3) for number in numbers[:2]], ())
    assert {each.id: each.score for each in found} == pytest.approx(dict(zip(numbers, (0.1, 0.1, 0.2), strict=True)))


async def test_a_step_is_explained_once_though_several_seeds_make_it(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    count, coast = ("Graf", "ship"), ("Zinn", "place")
    await memory.save(project, [{"summary": "elsewhere", "entities": [coast]} for _ in range(6)])
    *_, shared = await memory.save(
        project,
        [
            {"summary": "zeppelin", "entities": [count, coast]},
            *({"summary": f"a zeppelin more, the {number}th", "entities": [count]} for number in range(3)),
            {"summary": "other", "entities": [count, coast]},
        ],
    )
    answer = await ask(project, "zeppelin", explain=True)
    assert {hit.id: hit.explain.graph_via for hit in answer.raw_hits}[shared] == ["SHARES Graf", "SHARES Zinn"]
