"""One project's turn at a worker: its due passages embedded, then what follows when they are all dealt with.

In: a `Turn`, under the project's lock. Out: vectors, failures with their reasons, and what the turn still wants. While a project moves,
what is written meanwhile gets a vector in the space that queries still use too, before the move goes on.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

import asyncpg
import msgspec
import structlog

from service.db.owner import OwnerDatabase
from service.db.queries import load
from service.embed.indexes import Unindexed
from service.embed.provider import EmbeddingProvider, EmbeddingUnavailable, Failed, checked, vector_text
from service.embed.spaces import ProjectSpaces, SpaceState
from service.observe.embedding import count_batch, count_embedding_error

BATCH: Final = 64
ATTEMPTS: Final = 5
BATCHES_A_TURN: Final = 50  # then the next project has its turn
VACUUM_FROM: Final = 2_000  # vectors written in one turn
INDEX_WAIT_S: Final = 30.0  # until an index that is being built is looked for again; its builder says so earlier
VACUUMED: Final = ("event", "participation", "membership", "passage", "entity", "lexeme", "page", "next_link")

log = structlog.get_logger("muniment.backfill")


class Earlier:
    """The space that queries still use while a project moves, and how far it is; `provider` is None once it gives nothing."""

    def __init__(self, space: int, provider: EmbeddingProvider | None, after: int) -> None:
        self.space = space
        self.provider = provider
        self.after = after


class Turn(msgspec.Struct):
    """A project's turn in a space; what came of it is counted here. `earlier` while queries use another space."""

    project: int
    space: int
    provider: EmbeddingProvider
    state: SpaceState
    earlier: Earlier | None = None
    stored: int = 0
    failed: int = 0
    unindexed: Unindexed | None = None


class Turns:
    """Takes turns, one at a time; `watch` is told after each batch how many passages it dealt with."""

    def __init__(self, owner: OwnerDatabase, spaces: ProjectSpaces, watch: Callable[[int], None] | None = None) -> None:
        self._owner = owner
        self._spaces = spaces
        self._watch = watch
        self._project = load("project", "embed")

    async def fill(self, turn: Turn) -> bool:
        """Embeds what is due, for a bounded time; True when nothing is left that can be done now. Raises `EmbeddingUnavailable`."""
        project, space = turn.project, turn.space
        last = await self._last_passage(project)
        after = turn.state.done_through
        for _ in range(BATCHES_A_TURN):
            await self._keep_up(turn)
            rows = await self._due_passages(project, space, after, turn.state.fresh_from)
            retried = rows or await self._owner.fetch(self._project["retry_passages"].sql, space, BATCH, project=project)
            if not retried:
                break
            try:
                await self._embed(turn, space, turn.provider, retried)
            except EmbeddingUnavailable:
                await self._count(turn)  # what was stored before is shown all the same
                raise
            if rows:
                after = rows[-1]["id"]
        else:
            await self._spaces.note_done(project, space, after)
            await self._count(turn)
            return False
        await self._spaces.note_done(project, space, last)
        if turn.stored >= VACUUM_FROM or turn.state.done_through == 0 < turn.stored:
            await self._owner.vacuum(project, (*VACUUMED, f"vector_{space:d}"))
        return True

    async def settle(self, turn: Turn) -> float | None:
        """What there is to do in a project whose passages are dealt with; seconds until the next look, None when nothing is left.

        Queries move to the space when its indexes are there; the spaces that they have left are dropped some time after.
        """
        project, space = turn.project, turn.space
        counts = await self._count(turn) or (0, 0, 0)
        waits: list[float | None] = [turn.state.count_due_in or None]
        waits.append((await self._owner.fetch(self._project["next_retry"].sql, space, project=project))[0]["seconds"])
        turn.unindexed = await self._spaces.missing_indexes(project, space, counts, turn.provider.space.dim)
        if turn.unindexed is not None:
            waits.append(INDEX_WAIT_S)
        elif not turn.state.current:
            await self._spaces.switch(project, space)
            log.info("project moved to its new space", project=project, space=space)
        if turn.state.current or turn.unindexed is None:
            waits.append(await self._spaces.drop_unused(project, space))
        known = [wait for wait in waits if wait is not None]
        return max(1.0, min(known)) if known else None

    async def _keep_up(self, turn: Turn) -> None:
        """What was written since the move began gets its vector in the space before."""
        earlier = turn.earlier
        while earlier is not None and earlier.provider is not None:
            last = await self._last_passage(turn.project)
            rows = await self._due_passages(turn.project, earlier.space, earlier.after, None) if last > earlier.after else []
            if not rows:
                await self._spaces.note_done(turn.project, earlier.space, last)
                earlier.after = last
                return
            try:
                await self._embed(turn, earlier.space, earlier.provider, rows)
            except EmbeddingUnavailable as error:
                log.warning("new text waits for the move", project=turn.project, model=error.space.model, reason=error.reason)
                earlier.provider = None
            else:
                earlier.after = rows[-1]["id"]

    async def _last_passage(self, project: int) -> int:
        return (await self._owner.fetch(self._project["last_passage"].sql, project=project))[0]["passages"]

    async def _due_passages(self, project: int, space: int, after: int, fresh_from: datetime | None) -> Sequence[Any]:
        sql = self._project["due_passages"].sql
        return await self._owner.fetch(sql, after, space, BATCH, fresh_from, project=project, space=space)

    async def _count(self, turn: Turn) -> tuple[int, int, int] | None:
        """The vectors of each kind, unless they were counted a moment ago; None then, when they were never."""
        if turn.state.count_due_in:
            return turn.state.counts
        counts = await self._spaces.count(turn.project, turn.space)
        await self._spaces.note_coverage(turn.project, turn.space, sum(counts))
        return counts

    async def _embed(self, turn: Turn, space: int, provider: EmbeddingProvider, rows: Sequence[Any]) -> None:
        name, started = provider.space.provider, time.perf_counter()
        try:
            given = await provider.embed_documents([_text(row) for row in rows])
        except EmbeddingUnavailable as error:
            count_embedding_error(name, "documents", error.reason)
            raise
        answers = [checked(answer, provider.space.dim) for answer in given]
        good = [(row, answer) for row, answer in zip(rows, answers, strict=True) if not isinstance(answer, Failed)]
        bad = [(row, answer) for row, answer in zip(rows, answers, strict=True) if isinstance(answer, Failed)]
        count_batch(name, time.perf_counter() - started, len(good), len(bad))
        await self._store(turn.project, space, good)
        if bad:
            failures = ([r["id"] for r, _ in bad], [f.reason for _, f in bad], [f.lasting for _, f in bad])
            await self._owner.fetch(self._project["note_failures"].sql, space, *failures, ATTEMPTS, project=turn.project)
        turn.stored += len(good)
        turn.failed += len(bad)
        if self._watch is not None and space == turn.space:
            self._watch(len(rows))

    async def _store(self, project: int, space: int, good: Sequence[tuple[Any, Any]]) -> None:
        stored = ([r["id"] for r, _ in good], [r["text_hash"] for r, _ in good], [vector_text(v) for _, v in good])
        for _ in range(3):
            try:
                await self._owner.fetch(self._project["store_vectors"].sql, *stored, space, project=project, space=space)
                return
            except asyncpg.ForeignKeyViolationError:
                continue  # a passage was deleted in between; the next try does not see it any more


def _text(row: Any) -> str:
    """What is embedded: a later piece of a page stands below its headings."""
    return f"{row['title_path']}\n{row['text']}" if row["title_path"] and row["number"] else row["text"]
