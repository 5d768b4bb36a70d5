"""Asking a project that moves between models, and what measuring every vector gives."""

import asyncio

from service.access.scope import Scopes
from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.provider import Space, vector_text
from service.embed.query import QueryEmbedder
from service.embed.query_cache import QueryCache
from service.graph.limits import GraphLimits
from service.graph.run import run_query
from service.operations.operation import Services
from service.operations.searching import fitting_embedders
from service.search.answer import SearchAnswer
from service.search.parse import SearchRequest, SearchSettings
from service.search.run import memory_query
from service.settings import Settings
from tests.conftest import Memory
from tests.integration.spaces.conftest import Model

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
        async with fitting_embedders(self.services, [self.project]) as embedders:
            found = await memory_query(
                self.database,
                [self.project],
                SearchRequest(query=QUESTION, limit=K),
                embedders=embedders,
                settings=SearchSettings(exact_vectors=60),
            )
        assert found.streams_active.count("vector") == 1, found.notes
        async with fitting_embedders(self.services, [self.project]) as (embed,):
            query = f"START a = events(text: $q, k: {K}) RETURN a"
            walked = await run_query(
                self.database, self.project, query, {"q": QUESTION}, embed=embed, limits=GraphLimits(exact_candidates=60)
            )
        return [hit.id for hit in found.raw_hits], [row[0]["id"] for row in walked.rows]

    async def search(self, text: str) -> SearchAnswer:
        async with fitting_embedders(self.services, [self.project]) as embedders:
            request = SearchRequest(query=text, limit=K, explain=True)
            return await memory_query(
                self.database, [self.project], request, embedders=embedders, settings=SearchSettings(exact_vectors=60)
            )

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
        async with asyncio.timeout(60):
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
