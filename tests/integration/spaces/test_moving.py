"""Projects move from one model to another while they are written and searched."""

import asyncio
from collections.abc import Sequence

import pytest

from service.db.embedded import EmbeddedServer
from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.embed.backfill import Backfill
from service.embed.provider import Embedded
from service.embed.query import QueryEmbedder
from service.embed.query_cache import QueryCache
from service.embed.spaces import BackfillLimits
from service.memory.lookup import read_status
from service.search.parse import SearchRequest, SearchSettings
from service.search.run import memory_query
from tests.conftest import Memory, Projects
from tests.integration.spaces.asking import LARGE, QUESTION, SMALL, TWIN, Asking, exact, fill, tables
from tests.integration.spaces.conftest import LIMITS, Model, drain


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
    answer = await memory_query(database, [project], request, embedders=[only_new], settings=SearchSettings())
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
