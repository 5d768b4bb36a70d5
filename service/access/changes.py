"""What replicas tell each other: that keys, members, workspaces or projects have changed, so that none goes on with what it remembers.

In: the address of Redis, and what is to be forgotten. Out: `Changes`. Without Redis, and while it is away, what a replica remembers ends by
itself within two seconds. A message has no content: whoever gets one looks again.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import structlog
from redis import Redis as BlockingRedis
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry as BlockingRetry

CHANNEL: Final = "muniment:changes"
_ANSWER_S: Final = 0.25
_SILENCE_S: Final = 1.0
_AWAY_S: Final = 0.5
_FAILURES: Final = (RedisError, OSError, TimeoutError)

_LOG: Final = structlog.stdlib.get_logger("muniment.access")


class Changes:
    """One replica's ear and voice. Made by `open_changes`; alone, it tells only its own process."""

    def __init__(self, client: Redis | None = None, *forgets: Callable[[], None]) -> None:
        self._client = client
        self._forgets = list(forgets)
        self.is_away = client is not None
        """Whether others' changes do not reach this replica at once, though they should."""

    def on_change(self, forget: Callable[[], None]) -> None:
        """Has this called whenever something may have changed."""
        self._forgets.append(forget)

    async def announce(self) -> None:
        """Something has changed: this process and all others look again. Never fails, and never waits longer than a quarter of a second."""
        self._forget()
        if self._client is None:
            return
        try:
            async with asyncio.timeout(_ANSWER_S):
                await self._client.publish(CHANNEL, "")
        except _FAILURES as error:
            _LOG.warning("a change was not told to other replicas: they see it within seconds", reason=type(error).__name__)

    async def listen(self) -> None:
        """Hears of others' changes until cancelled; a Redis that is away is waited for."""
        while self._client is not None:
            try:
                async with self._client.pubsub() as channel:
                    await channel.subscribe(CHANNEL)
                    await self._hear(channel)
            except _FAILURES as error:
                if not self.is_away:
                    _LOG.warning("Redis does not answer: others' changes are seen within seconds", reason=type(error).__name__)
                self.is_away = True
            await asyncio.sleep(_AWAY_S)

    async def _hear(self, channel: Any) -> None:
        """A Redis that says nothing for a second is asked whether it is there."""
        asked = False
        while True:
            message = await channel.get_message(timeout=_SILENCE_S)
            if message is None:
                if asked:
                    raise TimeoutError
                await channel.ping()
            elif message["type"] in ("subscribe", "message"):  # what was told before the subscription was missed
                self._forget()
                self.is_away = False
            asked = message is None

    def _forget(self) -> None:
        for forget in self._forgets:
            forget()


@asynccontextmanager
async def open_changes(redis_url: str | None, *forgets: Callable[[], None]) -> AsyncGenerator[Changes]:
    """A replica that hears of others' changes, where there is a Redis; `forgets` are called at each."""
    if redis_url is None:
        yield Changes(None, *forgets)
        return
    client = Redis.from_url(redis_url, socket_timeout=_SILENCE_S, socket_connect_timeout=_SILENCE_S, retry=Retry(NoBackoff(), 0))
    changes = Changes(client, *forgets)
    listening = asyncio.create_task(changes.listen())
    try:
        yield changes
    finally:
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening
        await client.aclose()


def announce_change(redis_url: str | None) -> bool:
    """Tells every replica from a process that is none, such as a command; whether they could be told."""
    if redis_url is None:
        return True
    retry = BlockingRetry(NoBackoff(), 0)
    with BlockingRedis.from_url(redis_url, socket_timeout=_SILENCE_S, socket_connect_timeout=_SILENCE_S, retry=retry) as client:
        try:
            client.publish(CHANNEL, "")
        except _FAILURES:
            return False
    return True
