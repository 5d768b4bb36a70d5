"""Graph queries in the room, beside the SQL by hand on the same connection: the same answers, and the time inside Postgres.

In: services' database, a project. Out: for each question the milliseconds of both, in turn. The time inside Postgres is what the
driver waits for, less what it waits for an empty statement: the same for both, so that the number of statements does not count.
"""

import statistics
import time
from collections.abc import Sequence
from typing import Any

import msgspec
from asyncpg.pool import PoolConnectionProxy

from bench.graph_recipes import Asked, plain
from service.db.pools import Database
from service.db.scope import ProjectRef, SpaceRef
from service.graph.answer import GraphAnswer
from service.graph.limits import GraphLimits
from service.graph.run import run_query
from service.graph.vector_scans import CANDIDATES, SCANNED

LIMITS = GraphLimits()


class Compared(msgspec.Struct, frozen=True):
    """One question: milliseconds inside Postgres of ours and by hand, the whole of ours in the room, and whether the answers agree."""

    ours: float
    by_hand: float
    whole: float
    same: bool


class GivenVector:
    """An embedder for questions that are vectors already."""

    def __init__(self, space: SpaceRef) -> None:
        self.space = space

    async def __call__(self, text: str, /) -> str:
        return text


class Waiting:
    """What the driver waits for Postgres, summed up while it is switched on."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.statements = 0

    def __enter__(self) -> "Waiting":
        self._plain = plain_fetch = PoolConnectionProxy.fetch

        async def timed(connection: Any, *args: Any, **more: Any) -> Any:
            began = time.perf_counter()
            try:
                return await plain_fetch(connection, *args, **more)
            finally:
                self.seconds += time.perf_counter() - began
                self.statements += 1

        PoolConnectionProxy.fetch = timed  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        PoolConnectionProxy.fetch = self._plain  # type: ignore[method-assign]


class Room:
    """Asks in one project."""

    def __init__(self, database: Database, project: ProjectRef, space: SpaceRef) -> None:
        self._database = database
        self._project = project
        self._embed = GivenVector(space)
        self._empty = 0.0

    async def ours(self, asked: Asked, query: str | None = None) -> GraphAnswer:
        return await run_query(self._database, self._project, query or asked.query, asked.params, embed=self._embed, limits=LIMITS)

    async def by_hand(self, asked: Asked) -> Sequence[Any]:
        """The SQL, with the vector index searched as far as ours searches it."""
        async with self._database.read(self._project) as tx:
            if asked.recipe in (7, 12):
                await tx.execute("SELECT '[1]'::halfvec")
                await tx.set_local(hnsw__ef_search=CANDIDATES, hnsw__iterative_scan="relaxed_order", hnsw__max_scan_tuples=SCANNED)
            return await tx.fetch(asked.by_hand, *asked.arguments)

    async def empty_ms(self) -> float:
        """What the driver waits for a statement that does nothing."""
        taken: list[float] = []
        async with self._database.read(self._project) as tx:
            for _ in range(50):
                began = time.perf_counter()
                await tx.fetch("SELECT 1")
                taken.append((time.perf_counter() - began) * 1000)
        return statistics.median(taken)

    async def compare(self, questions: Sequence[Asked], rounds: int = 3) -> list[Compared]:
        """Every question once to warm up, then ours and by hand in turn; of the rounds the quickest counts: machines are shared."""
        found: list[Compared] = []
        for asked in questions:
            await self.ours(asked)
            await self.by_hand(asked)
        empty = await self.empty_ms()
        for asked in questions:
            timed = [await self._once(asked, empty) for _ in range(rounds)]
            best = [min(getattr(each, name) for each in timed) for name in ("ours", "by_hand", "whole")]
            found.append(Compared(*best, same=all(each.same for each in timed)))
        return found

    async def timed(self, asked: Asked) -> tuple[float, float]:
        """Milliseconds that one call waits for Postgres' statements, and in all."""
        with Waiting() as waited:
            began = time.perf_counter()
            await self.ours(asked)
            return waited.seconds * 1000, (time.perf_counter() - began) * 1000

    async def _once(self, asked: Asked, empty: float) -> Compared:
        with Waiting() as waited:
            began = time.perf_counter()
            answer = await self.ours(asked)
            whole = (time.perf_counter() - began) * 1000
        inside = waited.seconds * 1000 - waited.statements * empty
        with Waiting() as waited:
            rows = await self.by_hand(asked)
        same = plain(asked.recipe, answer.rows) == plain(asked.recipe, rows) and not answer.partial
        return Compared(inside, waited.seconds * 1000 - waited.statements * empty, whole, same)
