"""The worker: runs the back-fill round after round, and builds indexes beside it, until it is told to stop.

In: the owner's connection string, a provider, the pause between two looks for work. Out: vectors and indexes in the database, lines in
the log.
"""

import asyncio

import structlog

from service.db.owner import OwnerDatabase
from service.embed.backfill import Backfill
from service.embed.indexes import IndexBuilder
from service.embed.provider import EmbeddingProvider
from service.embed.spaces import BackfillLimits
from service.errors import MunimentError

_AWAY_S = 2.0

log = structlog.get_logger("muniment.worker")


async def run_worker(
    owner_url: str, provider: EmbeddingProvider, poll_s: float, stop: asyncio.Event, limits: BackfillLimits | None = None
) -> None:
    """Works until `stop` is set; a database that is away is waited for. An index that is being built then is built anew the next time."""
    owner = OwnerDatabase(owner_url)
    backfill = Backfill(owner, provider, limits)
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
            await _wait(stop, pause)
    finally:
        building.cancel()
        await asyncio.gather(building, return_exceptions=True)
        await owner.close()


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return
