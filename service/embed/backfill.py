"""The back-fill: gives every passage a vector in the space that its project is to be in, while writing and searching go on.

In: the owner's side of the database, the server's provider, those of workspaces with settings of their own. Out: rows in the projects'
vector tables, and projects moved to their space. Work is derived from the rows, so a crash loses nothing and repeats at most one batch.
One worker at a time has a project (an advisory lock); several share the projects. No transaction is open while a provider works.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import structlog

from service.db.owner import OwnerDatabase, ProjectGone
from service.db.queries import load
from service.embed.indexes import Unindexed
from service.embed.own import OwnProviders
from service.embed.provider import EmbeddingProvider, EmbeddingUnavailable, Space
from service.embed.spaces import MOST_INDEXED_DIM, BackfillLimits, ProjectSpaces
from service.embed.turn import Earlier, Turn, Turns

PROJECTS_A_ROUND: Final = 20
UNAVAILABLE_WAIT_S: Final = 10.0
SWEEPS_LOOKED_FOR_S: Final = 300.0

log = structlog.get_logger("muniment.backfill")


class Round(msgspec.Struct):
    """What one round did: projects looked at, vectors stored, passages that failed; whether more can be done at once; indexes to build.

    `unavailable` is why a provider gave nothing, if one did not.
    """

    projects: int = 0
    stored: int = 0
    failed: int = 0
    more: bool = False
    unindexed: list[Unindexed] = []
    unavailable: EmbeddingUnavailable | None = None


class Reach(msgspec.Struct, frozen=True):
    """How providers besides the server's are found: those of workspaces, and those of spaces that projects are still in.

    `lane`: only projects of workspaces with settings of their own (True), only the others (False), or all.
    """

    own: OwnProviders | None = None
    make_earlier: Callable[[Space], EmbeddingProvider | None] | None = None
    lane: bool | None = None


class Backfill:
    """Fills the server's space, from its first round on, and the spaces that workspaces have chosen for themselves.

    Stands back from the server's when another worker has chosen another one since.
    """

    def __init__(
        self,
        owner: OwnerDatabase,
        provider: EmbeddingProvider,
        limits: BackfillLimits | None = None,
        watch: Callable[[int], None] | None = None,
        reach: Reach | None = None,
    ) -> None:
        """`watch` is told after each batch how many passages it dealt with."""
        self._owner = owner
        self._provider = provider
        self._limits = limits or BackfillLimits()
        self._reach = reach or Reach()
        self._spaces = ProjectSpaces(owner, self._limits)
        self._turns = Turns(owner, self._spaces, watch)
        self._space: int | None = None
        self._sweeps_at = 0.0
        self._earlier: dict[Space, EmbeddingProvider | None] = {}
        self._control = load("control", "worker")

    async def run_round(self, only: Sequence[int] | None = None) -> Round:
        """Gives each project that is due its turn, or each of some projects; raises `DatabaseUnavailable` when the database is away."""
        done = Round()
        await self._owner.renew()
        space = await self._chosen()
        await self._look_for_sweeps(space)
        sql = self._control["due_projects"].sql
        due = await self._owner.fetch(sql, PROJECTS_A_ROUND, space, self._limits.sweep_s, only, self._reach.lane)
        for row in due:
            done.projects += 1
            try:
                await self._take_turn(row, space, done)
            except ProjectGone:
                await self._owner.fetch(self._control["clear_due"].sql, row["project_id"], row["saves"])
            except EmbeddingUnavailable as error:
                done.unavailable = error
                named = {"workspace_id": row["workspace_id"], "provider": error.space.provider, "model": error.space.model}
                log.warning("embedding unavailable", reason=error.reason, **named)
                await self._postpone(row)
        done.more = done.more or len(due) == PROJECTS_A_ROUND
        return done

    async def close(self) -> None:
        """Ends the providers of spaces that projects were still in."""
        for provider in self._earlier.values():
            if provider is not None:
                await provider.close()
        self._earlier.clear()

    async def _chosen(self) -> int | None:
        """The number of the server's space; None for a server that has none."""
        wanted = self._provider.space
        if self._space is None and self._provider.available and self._reach.lane is not True:
            self._space = await self._spaces.choose(wanted)
            if wanted.dim > MOST_INDEXED_DIM:
                log.warning("vectors too long for an index: searched exactly", model=wanted.model, dim=wanted.dim, most=MOST_INDEXED_DIM)
        return self._space

    async def _look_for_sweeps(self, space: int | None) -> None:
        """Now and then: projects that nobody has looked through for long; and whether this worker is still the one that is wanted."""
        if time.monotonic() < self._sweeps_at:
            return
        self._sweeps_at = time.monotonic() + SWEEPS_LOOKED_FOR_S
        await self._owner.fetch(self._control["drop_left_embedding"].sql)
        if self._reach.lane is not True:
            chosen = await self._owner.fetch(self._control["chosen_space"].sql)
            if not chosen or chosen[0]["id"] != space:
                log.warning("another worker has chosen another model since: this one stands back", model=self._provider.space.model)
                return
        await self._owner.fetch(self._control["mark_unswept"].sql, self._limits.sweep_s)

    async def _postpone(self, row: Any) -> None:
        """A workspace's own provider that is away is asked once for all its projects."""
        if row["own"]:
            await self._owner.fetch(self._control["postpone_workspace"].sql, row["workspace_id"], UNAVAILABLE_WAIT_S)
        else:
            await self._owner.fetch(self._control["postpone"].sql, row["project_id"], UNAVAILABLE_WAIT_S, row["saves"])

    async def _take_turn(self, row: Any, chosen: int | None, done: Round) -> None:
        project, saves = row["project_id"], row["saves"]
        space = row["space_id"] if row["own"] else chosen
        if space is None:  # the workspace wants no vectors
            await self._owner.fetch(self._control["clear_due"].sql, project, saves)
            return
        provider = await self._provider_of(row)
        key = str(project)
        if not (await self._owner.fetch(self._control["try_lock_project"].sql, key))[0]["taken"]:
            return
        turn: Turn | None = None
        try:
            turn = await self._begin(row, space, provider)
            if not await self._turns.fill(turn):
                done.more = True
                return
            wait = await self._turns.settle(turn)
            if wait is None:
                await self._owner.fetch(self._control["clear_due"].sql, project, saves)
            else:
                await self._owner.fetch(self._control["postpone"].sql, project, wait, saves)
        finally:
            await self._owner.fetch(self._control["unlock_project"].sql, key)
            if turn is not None:
                done.stored += turn.stored
                done.failed += turn.failed
                done.unindexed += [turn.unindexed] if turn.unindexed else []

    async def _provider_of(self, row: Any) -> EmbeddingProvider:
        """The provider of the space that a project is to be in; raises `EmbeddingUnavailable`."""
        if not row["own"]:
            return self._provider
        space = Space(row["provider"], row["model"], row["dim"])
        if self._reach.own is None:
            raise EmbeddingUnavailable(space, "unavailable")
        found = await self._reach.own.find(row["workspace_id"], space)
        if found is None:
            raise await self._reach.own.unavailable(row["workspace_id"], space)
        return found

    async def _begin(self, row: Any, space: int, provider: EmbeddingProvider) -> Turn:
        project = row["project_id"]
        state = await self._spaces.take(project, space)
        if row["anew"]:
            await self._spaces.begin_anew(project, space)
            state = await self._spaces.take(project, space)
        if row["sweep"]:
            await self._spaces.begin_sweep(project, space)
            state = msgspec.structs.replace(state, done_through=0)
        return Turn(project, space, provider, state, None if state.current else await self._find_earlier(row))

    async def _find_earlier(self, row: Any) -> Earlier | None:
        """The space that queries of a moving project still use, where its provider can be had."""
        searched = await self._spaces.searched(row["project_id"])
        if searched is None:
            return None
        number, space = searched
        provider = await self._reach.own.find(row["workspace_id"], space) if self._reach.own else None
        if provider is None and space == self._provider.space:
            provider = self._provider
        if provider is None and self._reach.make_earlier is not None:
            if space not in self._earlier:
                self._earlier[space] = await asyncio.to_thread(self._reach.make_earlier, space)
            provider = self._earlier[space]
        state = await self._spaces.take(row["project_id"], number)
        return Earlier(number, provider, state.done_through)
