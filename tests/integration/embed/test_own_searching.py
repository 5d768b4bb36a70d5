"""Searches over projects of workspaces with providers of their own: each is asked with its own, alike ones are asked once."""

import asyncio
import dataclasses

from service.db.scope import ProjectRef
from service.embed.model_files import PACKAGED
from service.embed.provider import Vector
from service.embed.query import QueryEmbedder
from service.embed.query_cache import QueryCache
from service.operations.searching import fitting_embedders
from service.search.answer import SearchAnswer
from service.search.parse import SearchRequest, SearchSettings
from service.search.run import memory_query
from tests.conftest import Memory, Projects
from tests.integration.embed.house import House, own
from tests.integration.embed.misbehaving import Misbehaving, refusal
from tests.integration.embed.test_backfill import Letters


class Speaking(Letters):
    """The server's own provider, which gives vectors of queries too."""

    async def embed_query(self, text: str) -> Vector:
        return [0.6, 0.8, 0.0]


async def test_one_search_uses_a_workspace_s_own_provider_beside_the_server_s(
    house: House, mine: ProjectRef, projects: Projects, memory: Memory, embeddings: Misbehaving
) -> None:
    other, without = projects.make(dim=3), projects.make(dim=3)
    for each in (mine, other, without):
        await memory.save(each, [{"summary": f"{each.schema} the disk was full"}])
    await house.ask(mine, "set_embedding", **own(embeddings))
    await house.ask(without, "set_embedding", provider="none")
    await house.work()
    services = dataclasses.replace(house.services, embedder=QueryEmbedder(Speaking(), QueryCache(), 5.0))

    def asked(question: str) -> int:
        return [call.texts for call in embeddings.calls].count([question])

    async def search(question: str) -> SearchAnswer:
        scope = [other, mine, without]
        async with fitting_embedders(services, scope) as embedders:
            request = SearchRequest(query=question, explain=True)
            return await memory_query(house.database, scope, request, embedders=embedders, settings=SearchSettings())

    def meant(answer: SearchAnswer) -> dict[str, int | None]:
        return {hit.project: hit.explain.vector_rank for hit in answer.raw_hits if hit.explain}

    async with asyncio.timeout(60):
        found = await search("no room on the volume")
        while not asked("no room on the volume"):  # a process may know the earlier space for two seconds
            found = await search("no room on the volume")
    assert meant(found) == {other.project: 1, mine.project: 2}
    assert found.notes[:1] == [f"No embedder is set up, so the vector stream is absent in {without.project}."]
    assert asked("no room on the volume") == 1
    embeddings.rule = lambda call: refusal(401)
    found = await search("a question for providers that are away")
    assert meant(found) == {other.project: 1}
    assert f"The embedder openai (m) failed (key_refused), so the vector stream is absent in {mine.project}." in found.notes
    for each in (mine, without):
        await house.ask(each, "clear_embedding")


async def test_workspaces_with_the_model_in_the_process_are_one_embedder(house: House, mine: ProjectRef, projects: Projects) -> None:
    other, third = projects.make(dim=3), projects.make(dim=3)
    for each in (mine, other):
        await house.ask(each, "set_embedding", provider="local")
    fitting = house.services.own_embedders.fitting
    one, two, server = [
        await fitting(each.workspace_id, space, house.embedder) for each, space in ((mine, PACKAGED), (other, PACKAGED), (third, None))
    ]
    assert one == two != server
    assert len({one, two, server}) == 2
    for each in (mine, other):
        await house.ask(each, "clear_embedding")
