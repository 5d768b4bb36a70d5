"""Several projects that are in different spaces, as a workspace is while its projects move one after the other."""

import asyncio
from contextvars import Context

import pytest

from service.access.keys import ALL_SCOPES, Caller
from service.access.scope import Scopes
from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.backfill import Backfill
from service.embed.provider import Space
from service.embed.query import QueryEmbedder
from service.embed.query_cache import QueryCache
from service.operations.operation import Services
from service.operations.searching import MemoryQuery, fitting_embedders, memory_query
from service.settings import Settings
from tests.conftest import Memory, Projects
from tests.integration.spaces.asking import SMALL, TWIN, find_model
from tests.integration.spaces.conftest import LIMITS, Model, drain

WIDE = Model("vectors", 1536)


def serving(database: Database) -> Services:
    """A server of the small model that reaches the wide one."""

    def find(space: Space) -> Model | None:
        return WIDE if space == WIDE.space else find_model(space)

    embedder = QueryEmbedder(SMALL, QueryCache(), 5.0, find)
    return Services(database=database, scopes=Scopes(database), settings=Settings(), embedder=embedder)


@pytest.fixture
async def two(projects: Projects, memory: Memory) -> tuple[ProjectRef, ProjectRef]:
    """Of one workspace, in the small model's space and in the wide one's; the same nine texts in each."""
    small = projects.make(dim=384)
    wide = projects.make(small.workspace, dim=1536)
    for project, model in ((small, SMALL), (wide, WIDE)):
        texts = [f"berth {number}" for number in range(9)]
        saved = await memory.save(project, [{"summary": text} for text in texts])
        await memory.vectors(project, {event: model.vector(text) for event, text in zip(saved, texts, strict=True)})
    return small, wide


async def test_a_key_s_projects_are_searched_each_in_its_space(two: tuple[ProjectRef, ProjectRef], database: Database) -> None:
    """The text's own vector is the nearest in both spaces."""
    first = two[0]
    caller = Caller("k", first.workspace_id, first.workspace, first.role, frozenset(ALL_SCOPES), None, None)
    found = await memory_query(serving(database), caller, MemoryQuery(query="berth 4", explain=True, limit=20))
    explained = {(hit.project, hit.summary): hit.explain for hit in found.raw_hits if hit.explain}
    own = [explained[project.project, "berth 4"] for project in two]
    assert sorted(each.vector_rank or 0 for each in own) == [1, 2]
    assert [each.cosine for each in own] == pytest.approx([1.0, 1.0], abs=2e-3)
    assert sorted(each.vector_rank or 0 for each in explained.values()) == list(range(1, 19))
    assert found.notes == []


async def test_projects_of_one_space_have_one_embedder(two: tuple[ProjectRef, ProjectRef], projects: Projects, database: Database) -> None:
    third = projects.make(two[0].workspace, dim=384)
    async with fitting_embedders(serving(database), [*two, third]) as embedders:
        assert [each.space if each else None for each in embedders] == [SMALL.space, WIDE.space, SMALL.space]
        assert embedders[0] is embedders[2]


async def test_a_call_searches_the_spaces_that_it_began_with(
    two: tuple[ProjectRef, ProjectRef], owner: OwnerDatabase, database: Database
) -> None:
    async def models() -> list[str | None]:
        found: list[str | None] = []
        for project in two:
            async with database.read(project) as tx:
                found.append(tx.space.model if tx.space else None)
        return found

    async def until_moved() -> None:
        while await models() != ["twin", "twin"]:  # a process may know the earlier space for two seconds
            continue

    async with database.pin_spaces(two) as spaces:
        assert [space.dim if space else None for space in spaces] == [384, 1536]
        await drain(Backfill(owner, TWIN, LIMITS), owner)
        async with asyncio.timeout(60):
            await asyncio.create_task(until_moved(), context=Context())  # another call
        assert await models() == ["vectors", "vectors"]
    assert await models() == ["twin", "twin"]
