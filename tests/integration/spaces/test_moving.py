"""Projects move from one model to another while they are written and searched."""

import asyncio
from collections.abc import Sequence

import pytest

from service.access.scope import Scopes
from service.db.embedded import EmbeddedServer
from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.backfill import Backfill, Reach
from service.embed.provider import Embedded, Space, vector_text
from service.embed.query import QueryEmbedder
from service.embed.query_cache import QueryCache
from service.embed.spaces import BackfillLimits
from service.graph.limits import GraphLimits
from service.graph.run import run_query
from service.memory.lookup import read_status
from service.operations.operation import Services
from service.operations.searching import fitting_embedder
from service.search.answer import SearchAnswer
from service.search.parse import SearchRequest, SearchSettings
from service.search.run import memory_query
from service.settings import Settings
from tests.conftest import Memory, Projects
from tests.integration.spaces.conftest import LIMITS, Model, drain

SMALL, LARGE, TWIN = Model("vectors", 384), Model("large", 1536), Model("twin", 384)
QUESTION = "what was it"
K = 7


def find_model(space: Space) -> Model | None:
    return next((model for model in (SMALL, LARGE, TWIN) if model.space == space), None)


class Asking:
    """A server's query side with one model set up, that reaches the others for projects that are still in their spaces."""

    def __init__(self, database: Database, project: ProjectRef, model: Model) -> None:
        self.database = database
        self.project = project
        embedder = QueryEmbedder(model, QueryCache(), 5.0, find_model)
        self.services = Services(database=database, scopes=Scopes(database), settings=Settings(), embedder=embedder)

    async def both(self) -> tuple[list[str], list[str]]:
        """The nearest events, by memory_query and by a graph start."""
        async with fitting_embedder(self.services, [self.project]) as embed:
            found = await memory_query(
                self.database,
                [self.project],
                SearchRequest(query=QUESTION, limit=K),
                embed=embed,
                settings=SearchSettings(exact_vectors=60),
            )
        assert found.streams_active.count("vector") == 1, found.notes
        async with fitting_embedder(self.services, [self.project]) as embed:
            query = f"START a = events(text: $q, k: {K}) RETURN a"
            walked = await run_query(
                self.database, self.project, query, {"q": QUESTION}, embed=embed, limits=GraphLimits(exact_candidates=60)
            )
        return [hit.id for hit in found.raw_hits], [row[0]["id"] for row in walked.rows]

    async def search(self, text: str) -> SearchAnswer:
        async with fitting_embedder(self.services, [self.project]) as embed:
            request = SearchRequest(query=text, limit=K, explain=True)
            return await memory_query(self.database, [self.project], request, embed=embed, settings=SearchSettings(exact_vectors=60))

    async def is_found(self, text: str) -> bool:
        """Whether a search for a text gives the event that says it."""
        return text in {hit.summary for hit in (await self.search(text)).raw_hits}

    async def is_near(self, text: str) -> bool:
        """Whether that event is the nearest by its vector."""
        hits = (await self.search(text)).raw_hits
        return any(hit.summary == text and hit.explain and hit.explain.vector_rank == 1 for hit in hits)

    async def notes(self, text: str) -> list[str]:
        return (await self.search(text)).notes

    async def until(self, wanted: list[str]) -> None:
        """Asks until the answers are those: a process may know the space for two seconds."""
        async with asyncio.timeout(20):
            while await self.both() != (wanted, wanted):
                continue


async def exact(owner: OwnerDatabase, project: ProjectRef, model: Model) -> list[str]:
    """What measuring every head vector of the model's space gives."""
    rows = await owner.fetch("SELECT id FROM control.space WHERE (model, dim) = ($1, $2)", model.space.model, model.space.dim)
    vector = vector_text(model.vector(QUESTION))
    sql = (
        "SELECT v.owner_id FROM m_0.vector_0 AS v WHERE v.kind = 0 "
        "ORDER BY cosine_distance(v.vector, $1::text::halfvec), v.passage_id LIMIT $2"
    )
    found = await owner.fetch(sql, vector, K, project=project.project_id, space=rows[0]["id"])
    return [f"evt_{row['owner_id']}" for row in found]


async def tables(owner: OwnerDatabase, project: ProjectRef) -> list[str]:
    sql = "SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename LIKE 'vector%' ORDER BY 1"
    return [row["tablename"] for row in await owner.fetch(sql, project.schema)]


async def fill(memory: Memory, project: ProjectRef, count: int, place: str = "harbour") -> None:
    await memory.save(project, [{"summary": f"event number {n} of the {place}"} for n in range(count)])


@pytest.mark.parametrize("count", [50, 150], ids=["measured", "indexed"])
async def test_there_and_back_with_queries_all_the_while(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database, count: int
) -> None:
    project = projects.make(dim=384)
    await fill(memory, project, count)
    await drain(Backfill(owner, SMALL, LIMITS), owner)
    before = SMALL
    for after in (LARGE, SMALL, TWIN):
        asking = Asking(database, project, after)
        old = await exact(owner, project, before)
        await asking.until(old)
        answers: list[tuple[list[str], list[str]]] = []
        over = asyncio.Event()

        async def ask(asking: Asking, answers: list[tuple[list[str], list[str]]], over: asyncio.Event) -> None:
            while not over.is_set():
                answers.append(await asking.both())

        task = asyncio.create_task(ask(asking, answers, over))
        await drain(Backfill(owner, after, LIMITS), owner)
        new = await exact(owner, project, after)
        await asking.until(new)
        over.set()
        await task
        assert old != new
        assert answers[0] == (old, old)
        assert [answer for answer in answers if not set(map(tuple, answer)) <= {tuple(old), tuple(new)}] == []
        before = after


async def test_vectors_of_two_models_of_one_size_never_meet(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database
) -> None:
    project = projects.make(dim=384)
    for n in range(10):
        await memory.page(project, f"page-{n}.md", f"Page {n}", f"text of page {n}")
    await drain(Backfill(owner, SMALL, LIMITS), owner)
    half = Backfill(owner, TWIN, LIMITS)
    TWIN.away = True
    await half.run_round()
    TWIN.away = False
    state = (await read_status(database, project)).embedding
    assert [(s.model, s.current, s.vectors) for s in state.spaces] == [("vectors", True, 10), ("twin", False, 0)]
    only_new = QueryEmbedder(TWIN, QueryCache(), 5.0, lambda _: None)
    request = SearchRequest(query=QUESTION, limit=5)
    answer = await memory_query(database, [project], request, embed=only_new, settings=SearchSettings())
    assert "vector" not in answer.streams_active
    assert any("vectors, 384" in note for note in answer.notes)
    await owner.fetch("UPDATE control.due SET next_at = now()")
    await drain(half, owner)
    state = (await read_status(database, project)).embedding
    assert {s.model: (s.current, s.vectors) for s in state.spaces} == {"vectors": (False, 10), "twin": (True, 10)}


async def test_what_is_out_of_use_is_dropped_with_its_failures(memory: Memory, projects: Projects, owner: OwnerDatabase) -> None:
    project = projects.make(dim=384)
    await memory.save(project, [{"summary": "poison"}, {"summary": "good"}])
    await drain(Backfill(owner, SMALL, LIMITS), owner)
    await drain(Backfill(owner, TWIN, LIMITS), owner)
    assert len(await tables(owner, project)) == 2
    assert {row["n"] for row in await memory.rows(project, "SELECT count(*) AS n FROM m_0.embed_failure")} == {2}
    await memory.save(project, [{"summary": "more"}])
    await drain(Backfill(owner, TWIN, BackfillLimits(grace_s=0)), owner)
    (row,) = await memory.rows(project, "SELECT id, model FROM m_0.space")
    assert row["model"] == "twin"
    assert await tables(owner, project) == [f"vector_{row['id']}"]
    assert {row["n"] for row in await memory.rows(project, "SELECT count(*) AS n FROM m_0.embed_failure")} == {1}


async def test_a_table_that_is_still_read_is_left_for_later(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database
) -> None:
    project = projects.make(dim=384)
    await memory.save(project, [{"summary": "one"}])
    await drain(Backfill(owner, SMALL, LIMITS), owner)
    at_once = BackfillLimits(grace_s=0)
    async with database.read(project) as tx:
        assert await tx.fetchval("SELECT count(*) FROM m_0.vector_0") == 1
        await drain(Backfill(owner, TWIN, at_once), owner)
        assert len(await tables(owner, project)) > 1
    await owner.fetch("UPDATE control.due SET next_at = now()")
    await drain(Backfill(owner, TWIN, at_once), owner)
    assert len(await tables(owner, project)) == 1


async def test_a_worker_with_an_earlier_model_stands_back(memory: Memory, projects: Projects, owner: OwnerDatabase) -> None:
    project = projects.make(dim=384)
    await memory.save(project, [{"summary": "one"}])
    early = Backfill(owner, SMALL, LIMITS)
    await drain(early, owner)
    await drain(Backfill(owner, TWIN, LIMITS), owner)
    await memory.save(project, [{"summary": "two"}])
    assert (await drain(early, owner)).stored == 0
    assert (await drain(Backfill(owner, TWIN, LIMITS), owner)).stored == 1


@pytest.mark.parametrize("dim", [3072, 4096])
async def test_long_vectors_are_stored_and_searched(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database, dim: int
) -> None:
    project, model = projects.make(dim=384), Model("long", dim)
    await fill(memory, project, 70)
    await drain(Backfill(owner, model, LIMITS), owner)
    asking = Asking(database, project, model)
    await asking.until(await exact(owner, project, model))
    (state,) = [s for s in (await read_status(database, project)).embedding.spaces if s.current]
    assert (state.dim, state.vectors, state.index) == (dim, 70, "ready" if dim == 3072 else "not_needed")


async def test_a_killed_move_goes_on_and_search_works_on(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database, server: EmbeddedServer
) -> None:
    project = projects.make(dim=384)
    await fill(memory, project, 150, "pier")
    await drain(Backfill(owner, SMALL, LIMITS), owner)
    old = await exact(owner, project, SMALL)
    asking = Asking(database, project, TWIN)
    mover = OwnerDatabase(server.owner_url)

    class Killed(Model):
        async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
            if any("pier" in text for text in self.asked):
                raise KeyboardInterrupt
            return await super().embed_documents(texts)

    with pytest.raises(KeyboardInterrupt):
        await drain(Backfill(mover, Killed("twin", 384), LIMITS), mover)
    await mover.close()
    assert await asking.both() == (old, old)
    before = len(TWIN.asked)
    await drain(Backfill(owner, TWIN, LIMITS), owner)
    assert len([text for text in TWIN.asked[before:] if "pier" in text]) == 150 - 64
    await asking.until(await exact(owner, project, TWIN))


class Writing(Model):
    """While it embeds for the move, somebody writes, and looks for what was written last."""

    def __init__(self, memory: Memory, project: ProjectRef, asking: "Asking") -> None:
        super().__init__("twin", 384)
        self.memory, self.project, self.own_asking = memory, project, asking
        self.written: list[str] = []
        self.found: list[bool] = []

    async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
        if self.written:
            self.found.append(await self.own_asking.is_near(self.written[-1]))
        if len(self.written) < 6:
            self.written.append(f"meanwhile number {len(self.written)}")
            await self.memory.save(self.project, [{"summary": self.written[-1]}])
            assert await self.own_asking.is_found(self.written[-1])
        return await super().embed_documents(texts)


async def test_what_is_written_during_a_move_is_found_by_its_words_at_once_and_by_its_meaning_before_the_move_goes_on(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database
) -> None:
    project = projects.make(dim=384)
    await fill(memory, project, 150, "quay")
    await drain(Backfill(owner, SMALL, LIMITS), owner)
    model = Writing(memory, project, Asking(database, project, TWIN))
    await drain(Backfill(owner, model, LIMITS, reach=Reach(make_earlier=find_model)), owner)
    assert len(model.written) == 6
    assert model.found
    assert all(model.found)
    async with asyncio.timeout(20):
        while not all([await model.own_asking.is_near(text) for text in model.written]):
            continue
    state = (await read_status(database, project)).embedding
    assert {s.model: (s.current, s.vectors) for s in state.spaces if s.current} == {"twin": (True, 156)}


async def test_an_earlier_model_that_is_gone_stops_no_move_and_is_said(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database
) -> None:
    project = projects.make(dim=384)
    await fill(memory, project, 70, "mole")
    await drain(Backfill(owner, SMALL, LIMITS), owner)
    gone = Model("vectors", 384)
    gone.away = True
    said: list[list[str]] = []

    class Telling(Model):
        async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
            if not said:
                await memory.save(project, [{"summary": "unseen so far"}])
                said.append(await asking.notes("unseen so far"))
            return await super().embed_documents(texts)

    asking = Asking(database, project, TWIN)
    await drain(Backfill(owner, Telling("twin", 384), LIMITS, reach=Reach(make_earlier=lambda _: gone)), owner)
    assert any("1 passages have no vector yet" in note for note in said[0])
    async with asyncio.timeout(20):
        while not await asking.is_near("unseen so far"):
            continue
