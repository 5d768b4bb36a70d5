"""One search over projects of several embedding spaces: each by its own vector of the query, and ranks merged in the place of cosines."""

import asyncio
import math
import random
from collections.abc import Sequence

import pytest

from service.db.scope import ProjectRef
from service.embed.provider import EmbeddingUnavailable, Space
from service.search.answer import SearchAnswer
from service.search.parse import SearchSettings
from tests.conftest import Memory, Projects
from tests.integration.search.conftest import Ask, FixedEmbedder, events, paths

FLAT, DEEP = FixedEmbedder([1.0, 0.0]), FixedEmbedder([1.0, 0.0, 0.0])


class Away(FixedEmbedder):
    """Its provider does not answer."""

    async def __call__(self, text: str) -> str:
        raise EmbeddingUnavailable(Space("test", "vectors", self.space.dim), "unavailable")


async def near(memory: Memory, project: ProjectRef, cosines: Sequence[float], dim: int) -> list[str]:
    """Events at these cosines to the query's vector."""
    saved = await memory.save(project, [{"summary": f"{project.project} plain {number}"} for number in range(len(cosines))])
    vectors = [[cosine, math.sqrt(1 - cosine**2), *[0.0] * (dim - 2)] for cosine in cosines]
    await memory.vectors(project, dict(zip(saved, vectors, strict=True)))
    return saved


def ranked(answer: SearchAnswer) -> list[tuple[str, str, int, float]]:
    """Project, event, vector rank and cosine, in the order of the ranks."""
    explained = [(hit, hit.explain) for hit in answer.raw_hits if hit.explain]
    found = [
        (hit.project, hit.id, explain.vector_rank, explain.cosine) for hit, explain in explained if explain.vector_rank and explain.cosine
    ]
    return sorted(found, key=lambda each: each[2])


async def test_ranks_of_two_spaces_are_merged_and_cosines_are_shown_not_compared(projects: Projects, memory: Memory, ask: Ask) -> None:
    """The second space's best is further from the query than the first's worst, and stands beside the first's best."""
    one, other, deep = projects.make("two-spaces", dim=2), projects.make("two-spaces", dim=2), projects.make("two-spaces", dim=3)
    flat = await near(memory, one, [0.99, 0.9, 0.8], 2)
    more = await near(memory, other, [0.95, 0.7], 2)
    few = await near(memory, deep, [0.2, 0.4, 0.3], 3)
    asked = (len(FLAT.asked), len(DEEP.asked))
    answer = await ask([one, deep, other], "nothing alike", embed=[FLAT, DEEP, FLAT], explain=True)
    assert (len(FLAT.asked), len(DEEP.asked)) == (asked[0] + 1, asked[1] + 1)
    expected = [
        (one.project, flat[0], 0.99),
        (deep.project, few[1], 0.4),
        (deep.project, few[2], 0.3),  # a tie with the next: by the place of the project
        (other.project, more[0], 0.95),
        (one.project, flat[1], 0.9),
        (deep.project, few[0], 0.2),
        (one.project, flat[2], 0.8),
        (other.project, more[1], 0.7),
    ]
    found = ranked(answer)
    assert [each[:2] for each in found] == [each[:2] for each in expected]
    assert [each[3] for each in found] == pytest.approx([each[2] for each in expected], abs=2e-3)
    assert [each[2] for each in found] == list(range(1, 9))
    assert events(answer) == [each[1] for each in found]
    assert "vector" in answer.streams_active
    assert answer.notes == ["No text and no name holds a word of the query: what is listed is near it in meaning, at best."]
    for hit in answer.raw_hits:
        assert hit.explain
        assert hit.rank == hit.explain.fused == pytest.approx(sum(part for part in hit.explain.rrf.values() if part))


async def test_projects_of_one_space_are_ranked_by_cosine(projects: Projects, memory: Memory, ask: Ask) -> None:
    searched = [projects.make("one-space", dim=2) for _ in range(3)]
    cosines = [[0.3, 0.9], [0.8, 0.7, 0.6], [0.95, 0.1]]
    saved = [await near(memory, project, each, 2) for project, each in zip(searched, cosines, strict=True)]
    embed = FixedEmbedder([1.0, 0.0])
    found = ranked(await ask(searched, "nothing alike", embed=embed, explain=True))
    by_cosine = sorted(((cosine, event) for each, ids in zip(cosines, saved, strict=True) for cosine, event in zip(each, ids, strict=True)))
    assert [each[1] for each in found] == [event for _, event in reversed(by_cosine)]
    assert [each[3] for each in found] == pytest.approx([cosine for cosine, _ in reversed(by_cosine)], abs=2e-3)
    assert embed.asked == ["nothing alike"]


async def test_an_embedder_that_is_away_costs_the_projects_of_its_space(projects: Projects, memory: Memory, ask: Ask) -> None:
    flat, deep, deeper = projects.make("away", dim=2), projects.make("away", dim=3), projects.make("away", dim=3)
    for project, dim in ((flat, 2), (deep, 3), (deeper, 3)):
        await near(memory, project, [0.9, 0.8], dim)
    away = Away([1.0, 0.0, 0.0])
    answer = await ask([deep, flat, deeper], "plain", embed=[away, FLAT, away], explain=True)
    assert {each[0] for each in ranked(answer)} == {flat.project}
    assert {hit.project for hit in answer.raw_hits} == {flat.project, deep.project, deeper.project}
    assert "vector" in answer.streams_active
    assert not answer.partial
    assert answer.notes == [
        f"The embedder test (vectors) failed (unavailable), so the vector stream is absent in {deep.project}, {deeper.project}.",
    ]


async def test_a_project_without_an_embedder_costs_itself(projects: Projects, memory: Memory, ask: Ask) -> None:
    flat, deep = projects.make("without", dim=2), projects.make("without", dim=3)
    await near(memory, flat, [0.9], 2)
    await near(memory, deep, [0.9], 3)
    answer = await ask([flat, deep], "plain", embed=[None, DEEP], explain=True)
    assert {each[0] for each in ranked(answer)} == {deep.project}
    assert answer.notes == [f"No embedder is set up, so the vector stream is absent in {flat.project}."]


async def test_spaces_beyond_the_most_are_left_out_and_said(projects: Projects, memory: Memory, ask: Ask) -> None:
    flat, deep, deeper = projects.make("most", dim=2), projects.make("most", dim=3), projects.make("most", dim=3)
    for project, dim in ((flat, 2), (deep, 3), (deeper, 3)):
        await near(memory, project, [0.9], dim)
    embed = FixedEmbedder([1.0, 0.0])
    answer = await ask([flat, deep, deeper], "plain", embed=[embed, DEEP, DEEP], settings=SearchSettings(max_embedders=1), explain=True)
    assert {each[0] for each in ranked(answer)} == {deep.project, deeper.project}
    assert embed.asked == []
    assert len(answer.notes) == 1
    assert answer.notes[0].endswith(f"test (vectors) was not among them, so the vector stream is absent in {flat.project}.")


async def test_the_order_is_always_the_same_and_a_smaller_limit_gives_its_beginning(projects: Projects, memory: Memory, ask: Ask) -> None:
    """Many ties, words and vectors that disagree, pages that link to one another."""
    searched = [projects.make("same-order", dim=dim) for dim in (2, 3, 2, 3)]
    chance = random.Random(11)
    for project, dim in zip(searched, (2, 3, 2, 3), strict=True):
        await near(memory, project, [chance.choice([0.9, 0.5, 0.2]) for _ in range(12)], dim)
        for number in range(8):
            await memory.page(project, f"p{number}.md", f"Page {number}", f"plain {chance.randrange(4)} [[p{number // 2}]]")
    embed = [FLAT, DEEP, FLAT, DEEP]

    async def order(limit: int) -> tuple[list[str], list[str]]:
        answer = await ask(searched, "plain 3 things", embed=embed, limit=limit, explain=True)
        assert answer.streams_active == ["fts", "entity", "graph", "vector"]
        projects_of = [hit.project for hit in (*answer.hits, *answer.raw_hits)]
        found = [f"{project} {name}" for project, name in zip(projects_of, (*paths(answer), *events(answer)), strict=True)]
        return found[: len(answer.hits)], found[len(answer.hits) :]

    ten = await order(10)
    assert all(item == ten for item in await asyncio.gather(*(order(10) for _ in range(6))))
    for limit in (1, 5):
        assert await order(limit) == (ten[0][:limit], ten[1][:limit])
    assert len(set(ten[1])) == 10
