"""What the status of a project says of the provider that is set, beside the vectors that are there."""

import dataclasses

import msgspec

from service.db.scope import ProjectRef
from service.embed.provider import EmbeddingUnavailable
from service.embed.query import QueryEmbedder
from service.embed.query_cache import QueryCache
from service.settings import Settings
from tests.conftest import Memory
from tests.integration.embed.house import House, own
from tests.integration.embed.misbehaving import Misbehaving, refusal
from tests.integration.embed.test_own_searching import Speaking


async def test_where_all_is_well_nothing_is_said(house: House, mine: ProjectRef, memory: Memory) -> None:
    await memory.save(mine, [{"summary": "one"}])
    await house.work()
    found = await house.ask(mine, "memory_status")
    assert (found.source.provider, found.source.model, found.source.own, found.source.answers) == ("test", "vectors", False, True)
    assert (found.embedding.embedded, found.notes) == (1, [])


async def test_a_server_without_a_provider_says_so(house: House, mine: ProjectRef, memory: Memory) -> None:
    await memory.save(mine, [{"summary": "one"}])
    await house.work()
    for setting, answers, said in (("none", True, "The server is set to make no vectors"), ("openai", False, "set to the provider openai")):
        house.services = dataclasses.replace(house.services, embedder=None, settings=Settings(embedding_provider=setting))
        found = await house.ask(mine, "memory_status")
        assert (found.source.provider, found.source.model, found.source.answers) == (setting, None, answers)
        (note,) = found.notes
        assert said in note
        assert "without the vectors of test vectors (3) that are there" in note


async def test_a_project_that_moves_says_how_far_it_is_and_what_holds_it(
    house: House, mine: ProjectRef, memory: Memory, embeddings: Misbehaving
) -> None:
    await memory.save(mine, [{"summary": f"event {n}"} for n in range(3)])
    await house.work()
    await house.ask(mine, "set_embedding", **own(embeddings))
    found = await house.ask(mine, "memory_status")
    assert (found.source.provider, found.source.model, found.source.own, found.source.answers) == ("openai", "m", True, True)
    assert (found.embedding.provider, found.embedding.embedded) == ("test", 3)
    moving = (
        "The workspace is set to openai m (384), and the project moves to it: 0 of 3 passages have its vector; until all have, searches"
    )
    assert found.notes == [f"{moving} use test vectors (3)."]
    embeddings.rule = lambda call: refusal(401)
    await house.work()
    held = await house.ask(mine, "memory_status")
    assert (held.source.answers, held.notes[0]) == (False, found.notes[0])
    assert "openai m (384) gave the worker no vectors when it was last asked" in held.notes[1]
    assert (await house.ask(mine, "embedding_progress")).held is True
    embeddings.behave()
    await house.work()
    done = await house.ask(mine, "memory_status")
    assert (done.source.provider, done.source.answers, done.notes) == ("openai", True, [])
    assert (await house.ask(mine, "embedding_progress")).held is False


async def test_queries_that_are_not_answered_are_told(house: House, mine: ProjectRef, memory: Memory) -> None:
    class Dead(Speaking):
        async def embed_query(self, text: str) -> list[float]:
            raise EmbeddingUnavailable(self.space, "unavailable")

    await memory.save(mine, [{"summary": "one"}])
    await house.work()
    dead = QueryEmbedder(Dead(), QueryCache(), 5.0)
    house.services = dataclasses.replace(house.services, embedder=dead)
    for n in range(3):
        await house.ask(mine, "memory_query", query=f"question {n}")
    found = await house.ask(mine, "memory_status")
    assert found.source.answers is False
    assert found.notes == ["test vectors (3) does not answer queries now: searches go without meaning until it does."]
    assert msgspec.to_builtins(found)["source"]["provider"] == "test"
