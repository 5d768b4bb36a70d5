"""A database server for these tests alone, since a change of model concerns every project on it; and models that are quick."""

import random
from collections.abc import Callable, Sequence

from service.db.owner import OwnerDatabase
from service.embed.backfill import Backfill, Round
from service.embed.indexes import build_indexes
from service.embed.provider import Embedded, EmbeddingUnavailable, Failed, Space, Vector, checked
from service.embed.spaces import BackfillLimits
from tests.integration.own_server import database, memory, migrated, owner, projects, server

__all__ = ["database", "memory", "migrated", "owner", "projects", "server"]

LIMITS = BackfillLimits(exact_candidates=60, grace_s=3600)


class Model:
    """A vector for each text, as its name and size decide; texts with `poison` fail. Keeps what it was asked for."""

    window = 256
    available = True

    def __init__(self, name: str, dim: int) -> None:
        self.space = Space("test", name, dim)
        self.asked: list[str] = []
        self.away = False
        self.meanwhile: Callable[[], None] = lambda: None

    def vector(self, text: str) -> Vector:
        chance = random.Random(f"{self.space.model} {self.space.dim} {text}")
        made = checked([byte - 127.5 for byte in chance.randbytes(self.space.dim)], self.space.dim)
        assert not isinstance(made, Failed)
        return made

    async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
        self.meanwhile()
        if self.away:
            raise EmbeddingUnavailable(self.space, "unavailable")
        self.asked += texts
        return [Failed("not_finite") if "poison" in text else self.vector(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        return self.vector(text)

    async def close(self) -> None:
        """Nothing is held."""


async def drain(backfill: Backfill, owner: OwnerDatabase) -> Round:
    """Rounds until nothing is left that can be done at once; indexes are built in between."""
    total = Round()
    while True:
        done = await backfill.run_round()
        total.stored += done.stored
        total.failed += done.failed
        for each in done.unindexed:
            await build_indexes(owner, each)
        if not done.more and not done.unindexed:
            return total
