"""Builds the vector indexes of projects that have grown past exact search, and those that a restore or a crash left out.

In: the owner's side of the database, the kinds of vectors that want an index. Out: working indexes named `vector_<space>_hnsw_<kind>`,
built while the project is written and searched. One worker at a time builds for a project.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import asyncpg
import msgspec
import structlog

from service.db.owner import OwnerDatabase, ProjectGone
from service.db.queries import load
from service.errors import MunimentError

_LEAST_KB: Final = 64 * 1024
_LINKS_BYTES: Final = 900  # what the graph takes beside each vector with m = 16

log = structlog.get_logger("muniment.indexes")


class Unindexed(msgspec.Struct, frozen=True):
    """Kinds of vectors of one project and space that want an index; `vectors` of the largest kind, of `dim` numbers each.

    `most_mb`: the memory that a build may take.
    """

    project: int
    space: int
    kinds: tuple[int, ...]
    vectors: int
    dim: int
    most_mb: int

    @property
    def memory_kb(self) -> int:
        """What building in memory takes, within bounds; what does not fit is put in on the disk, many times slower."""
        return min(max(self.vectors * (2 * self.dim + _LINKS_BYTES) // 1024, _LEAST_KB), self.most_mb * 1024)


async def build_indexes(owner: OwnerDatabase, wanted: Unindexed) -> bool:
    """Builds what is missing; False when another worker is at it. What a build left that did not end is dropped first.

    Raises what the database raises. Cancelling stops the build.
    """
    queries = load("project", "index")
    control = load("control", "worker")
    key, place = str(wanted.project), {"project": wanted.project, "space": wanted.space}
    if not (await owner.fetch(queries["try_lock_index"].sql, key))[0]["taken"]:
        return False
    try:
        # No parallel helpers: they would take the cores that queries need, and shared memory that containers are short of.
        await owner.fetch(queries["give_memory"].sql, f"{wanted.memory_kb}kB")
        for kind in wanted.kinds:
            known = {row["kind"]: row["valid"] for row in await owner.fetch(queries["find_indexes"].sql, **place)}
            if known.get(kind):
                continue
            if kind in known:
                await owner.run(queries[f"drop_index_{kind}"].sql, **place)
            await owner.run(queries[f"create_index_{kind}"].sql, **place)
            log.info("index built", project=wanted.project, space=wanted.space, kind=kind)
        await owner.fetch(control["mark_due"].sql, wanted.project)
    finally:
        await owner.fetch(queries["unlock_index"].sql, key)
    return True


class IndexBuilder:
    """Builds in the background, one project after the other, so that a long build keeps no project from its vectors."""

    def __init__(self, owner: OwnerDatabase) -> None:
        self._owner = owner
        self._wanted: dict[tuple[int, int], Unindexed] = {}
        self._some = asyncio.Event()

    def want(self, found: Sequence[Unindexed]) -> None:
        """Notes what to build; what is noted already is not built twice."""
        for each in found:
            self._wanted[each.project, each.space] = each
            self._some.set()

    async def run(self) -> None:
        """Builds until cancelled. What fails is noted again by the next round of the back-fill."""
        try:
            while True:
                await self._some.wait()
                await self._build(next(iter(self._wanted.values())))
        finally:
            await self._owner.close()

    async def _build(self, wanted: Unindexed) -> None:
        try:
            await build_indexes(self._owner, wanted)
        except ProjectGone:
            log.info("project is gone", project=wanted.project)
        except (MunimentError, asyncpg.PostgresError, OSError) as error:
            log.warning("index not built", project=wanted.project, space=wanted.space, reason=type(error).__name__)
            await self._owner.close()
        except Exception:
            log.exception("index not built", project=wanted.project, space=wanted.space)
            await self._owner.close()
        finally:
            self._wanted.pop((wanted.project, wanted.space), None)
            if not self._wanted:
                self._some.clear()
