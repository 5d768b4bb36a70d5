"""What is missing or failing costs itself, and is said."""

import asyncio
from collections.abc import Sequence

import pytest

from service.db.scope import ProjectRef
from service.embed.provider import EmbeddingUnavailable, Space
from service.search.parse import SearchRequest, SearchSettings
from service.search.run import memory_query
from tests.conftest import Memory, Projects
from tests.integration.search.conftest import Ask, FixedEmbedder, events


class Failing:
    """An embedder that fails in a given way."""

    space = Space("acme", "embed-1", 2)

    def __init__(self, error: Exception | None) -> None:
        self._error = error

    async def __call__(self, text: str) -> str:
        if self._error is None:
            await asyncio.Event().wait()
        raise self._error or AssertionError


@pytest.fixture
async def small(projects: Projects, memory: Memory) -> ProjectRef:
    project = projects.make(dim=2)
    saved = await memory.save(project, [{"summary": "heron by the weir"}, {"summary": "heron asleep"}])
    await memory.vectors(project, {saved[0]: [1.0, 0.0]})
    return project


async def test_without_an_embedder_words_answer(small: ProjectRef, ask: Ask) -> None:
    answer = await ask(small, "heron")
    assert len(answer.raw_hits) == 2
    assert answer.streams_active == ["fts", "entity", "graph"]
    assert any("No embedder" in note for note in answer.notes)


@pytest.mark.parametrize(
    "error",
    [EmbeddingUnavailable(Space("acme", "embed-1", 2), "unavailable"), OSError("secret sk-1"), ValueError("secret sk-1"), None],
)
async def test_a_failing_embedder_is_named_and_costs_one_stream(small: ProjectRef, ask: Ask, error: Exception | None) -> None:
    answer = await ask(small, "heron", embed=Failing(error), settings=SearchSettings(embed_ms=50))
    assert len(answer.raw_hits) == 2
    assert "vector" not in answer.streams_active
    note = next(note for note in answer.notes if "acme" in note)
    assert "embed-1" in note
    assert "sk-1" not in " ".join(answer.notes)


@pytest.mark.parametrize("vector", ["[1.0]", "[0,0]", "[NaN,1]", "[1e999,1]", "[]", "prose", '["a","b"]', "[1,2,3]"])
async def test_a_bad_vector_costs_one_stream(small: ProjectRef, ask: Ask, vector: str) -> None:
    answer = await ask(small, "heron", embed=FixedEmbedder(vector, 2))
    assert len(answer.raw_hits) == 2
    assert "vector" not in answer.streams_active
    assert any("cannot be used" in note and "test" in note and "vectors" in note for note in answer.notes)


async def test_another_space_is_never_compared(small: ProjectRef, ask: Ask) -> None:
    answer = await ask(small, "heron", embed=FixedEmbedder([1.0, 0.0, 0.0]))
    assert "vector" not in answer.streams_active
    assert any("holds vectors of test (vectors, 2)" in note for note in answer.notes)


async def test_rows_without_a_vector_are_counted(small: ProjectRef, ask: Ask) -> None:
    answer = await ask(small, "heron", embed=FixedEmbedder([1.0, 0.0]))
    assert any(note.startswith("1 passages have no vector yet") for note in answer.notes)
    assert len(answer.raw_hits) == 2


async def test_what_is_cut_is_said_and_the_rest_answers(small: ProjectRef, ask: Ask) -> None:
    answer = await ask(small, "heron", embed=FixedEmbedder([1.0, 0.0]), settings=SearchSettings(deadline_ms=0))
    assert answer.partial
    assert {cut.where for cut in answer.truncated} >= {"fts", "entity", "vector", "graph"}
    assert answer.streams_active == []
    assert (answer.hits, answer.raw_hits) == ([], [])


async def test_too_many_candidates_are_a_cut_to_the_newest(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    saved = await memory.save(project, [{"summary": f"heron {number}"} for number in range(40)])
    answer = await ask(project, "heron", limit=100, settings=SearchSettings(max_candidates=10))
    assert events(answer)
    assert set(events(answer)) <= set(saved[30:])
    assert answer.partial
    assert (answer.truncated[0].where, answer.truncated[0].reason) == ("fts", "row_budget")


async def test_a_name_on_too_many_events_is_said(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    await memory.save(project, [{"summary": f"entry {number}", "entities": [("Ledger", "thing")]} for number in range(12)])
    answer = await ask(project, "ledger", limit=100, settings=SearchSettings(fan=5))
    assert "Ledger takes part in 12 events: the newest 5 were ranked by it." in answer.notes
    assert {hit.id for hit in answer.raw_hits} >= {f"evt_{number}" for number in range(8, 13)}


async def test_explain_counts_the_candidates_of_each_stream(small: ProjectRef, ask: Ask) -> None:
    answer = await ask(small, "heron", embed=FixedEmbedder([1.0, 0.0]), explain=True)
    assert answer.stream_counts == {"fts": 2, "entity": 0, "vector": 1}


class Judge:
    """A reranker that says what it is told to."""

    provider = "acme"
    model = "judge-1"

    def __init__(self, said: Sequence[tuple[int, float]] | Exception | None) -> None:
        self._said = said

    async def judge(self, query: str, texts: Sequence[str]) -> Sequence[tuple[int, float]]:
        if self._said is None:
            await asyncio.Event().wait()
        if isinstance(self._said, Exception):
            raise self._said
        return self._said or []


async def _judged(memory: Memory, project: ProjectRef, judge: Judge, *, rerank: bool | None = None):
    request = SearchRequest(query="heron", rerank=rerank, explain=True)
    return await memory_query(memory.database, [project], request, embedders=[None], settings=SearchSettings(rerank_ms=50), reranker=judge)


async def test_the_list_follows_the_judge_and_the_rank_stays(small: ProjectRef, memory: Memory, ask: Ask) -> None:
    before = await ask(small, "heron")
    after = await _judged(memory, small, Judge([(1, 0.9), (0, 0.2)]))
    assert events(after) == events(before)[::-1]
    assert [hit.rank for hit in after.raw_hits] == [hit.rank for hit in before.raw_hits][::-1]
    assert [hit.explain.rerank_score for hit in after.raw_hits] == [0.9, 0.2]
    assert events(await _judged(memory, small, Judge([(1, 0.9), (0, 0.2)]), rerank=False)) == events(before)


@pytest.mark.parametrize(
    "said",
    [[(0, 1.0)], [(0, 1.0), (0, 0.5)], [(0, 1.0), (99, 0.5)], [(0, float("nan")), (1, 1.0)], [(0, 2.0), (1, 0.5)], [], OSError(), None],
)
async def test_nonsense_of_a_judge_changes_nothing(
    small: ProjectRef, memory: Memory, ask: Ask, said: Sequence[tuple[int, float]] | Exception | None
) -> None:
    before = await ask(small, "heron")
    after = await _judged(memory, small, Judge(said))
    assert events(after) == events(before)
    assert any("Not reranked: acme (judge-1)" in note for note in after.notes)
