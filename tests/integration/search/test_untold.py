"""What an event carries and its text does not say: entities and tags; and what is said when nothing holds a word of the query."""

import pytest

from service.db.scope import ProjectRef
from service.search.parse import SearchSettings
from tests.conftest import Memory, Projects
from tests.integration.search.conftest import Ask, FixedEmbedder, events

NEAR = "No text and no name holds a word of the query: what is listed is near it in meaning, at best."


async def test_a_name_counts_though_no_text_says_it(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    """Beside the words of others, before what only stands next to a match."""
    said, carried, _, both = await memory.save(
        project,
        [
            {"summary": "Ilse opened the harbour", "session": "one"},
            {"summary": "Locks move to the other store", "entities": [("Ilse Brandt", "person")]},
            {"summary": "it rained", "session": "one"},
            {"summary": "The harbour has a crane", "entities": [("Ilse Brandt", "person")]},
        ],
    )
    answer = await ask(project, "Ilse", explain=True)
    assert set(events(answer)[:3]) == {said, carried, both}
    assert {hit.id for hit in answer.raw_hits if hit.explain.fts_rank is not None} >= {said, carried, both}


async def test_the_first_name_that_a_text_says_does_not_hide_the_whole_one(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    _, carried = await memory.save(
        project,
        [
            {"summary": "Then Jonas left", "entities": ["Jonas"]},
            {"summary": "Paired on prices", "entities": [("Jonas Petersen", "person")]},
        ],
    )
    assert carried in events(await ask(project, "Jonas"))


async def test_a_name_of_which_the_query_has_a_part_of_a_word_is_no_text(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    (carried,) = await memory.save(project, [{"summary": "Paired on prices", "entities": [("Redisson Labs", "company")]}])
    answer = await ask(project, "redis", explain=True)
    assert {hit.id: hit.explain.fts_rank for hit in answer.raw_hits} == {carried: None}


async def test_what_many_carry_is_no_text(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    rare = SearchSettings(rare=2)
    await memory.save(project, [{"summary": f"number {number}", "entities": [("Zinn", "place")]} for number in range(3)])
    answer = await ask(project, "the shore of Zinn", explain=True, settings=rare)
    assert {hit.explain.fts_rank for hit in answer.raw_hits} == {None}


async def test_vectors_do_not_lead_past_a_name(projects: Projects, memory: Memory, ask: Ask) -> None:
    """A name that the whole query is holds it, though no text does."""
    project = projects.make(dim=2)
    saved = await memory.save(
        project,
        [
            {"summary": "meant"},
            {"summary": "carried", "entities": [("Priya Nair", "person")]},
            *({"summary": f"note {n}"} for n in "abcdefgh"),
        ],
    )
    await memory.vectors(project, {event: [0.3, 1.0] for event in saved} | {saved[0]: [1.0, 0.1], saved[1]: [0.1, 1.0]})
    meaning = FixedEmbedder([1.0, 0.0])
    assert events(await ask(project, "Priya", embed=meaning))[0] == saved[1]
    assert events(await ask(project, "nobody here", embed=meaning))[0] == saved[0]


async def test_a_date_alone_puts_what_is_of_it_before_texts_that_say_it(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    said, of_it = await memory.save(
        project,
        [
            {"summary": "A budget of October 2026, and October 2026 again", "timestamp": "2026-07-09T10:00:00Z"},
            {"summary": "Refunds go through the queue", "timestamp": "2026-10-12T10:00:00Z"},
        ],
    )
    assert events(await ask(project, "October 2026"))[:2] == [of_it, said]
    assert events(await ask(project, "12 October 2026"))[:2] == [of_it, said]


async def test_streams_that_know_no_times_hardly_count_for_a_date_alone(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    """Whether or not there are vectors to hold texts against."""
    (first,) = await memory.save(project, [{"summary": "Refunds go through the queue", "timestamp": "2026-10-12T10:00:00Z"}])
    (after,) = await memory.save(project, [{"summary": "Then the queue was full", "previous": first}])
    (hit,) = [hit for hit in (await ask(project, "October 2026", explain=True)).raw_hits if hit.id == after]
    assert hit.explain.rrf["graph"] * (SearchSettings().k + hit.explain.graph_rank) == pytest.approx(0.0002)


async def test_umlauts_that_a_query_writes_out_are_found_in_a_project_of_another_language(
    project: ProjectRef, memory: Memory, ask: Ask
) -> None:
    await memory.save(project, [{"summary": "The ferry to the mainland is late"}])
    (island,) = await memory.save(project, [{"summary": "Next stop: Föhr"}])
    assert events(await ask(project, "Foehr")) == [island]


async def test_it_is_said_when_nothing_holds_a_word(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    await memory.save(project, [{"summary": "The ferry is late"}])
    assert NEAR in (await ask(project, "graphql")).notes
    assert NEAR not in (await ask(project, "ferry graphql")).notes
    assert NEAR not in (await ask(project, "the and of")).notes


async def test_it_is_said_that_filters_let_nothing_through(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    await memory.save(project, [{"summary": "The ferry is late", "kind": "note"}])
    answer = await ask(project, "ferry", kinds=["decisoin"], tags=["nope"])
    assert "Nothing that matches passes the filters: kinds, tags." in answer.notes
    assert not any("filters" in note for note in (await ask(project, "ferry", kinds=["note"])).notes)


async def test_what_was_not_looked_at_is_not_called_absent(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    await memory.save(project, [{"summary": "The ferry is late", "kind": "note"}])
    for filters in ({}, {"kinds": ["note"]}):
        answer = await ask(project, "ferry", settings=SearchSettings(deadline_ms=0), **filters)
        assert answer.partial
        assert not any("filters" in note or note == NEAR for note in answer.notes)
