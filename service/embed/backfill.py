"""The back-fill: gives every passage a vector in the server's space, while writing and searching go on.

In: the owner's side of the database and a provider. Out: rows in the projects' vector tables, and projects moved to the provider's space.
Work is derived from the rows, so a crash loses nothing and repeats at most one batch. One worker at a time has a project (an advisory
lock); several share the projects. No transaction is open while the provider works.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

import asyncpg
import msgspec
import structlog

from service.db.owner import OwnerDatabase, ProjectGone
from service.db.queries import load
from service.embed.indexes import Unindexed
from service.embed.provider import EmbeddingProvider, EmbeddingUnavailable, Failed, checked, vector_text
from service.embed.spaces import MOST_INDEXED_DIM, BackfillLimits, ProjectSpaces, SpaceState

BATCH: Final = 64
ATTEMPTS: Final = 5
PROJECTS_A_ROUND: Final = 20
BATCHES_A_TURN: Final = 50  # then the next project has its turn
VACUUM_FROM: Final = 2_000  # vectors written in one turn
UNAVAILABLE_WAIT_S: Final = 10.0
INDEX_WAIT_S: Final = 30.0  # until an index that is being built is looked for again; its builder says so earlier
SWEEPS_LOOKED_FOR_S: Final = 300.0
VACUUMED: Final = ("event", "participation", "membership", "passage", "entity", "lexeme", "page", "next_link")

log = structlog.get_logger("muniment.backfill")


class Round(msgspec.Struct):
    """What one round did: projects looked at, vectors stored, passages that failed; whether more can be done at once; indexes to build.

    `unavailable` is why the provider gave nothing, if it did not.
    """

    projects: int = 0
    stored: int = 0
    failed: int = 0
    more: bool = False
    unindexed: list[Unindexed] = []
    unavailable: EmbeddingUnavailable | None = None


class _Turn(msgspec.Struct, frozen=True):
    """A project's turn in a space."""

    project: int
    space: int
    state: SpaceState
    done: Round


class Backfill:
    """Fills one space, the provider's, from its first round on; stands back when another worker has chosen another one since."""

    def __init__(
        self,
        owner: OwnerDatabase,
        provider: EmbeddingProvider,
        limits: BackfillLimits | None = None,
        watch: Callable[[int], None] | None = None,
    ) -> None:
        """`watch` is told after each batch how many passages it dealt with."""
        self._owner = owner
        self._watch = watch
        self._provider = provider
        self._limits = limits or BackfillLimits()
        self._spaces = ProjectSpaces(owner, self._limits)
        self._space: int | None = None
        self._sweeps_at = 0.0
        self._control = load("control", "worker")
        self._project = load("project", "embed")

    async def run_round(self, only: Sequence[int] | None = None) -> Round:
        """Gives each project that is due its turn, or each of some projects; raises `DatabaseUnavailable` when the database is away."""
        done = Round()
        space = await self._chosen()
        await self._look_for_sweeps(space)
        due = await self._owner.fetch(self._control["due_projects"].sql, PROJECTS_A_ROUND, space, self._limits.sweep_s, only)
        for row in due:
            done.projects += 1
            try:
                await self._take_turn(row, space, done)
            except ProjectGone:
                await self._owner.fetch(self._control["clear_due"].sql, row["project_id"], row["saves"])
            except EmbeddingUnavailable as error:
                done.unavailable = error
                log.warning("embedding unavailable", provider=error.space.provider, model=error.space.model, reason=error.reason)
                await self._owner.fetch(self._control["postpone"].sql, row["project_id"], UNAVAILABLE_WAIT_S, row["saves"])
        done.more = done.more or len(due) == PROJECTS_A_ROUND
        return done

    async def _chosen(self) -> int:
        if self._space is None:
            wanted = self._provider.space
            self._space = await self._spaces.choose(wanted)
            if wanted.dim > MOST_INDEXED_DIM:
                log.warning("vectors too long for an index: searched exactly", model=wanted.model, dim=wanted.dim, most=MOST_INDEXED_DIM)
        return self._space

    async def _look_for_sweeps(self, space: int) -> None:
        """Now and then: projects that nobody has looked through for long; and whether this worker is still the one that is wanted."""
        if time.monotonic() < self._sweeps_at:
            return
        self._sweeps_at = time.monotonic() + SWEEPS_LOOKED_FOR_S
        chosen = await self._owner.fetch(self._control["chosen_space"].sql)
        if not chosen or chosen[0]["id"] != space:
            log.warning("another worker has chosen another model since: this one stands back", model=self._provider.space.model)
            return
        await self._owner.fetch(self._control["mark_unswept"].sql, self._limits.sweep_s)

    async def _take_turn(self, row: Any, space: int, done: Round) -> None:
        project, saves = row["project_id"], row["saves"]
        key = str(project)
        if not (await self._owner.fetch(self._control["try_lock_project"].sql, key))[0]["taken"]:
            return
        try:
            state = await self._spaces.take(project, space)
            if row["sweep"]:
                await self._spaces.begin_sweep(project, space)
                state = msgspec.structs.replace(state, done_through=0)
            turn = _Turn(project, space, state, done)
            if not await self._fill(turn):
                done.more = True
                return
            wait = await self._settle(turn)
            if wait is None:
                await self._owner.fetch(self._control["clear_due"].sql, project, saves)
            else:
                await self._owner.fetch(self._control["postpone"].sql, project, wait, saves)
        finally:
            await self._owner.fetch(self._control["unlock_project"].sql, key)

    async def _fill(self, turn: _Turn) -> bool:
        """Embeds what is due, for a bounded time; True when nothing is left that can be done now."""
        project, space, before = turn.project, turn.space, turn.done.stored
        last = (await self._owner.fetch(self._project["last_passage"].sql, project=project))[0]["passages"]
        after, fresh_from = turn.state.done_through, turn.state.fresh_from
        for _ in range(BATCHES_A_TURN):
            rows = await self._due_passages(project, space, after, fresh_from)
            retried = rows or await self._owner.fetch(self._project["retry_passages"].sql, space, BATCH, project=project)
            if not retried:
                break
            await self._embed(project, space, retried, turn.done)
            if rows:
                after = rows[-1]["id"]
        else:
            await self._spaces.note_done(project, space, after)
            await self._count(turn)
            return False
        await self._spaces.note_done(project, space, last)
        if turn.done.stored - before >= VACUUM_FROM or turn.state.done_through == 0 < turn.done.stored - before:
            await self._owner.vacuum(project, (*VACUUMED, f"vector_{space:d}"))
        return True

    async def _due_passages(self, project: int, space: int, after: int, fresh_from: datetime | None) -> Sequence[Any]:
        sql = self._project["due_passages"].sql
        return await self._owner.fetch(sql, after, space, BATCH, fresh_from, project=project, space=space)

    async def _count(self, turn: _Turn) -> tuple[int, int, int] | None:
        """The vectors of each kind, unless they were counted a moment ago; None then, when they were never."""
        return turn.state.counts if turn.state.count_due_in else await self._spaces.count(turn.project, turn.space)

    async def _settle(self, turn: _Turn) -> float | None:
        """What there is to do in a project whose passages are dealt with; seconds until the next look, None when nothing is left.

        Queries move to the space when its indexes are there; the spaces that they have left are dropped some time after.
        """
        project, space = turn.project, turn.space
        counts = await self._count(turn) or (0, 0, 0)
        waits: list[float | None] = [turn.state.count_due_in or None]
        waits.append((await self._owner.fetch(self._project["next_retry"].sql, space, project=project))[0]["seconds"])
        dim = self._provider.space.dim
        missing = await self._spaces.missing_indexes(project, space, counts, dim)
        if missing:
            turn.done.unindexed.append(Unindexed(project, space, tuple(missing), max(counts), dim))
            waits.append(INDEX_WAIT_S)
        elif not turn.state.current:
            await self._spaces.switch(project, space)
            log.info("project moved to its new space", project=project, space=space)
        if turn.state.current or not missing:
            waits.append(await self._spaces.drop_unused(project, space))
        known = [wait for wait in waits if wait is not None]
        return max(1.0, min(known)) if known else None

    async def _embed(self, project: int, space: int, rows: Sequence[Any], done: Round) -> None:
        dim = self._provider.space.dim
        answers = [checked(answer, dim) for answer in await self._provider.embed_documents([_text(row) for row in rows])]
        good = [(row, answer) for row, answer in zip(rows, answers, strict=True) if not isinstance(answer, Failed)]
        bad = [(row, answer) for row, answer in zip(rows, answers, strict=True) if isinstance(answer, Failed)]
        stored = ([r["id"] for r, _ in good], [r["text_hash"] for r, _ in good], [vector_text(v) for _, v in good])
        for _ in range(3):
            try:
                await self._owner.fetch(self._project["store_vectors"].sql, *stored, space, project=project, space=space)
                break
            except asyncpg.ForeignKeyViolationError:
                continue  # a passage was deleted in between; the next try does not see it any more
        if bad:
            failures = ([r["id"] for r, _ in bad], [f.reason for _, f in bad], [f.lasting for _, f in bad])
            await self._owner.fetch(self._project["note_failures"].sql, space, *failures, ATTEMPTS, project=project)
        done.stored += len(good)
        done.failed += len(bad)
        if self._watch is not None:
            self._watch(len(rows))


def _text(row: Any) -> str:
    """What is embedded: a later piece of a page stands below its headings."""
    return f"{row['title_path']}\n{row['text']}" if row["title_path"] and row["number"] else row["text"]
