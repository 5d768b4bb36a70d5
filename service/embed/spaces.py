"""The embedding spaces of a project: the one that queries use, the one that is being filled, and those that are out of use.

In: the owner's side of the database, a project's number, a space's number. Out: `SpaceState`, and changes that each are one transaction.
Called under the project's lock, but for `dropped`, which waits for nobody.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from service.db.owner import OwnerDatabase
from service.db.queries import load
from service.embed.indexes import Unindexed
from service.embed.provider import Space
from service.settings import Settings

MOST_INDEXED_DIM: Final = 4_000  # pgvector's limit for an index on halfvec
_ROWS_A_SECOND: Final = 50_000  # counting takes well under a hundredth of the time that this allows for
_IN_USE_WAIT_S: Final = 5.0


class BackfillLimits(msgspec.Struct, frozen=True):
    """What the back-fill is held to.

    `exact_candidates`: vectors of a project and space above which there are indexes; `index_memory_mb`: what building one may take.
    `stale_days`: age at which vectors are made again, or never.
    `sweep_s`: how often all passages of a project are looked at, whatever is known to be done.
    `grace_s`: how long a space that is out of use stays, for queries that still read it; more than the longest query may take.
    """

    exact_candidates: int = 20_000
    index_memory_mb: int = 2048
    stale_days: int | None = None
    grace_s: float = 60.0
    sweep_s: float = 86_400.0


def backfill_limits(settings: Settings) -> BackfillLimits:
    """What an operator has set."""
    return BackfillLimits(
        exact_candidates=settings.exact_candidates,
        index_memory_mb=settings.index_memory_mb,
        stale_days=settings.embedding_stale_days or None,
    )


class SpaceState(msgspec.Struct, frozen=True):
    """One space in one project. `counts` are the vectors of each kind when they were last counted, `counted_ago` seconds ago."""

    current: bool
    done_through: int
    counts: tuple[int, int, int] | None
    counted_ago: float
    fresh_from: datetime | None

    @property
    def count_due_in(self) -> float:
        """Seconds until counting is worth its price again."""
        return 0.0 if self.counts is None else max(0.0, sum(self.counts) / _ROWS_A_SECOND - self.counted_ago)


class ProjectSpaces:
    """The spaces of all projects, one call at a time."""

    def __init__(self, owner: OwnerDatabase, limits: BackfillLimits) -> None:
        self._owner = owner
        self._limits = limits
        self._control = load("control", "worker")
        self._project = load("project", "spaces")
        self._index = load("project", "index")

    async def choose(self, space: Space) -> int:
        """The number of the space that all projects are to be in from now on; when that is a change, all of them have work."""
        return (await self._owner.fetch(self._control["choose_space"].sql, space.provider, space.model, space.dim))[0]["id"]

    async def take(self, project: int, space: int) -> SpaceState:
        """The space's state, its table made where the project has none; its own first space becomes current at once."""
        found = await self._find(project, space)
        if found is None:
            first = not (await self._owner.fetch(self._project["has_current"].sql, project=project))[0]["found"]
            await self._owner.fetch(self._control["add_project_space"].sql, f"m_{project:d}", space, first)
            found = await self._find(project, space)
        if found is None:
            raise LookupError(f"project {project} got no space {space}")
        if found["retired"]:
            await self._owner.fetch(self._project["revive_space"].sql, space, project=project)
        counts = None if found["head_count"] is None else (found["head_count"], found["piece_count"], found["page_count"])
        return SpaceState(found["current"], found["done_through"], counts, found["counted_ago"] or 0.0, found["fresh_from"])

    async def _find(self, project: int, space: int) -> Any:
        rows = await self._owner.fetch(self._project["find_space"].sql, space, self._limits.stale_days, project=project)
        return rows[0] if rows else None

    async def make_stale(self, project: int, space: int) -> None:
        """All vectors of the space are to be made again, and what failed is tried again; waits for the worker that has the project."""
        await self._owner.fetch(self._control["ask_embedding"].sql, project, True)
        await self._owner.fetch(self._control["lock_project"].sql, str(project))
        try:
            await self.take(project, space)
            await self.begin_anew(project, space)
        finally:
            await self._owner.fetch(self._control["unlock_project"].sql, str(project))

    async def begin_anew(self, project: int, space: int) -> None:
        """Takes up what was asked for by hand, in one statement: a crash before or after it loses nothing and does nothing twice."""
        await self._owner.fetch(self._project["begin_anew"].sql, space, project, project=project)

    async def searched(self, project: int) -> tuple[int, Space] | None:
        """The space that queries use, with its number."""
        rows = await self._owner.fetch(self._project["searched_space"].sql, project=project)
        return (rows[0]["id"], Space(rows[0]["provider"], rows[0]["model"], rows[0]["dim"])) if rows else None

    async def note_coverage(self, project: int, space: int, vectors: int) -> None:
        """Keeps how far the project is for whoever asks about all."""
        await self._owner.fetch(self._project["note_coverage"].sql, project, space, vectors, project=project)

    async def begin_sweep(self, project: int, space: int) -> None:
        """All passages are looked at again; noted after the fact, so that a crash in between repeats it."""
        await self._owner.fetch(self._project["restart_space"].sql, space, project=project)
        await self._owner.fetch(self._control["note_sweep"].sql, project)

    async def note_done(self, project: int, space: int, through: int) -> None:
        await self._owner.fetch(self._project["note_done"].sql, space, through, project=project)

    async def count(self, project: int, space: int) -> tuple[int, int, int]:
        """Counts the vectors of each kind and keeps the counts for whoever asks."""
        row = (await self._owner.fetch(self._project["note_counts"].sql, space, project=project, space=space))[0]
        return row["head_count"], row["piece_count"], row["page_count"]

    async def missing_indexes(self, project: int, space: int, counts: tuple[int, int, int], dim: int) -> Unindexed | None:
        """The kinds of vectors that want an index and have none that works: all that there are, once the space is large in all."""
        large = sum(counts) > self._limits.exact_candidates and dim <= MOST_INDEXED_DIM
        wanted = [kind for kind, count in enumerate(counts) if count and large]
        await self._owner.fetch(self._project["note_index_kinds"].sql, space, wanted, project=project)
        if not wanted:
            return None
        rows = await self._owner.fetch(self._index["find_indexes"].sql, project=project, space=space)
        ready = {row["kind"] for row in rows if row["valid"]}
        missing = tuple(kind for kind in wanted if kind not in ready)
        return Unindexed(project, space, missing, max(counts), dim, self._limits.index_memory_mb) if missing else None

    async def switch(self, project: int, space: int) -> None:
        """Queries use this space from now on."""
        await self._owner.fetch(self._control["switch_project_space"].sql, f"m_{project:d}", space)

    async def drop_unused(self, project: int, current: int) -> float | None:
        """Drops the spaces that are out of use for long enough; seconds until there is more to drop, None when nothing is left."""
        rows: Sequence[Any] = await self._owner.fetch(self._project["retire_others"].sql, current, project=project)
        waits = [self._limits.grace_s - row["seconds"] for row in rows if row["seconds"] < self._limits.grace_s]
        for row in rows:
            if row["seconds"] >= self._limits.grace_s:
                dropped = await self._owner.fetch(self._control["drop_project_space"].sql, f"m_{project:d}", row["id"])
                waits += [] if dropped[0]["dropped"] else [_IN_USE_WAIT_S]
        return min(waits, default=None)
