"""Where the words of a query say little, its vector decides; where they say enough, they do."""

import pytest

from service.db.scope import ProjectRef
from service.search.answer import EventHit, SearchAnswer
from service.search.parse import SearchSettings
from tests.conftest import Memory, Projects
from tests.integration.search.conftest import Ask, FixedEmbedder, events

QUERY = "extra charge for nobody"
EMBED = FixedEmbedder([1.0, 0.0])
MEANT, SPELLED = [1.0, 0.1], [0.1, 1.0]


@pytest.fixture
async def billed(projects: Projects, memory: Memory) -> ProjectRef:
    """Twelve events: the first is meant by the query, the second has one of its words, the others neither."""
    project = projects.make(dim=2)
    saved = await memory.save(
        project, [{"summary": "billed a seat too many"}, {"summary": "extra cheese"}, *({"summary": f"note {n}"} for n in "abcdefghij")]
    )
    await memory.vectors(project, {event: [0.2, 1.0] for event in saved} | {saved[0]: MEANT, saved[1]: SPELLED})
    return project


def vector_share(hit: EventHit, settings: SearchSettings) -> float:
    """The weight that explain shows."""
    return hit.explain.rrf["vector"] * (settings.k + hit.explain.vector_rank)


def check_sums(answer: SearchAnswer) -> None:
    for hit in answer.raw_hits:
        assert hit.rank == hit.explain.fused == pytest.approx(sum(part for part in hit.explain.rrf.values() if part))


async def test_what_is_meant_comes_before_what_shares_a_word(billed: ProjectRef, ask: Ask) -> None:
    settings = SearchSettings()
    answer = await ask(billed, QUERY, embed=EMBED, explain=True, limit=50)
    assert events(answer)[0] == "evt_1"
    assert vector_share(answer.raw_hits[0], settings) == pytest.approx(10.0)
    check_sums(answer)
    for limit in (1, 3, 11):
        assert events(await ask(billed, QUERY, embed=EMBED, limit=limit)) == events(answer)[:limit]
    never = SearchSettings(vector_lead=1.0)
    answer = await ask(billed, QUERY, embed=EMBED, explain=True, settings=never)
    assert events(answer)[0] == "evt_2"
    assert vector_share(answer.raw_hits[0], never) == pytest.approx(0.1)
    check_sums(answer)


@pytest.mark.parametrize("query", ["extra cheese", "evt_2", "extra charge in June 2026"])
async def test_what_is_spelled_whole_or_named_comes_first(billed: ProjectRef, ask: Ask, query: str) -> None:
    answer = await ask(billed, query, embed=EMBED, explain=True)
    assert events(answer)[0] == "evt_2"
    assert vector_share(answer.raw_hits[0], SearchSettings()) == pytest.approx(0.1)


async def test_a_long_text_that_holds_the_query_comes_first(billed: ProjectRef, memory: Memory, ask: Ask) -> None:
    (saved,) = await memory.save(billed, [{"summary": "handbook", "content": f"{'many other words of no account ' * 30} cellulose"}])
    await memory.vectors(billed, {saved: SPELLED})
    answer = await ask(billed, "cellulose", embed=EMBED)
    assert events(answer)[0] == saved


async def test_vectors_do_not_lead_while_many_are_missing(billed: ProjectRef, memory: Memory, ask: Ask) -> None:
    await memory.save(billed, [{"summary": f"not yet {number}"} for number in range(3)])
    assert events(await ask(billed, QUERY, embed=EMBED))[0] == "evt_2"


async def test_one_rule_stands_over_several_projects(projects: Projects, memory: Memory, ask: Ask) -> None:
    first, second = projects.make("shared", dim=2), projects.make("shared", dim=2)
    meant, *others = await memory.save(first, [{"summary": "billed a seat too many"}, *({"summary": f"note {n}"} for n in "abcdefgh")])
    await memory.vectors(first, {event: [0.2, 1.0] for event in others} | {meant: MEANT})
    for project in (first, second):
        (spelled,) = await memory.save(project, [{"summary": "extra cheese"}])
        await memory.vectors(project, {spelled: SPELLED})
    answer = await ask([first, second], QUERY, embed=EMBED, explain=True)
    assert (answer.raw_hits[0].project, answer.raw_hits[0].id) == (first.project, meant)
    assert {round(vector_share(hit, SearchSettings()), 6) for hit in answer.raw_hits} == {10.0}
    check_sums(answer)
    assert events(await ask([second], QUERY, embed=EMBED)) == [spelled]


@pytest.mark.parametrize("filters", [{}, {"kinds": ["note"]}])
async def test_a_stored_vector_of_zeros_is_near_nothing(
    billed: ProjectRef, memory: Memory, ask: Ask, filters: dict[str, list[str]]
) -> None:
    await memory.vectors(billed, {"evt_3": [0.0, 0.0], "evt_4": [0.0, 0.0]})
    answer = await ask(billed, "nobody", embed=EMBED, explain=True, limit=50, **filters)
    assert events(answer)[0] == "evt_1"
    assert {"evt_3", "evt_4"}.isdisjoint(hit.id for hit in answer.raw_hits if hit.explain.vector_rank)
    assert len(answer.raw_hits) >= 10
