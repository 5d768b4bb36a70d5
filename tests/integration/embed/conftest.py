"""A server of embeddings: those of the local model, in the words of OpenAI and of Ollama.

And a database server for these tests alone, since their workers embed whatever all projects on it hold.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.choose import make_provider
from service.embed.provider import EmbeddingProvider, ProviderOptions, Vector
from service.remote import Retries, Secret
from tests.conftest import Projects
from tests.integration.embed.house import House
from tests.integration.embed.misbehaving import KEY, Call, Misbehaving, Reply, misbehaving
from tests.integration.own_server import database, memory, migrated, owner, projects, server

__all__ = ["database", "memory", "migrated", "owner", "projects", "server"]

MakeRemote = Callable[..., Awaitable[EmbeddingProvider]]
BELOW = {"openai": "/v1", "ollama": ""}


class Meanings:
    """Vectors of the local model, each made once; three times as long as they are given out."""

    def __init__(self) -> None:
        self.model = make_provider("local")
        self.known: dict[str, Vector] = {}

    async def vectors(self, texts: list[str]) -> list[list[float]]:
        for text in texts:
            if text not in self.known:
                self.known[text] = await self.model.embed_query(text)
        return [[3 * value for value in self.known[text]] for text in texts]

    async def well(self, call: Call) -> Reply:
        return reply_with(call, await self.vectors(call.texts))


def reply_with(call: Call, vectors: list[object] | list[list[float]]) -> Reply:
    """Vectors as the API that was asked words them; NaN and infinity as Python's servers write them."""
    if call.target.startswith("/api/embed"):
        return Reply(body=json.dumps({"model": "m", "embeddings": vectors}).encode())
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return Reply(body=json.dumps({"object": "list", "data": data, "model": "m", "usage": {"total_tokens": 1}}).encode())


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def meanings() -> AsyncIterator[Meanings]:
    made = Meanings()
    yield made
    await made.model.close()


@pytest_asyncio.fixture(loop_scope="session")
async def embeddings(meanings: Meanings) -> AsyncIterator[Misbehaving]:
    """The server."""
    async with misbehaving(meanings.well) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def make_remote(embeddings: Misbehaving) -> AsyncIterator[MakeRemote]:
    """Makes a provider by its name and options, at the server, quick to ask again."""
    made: list[EmbeddingProvider] = []

    async def make(name: str, **options: object) -> EmbeddingProvider:
        given = {"model": "m", "dim": 384, "url": embeddings.url + BELOW[name], "key": Secret(KEY), "retries": Retries(3, 0.001), **options}
        # In a thread, as the provider may ask the server, which runs in this loop, for the size.
        made.append(await asyncio.to_thread(make_provider, name, ProviderOptions(**given)))
        return made[-1]

    yield make
    for provider in made:
        await provider.close()


@pytest_asyncio.fixture(loop_scope="session")
async def house(database: Database, owner: OwnerDatabase) -> AsyncIterator[House]:
    made = House(database, owner)
    yield made
    await made.close()


@pytest.fixture
def mine(projects: Projects) -> ProjectRef:
    return projects.make(dim=3)
