"""A search with a judge: what it changes and what not, and that no connection waits for a model."""

import time
from collections.abc import AsyncIterator, Sequence

import pytest

from service.db import budget
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.search.answer import SearchAnswer
from service.search.parse import SearchRequest, SearchSettings
from service.search.rerank import NoJudgement, Reranker
from service.search.run import memory_query
from service.tenants.migrate import MigrationReport
from tests.conftest import Memory
from tests.integration.search.conftest import FixedEmbedder, paths


@pytest.fixture
async def narrow(migrated: MigrationReport) -> AsyncIterator[Database]:
    """A pool of one connection: who holds it while a model runs, keeps all others waiting."""
    opened = await Database.open(migrated.api_url, max_size=1)
    yield opened
    await opened.close()


class Judge:
    """Scores later texts higher, or does not judge; reads in the database while it is at it."""

    provider, model = "chat", "judge-1"

    def __init__(self, database: Database, project: ProjectRef, *, works: bool = True) -> None:
        self.database, self.project, self.works = database, project, works
        self.judged: list[int] = []

    async def judge(self, query: str, texts: Sequence[str]) -> Sequence[tuple[int, float]]:
        self.judged.append(len(texts))
        async with self.database.read(self.project) as tx:
            assert await tx.fetchval("SELECT 1") == 1
        if not self.works:
            raise NoJudgement("failed")
        return [(place, place / len(texts)) for place in range(len(texts))]


class ReadingEmbedder(FixedEmbedder):
    """Reads in the database while it embeds."""

    def __init__(self, database: Database, project: ProjectRef) -> None:
        super().__init__([1.0, 0.0], 2)
        self.database, self.project = database, project

    async def __call__(self, text: str) -> str:
        async with self.database.read(self.project) as tx:
            assert await tx.fetchval("SELECT 1") == 1
        return await super().__call__(text)


async def search(
    database: Database,
    projects: Sequence[ProjectRef],
    *,
    reranker: Reranker | None = None,
    limit: int = 10,
    embed: FixedEmbedder | None = None,
    rerank: bool | None = None,
    query: str = "kumquat",
) -> SearchAnswer:
    request = SearchRequest(query=query, limit=limit, explain=True, rerank=rerank)
    return await memory_query(database, projects, request, embedders=[embed] * len(projects), settings=SearchSettings(), reranker=reranker)


@pytest.fixture
async def orchard(project: ProjectRef, memory: Memory) -> ProjectRef:
    for number in range(35):
        await memory.page(project, f"p{number}.md", f"Page {number}", "kumquat " * (1 + number % 5) + f"number {number}")
    return project


async def test_no_connection_is_held_while_models_run(narrow: Database, orchard: ProjectRef) -> None:
    embed = ReadingEmbedder(narrow, orchard)
    for projects in ([orchard], [orchard, orchard]):
        judge = Judge(narrow, orchard)
        answer = await search(narrow, projects, reranker=judge, embed=embed)
        assert answer.hits
        assert not any("eranked" in note or "failed" in note for note in answer.notes)
        assert judge.judged == [30]
    assert len(embed.asked) == 2


async def test_the_first_thirty_are_judged_and_the_rest_follow(database: Database, orchard: ProjectRef) -> None:
    fused = paths(await search(database, [orchard], limit=35))
    judge = Judge(database, orchard)
    judged = await search(database, [orchard], reranker=judge, limit=35)
    assert len(fused) == 35
    assert paths(judged) == [*fused[:30][::-1], *fused[30:]]
    scores = [hit.explain.rerank_score for hit in judged.hits if hit.explain]
    assert scores[0] == pytest.approx(29 / 30)
    assert scores[30:] == [None] * 5
    assert {hit.path: hit.rank for hit in judged.hits} == {hit.path: hit.rank for hit in (await search(database, [orchard], limit=35)).hits}


async def test_the_limit_cuts_after_the_judgement(database: Database, orchard: ProjectRef) -> None:
    fused = paths(await search(database, [orchard], limit=35))
    assert paths(await search(database, [orchard], reranker=Judge(database, orchard), limit=3)) == fused[:30][::-1][:3]


async def test_without_a_judgement_the_order_stands_and_a_note_says_so(database: Database, orchard: ProjectRef) -> None:
    fused = paths(await search(database, [orchard]))
    answer = await search(database, [orchard], reranker=Judge(database, orchard, works=False))
    assert paths(answer) == fused
    assert "Not reranked: chat (judge-1) failed; the fused order stands." in answer.notes


async def test_fewer_than_two_hits_and_unwanted_judgements_are_skipped(database: Database, orchard: ProjectRef) -> None:
    judge = Judge(database, orchard)
    assert paths(await search(database, [orchard], reranker=judge, query='"number 7"')) == ["p7.md"]
    assert await search(database, [orchard], reranker=judge, rerank=False)
    assert judge.judged == []


async def test_a_judgement_that_is_asked_for_and_cannot_be_had_is_said(database: Database, orchard: ProjectRef) -> None:
    asked = await search(database, [orchard], rerank=True)
    assert "Not reranked: this server has no reranker; the fused order stands." in asked.notes
    assert paths(asked) == paths(await search(database, [orchard]))
    assert not any("eranked" in note for note in (await search(database, [orchard])).notes)


class Clock:
    """The time of day of budgets, which can be put on."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


class SlowEmbedder(FixedEmbedder):
    """Takes an hour."""

    def __init__(self, vector: Sequence[float], clock: Clock) -> None:
        super().__init__(vector)
        self._clock = clock

    async def __call__(self, text: str) -> str:
        self._clock.ahead += 3600
        return await super().__call__(text)


async def test_the_time_of_the_embedder_is_not_the_search_s(
    database: Database, orchard: ProjectRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(budget, "time", clock)
    embed = SlowEmbedder([1.0] + [0.0] * 383, clock)
    settings = SearchSettings(deadline_ms=60_000, statement_ms=60_000)
    answer = await memory_query(database, [orchard], SearchRequest(query="kumquat"), embedders=[embed], settings=settings)
    assert embed.asked
    assert answer.truncated == []
    assert answer.hits
