"""The worker: runs the back-fill round after round, and builds indexes beside it, until it is told to stop.

In: the owner's connection string, the server's provider, the way to those of workspaces, the pause between two looks for work. Out: vectors
and indexes in the database, lines in the log. Workspaces with providers of their own have a lane of their own, so that one that is slow
keeps nobody waiting who uses the server's.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec
import structlog

from service.db.owner import OwnerDatabase
from service.db.queries import load
from service.embed.backfill import Backfill, Reach
from service.embed.configured import provider_of
from service.embed.indexes import IndexBuilder
from service.embed.own import OwnProviders
from service.embed.provider import EmbeddingProvider
from service.embed.sealed import Seal
from service.embed.spaces import BackfillLimits, backfill_limits
from service.errors import MunimentError
from service.settings import Settings

_AWAY_S = 2.0

log = structlog.get_logger("muniment.worker")


async def work(owner_url: str, provider: EmbeddingProvider, settings: Settings, pepper: str, stop: asyncio.Event) -> None:
    """Works as the settings say, in both lanes, until `stop` is set. `pepper` opens the keys of workspaces' providers."""
    poll_s, limits = settings.worker_poll_ms / 1000, backfill_limits(settings)
    async with reaching(owner_url, provider, settings, pepper) as reach, asyncio.TaskGroup() as group:
        for lane in (True, False) if provider.available else (True,):
            group.create_task(run_worker(owner_url, provider, poll_s, stop, limits, msgspec.structs.replace(reach, lane=lane)))


@asynccontextmanager
async def reaching(owner_url: str, provider: EmbeddingProvider, settings: Settings, pepper: str) -> AsyncGenerator[Reach]:
    """The way to all providers that the settings, and the workspaces', lead to; they are closed at the end."""
    owner = OwnerDatabase(owner_url)
    own = OwnProviders(settings, Seal(pepper), provider, partial(_read_own, owner, asyncio.Lock()))
    try:
        yield Reach(own, partial(provider_of, settings))
    finally:
        await own.close()
        await owner.close()


async def _read_own(owner: OwnerDatabase, turn: asyncio.Lock, workspace_id: int) -> list[Any]:
    async with turn:
        return await owner.fetch(load("control", "worker")["find_embedding"].sql, workspace_id)


async def run_worker(
    owner_url: str,
    provider: EmbeddingProvider,
    poll_s: float,
    stop: asyncio.Event,
    limits: BackfillLimits | None = None,
    reach: Reach | None = None,
) -> None:
    """Works until `stop` is set; a database that is away is waited for. An index that is being built then is built anew the next time."""
    owner = OwnerDatabase(owner_url)
    backfill = Backfill(owner, provider, limits, reach=reach)
    builder = IndexBuilder(OwnerDatabase(owner_url))
    building = asyncio.create_task(builder.run())
    try:
        while not stop.is_set():
            pause = poll_s
            try:
                done = await backfill.run_round()
                builder.want(done.unindexed)
                if done.stored or done.failed:
                    log.info("embedded", projects=done.projects, stored=done.stored, failed=done.failed)
                if done.more:
                    pause = 0.0
            except MunimentError as error:
                log.warning("the worker waits", code=error.code)
                pause = _AWAY_S
            except Exception:
                log.exception("a round of the worker failed")
                await owner.close()
                pause = _AWAY_S
            await wait_for_stop(stop, pause)
    finally:
        building.cancel()
        await asyncio.gather(building, return_exceptions=True)
        await backfill.close()
        await owner.close()


async def wait_for_stop(stop: asyncio.Event, seconds: float) -> None:
    """Returns after so many seconds, or as soon as `stop` is set."""
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return
