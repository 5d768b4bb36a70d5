import pytest

from service.errors import InvalidRequest
from service.graph.rejection import GraphRejection
from tests.integration.operations.conftest import Desk

EVENTS = (
    {"summary": "apples were picked", "entities": [("Anna", "person"), ("orchard", "place")], "tags": ["area/fruit"]},
    {"summary": "pears were picked", "entities": [("Anna", "person")], "tags": ["area/fruit"], "previous": "evt_1", "session": "autumn"},
    {"summary": "engines were mended", "entities": [("garage", "place")], "kind": "fix"},
    {"summary": "nothing has a vector here", "entities": [("Anna", "person")]},
)


async def fill(desk: Desk) -> None:
    for event in EVENTS:
        await desk.save(event)


async def test_the_closest_come_first_with_what_belongs_to_them(desk: Desk) -> None:
    await fill(desk)
    answer = await desk.ask("search_memory", query="apples?", limit=2)
    assert [(hit.id, round(hit.score, 2)) for hit in answer.hits] == [("evt_1", 1.0), ("evt_2", 0.8)]
    assert (answer.hits[1].session, answer.hits[1].entities, answer.hits[1].tags) == ("autumn", ["Anna"], ["area/fruit"])
    assert any("1 events in scope have no vector" in note for note in answer.notes)


async def test_the_hint_tells_what_the_hits_share(desk: Desk) -> None:
    await fill(desk)
    hint = (await desk.ask("search_memory", query="apples?", limit=2)).hint
    assert [(seen.name, seen.hits) for seen in hint.entities] == [("Anna", 2), ("orchard", 1)]
    assert [(seen.name, seen.hits) for seen in hint.tags] == [("area/fruit", 2)]
    assert [(thread.start, thread.end, thread.source) for thread in hint.threads] == [("evt_1", "evt_2", "thread")]


@pytest.mark.parametrize("scoped", [True, False])
async def test_the_example_runs_as_it_is(desk: Desk, scoped: bool) -> None:
    await fill(desk)
    desk = desk.without(scoped_match=scoped)
    example = (await desk.ask("search_memory", query="apples 'and\" \\more", limit=2)).hint.graph_query.example
    answer = await desk.ask("query_memory_graph", query=example.query, params=example.params)
    assert answer.row_count > 0
    assert answer.partial is False


async def test_scoped_match_can_be_off_in_one_workspace(desk: Desk) -> None:
    await fill(desk)
    query = {"query": "START a = events(entity: 'Anna', text: 'apples') RETURN a"}
    off = desk.without(scoped_match_off_in=["another", desk.project.workspace])
    with pytest.raises(GraphRejection) as rejection:
        await off.ask("query_memory_graph", **query)
    assert rejection.value.message.endswith("is not available on this server (scoped match is off)")
    example = (await off.ask("search_memory", query="apples")).hint.graph_query.example
    assert (await off.ask("query_memory_graph", query=example.query, params=example.params)).row_count > 0
    assert (await off.ask("find_memory_connections", query="apples", parts=["similar"])).similar
    beside = desk.without(scoped_match_off_in=["another"])
    assert (await beside.ask("query_memory_graph", **query)).row_count > 0


async def test_an_example_for_tags_and_for_bare_events(desk: Desk) -> None:
    await desk.save({"summary": "apples", "tags": ["area/fruit"]}, {"summary": "engines"})
    for query in ("apples", "engines"):
        example = (await desk.ask("search_memory", query=query, limit=1)).hint.graph_query.example
        assert (await desk.ask("query_memory_graph", query=example.query, params=example.params)).row_count > 0


async def test_no_example_where_the_graph_is_off_or_nothing_was_found(desk: Desk) -> None:
    assert (await desk.ask("search_memory", query="apples")).hint.graph_query is None
    await fill(desk)
    off = desk.without(graph=False)
    answer = await off.ask("search_memory", query="apples")
    assert answer.hits
    assert answer.hint.graph_query is None


async def test_a_scope_narrows(desk: Desk) -> None:
    await fill(desk)
    assert [hit.id for hit in (await desk.ask("search_memory", query="apples", entity="garage")).hits] == ["evt_3"]
    assert [hit.id for hit in (await desk.ask("search_memory", query="engines", tag="fruit")).hits] == ["evt_1", "evt_2"]
    answer = await desk.ask("search_memory", query="apples", entity="nobody")
    assert answer.hits == []
    assert any("no entity is named 'nobody'" in note for note in answer.notes)


@pytest.mark.parametrize("reason", ["none", "failing"])
async def test_without_a_vector_the_answer_says_so(desk: Desk, reason: str) -> None:
    await fill(desk)
    desk = desk.without(embedding=reason != "none")
    answer = await desk.ask("search_memory", query="unknown words")
    assert (answer.hits, answer.partial) == ([], True)
    assert [cut.reason for cut in answer.truncated] == ["no_embedding"]
    assert not any("scoped START" in note for note in answer.notes)  # said in the words of the tool, not of the language
    assert any("memory_query" in note for note in answer.notes)


@pytest.mark.parametrize("arguments", [{"query": " "}, {"query": "apples", "entity": "a", "tag": "b"}])
async def test_what_cannot_be_asked(desk: Desk, arguments: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        await desk.ask("search_memory", **arguments)


async def test_a_very_long_query_is_read_as_far_as_it_goes(desk: Desk) -> None:
    await fill(desk)
    answer = await desk.ask("search_memory", query="apples " * 3000, limit=1)
    assert [hit.id for hit in answer.hits] == ["evt_1"]
    assert any("first 8000 characters" in note for note in answer.notes)
