"""Rate limits: how many calls a minute one key and one workspace may make, counted on Redis for all replicas, or in the process.

In: who calls. Out: nothing, or `RateLimited` with the seconds to wait. A call that one limit refuses uses up none of the others.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec
import structlog
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from service.access.keys import Caller
from service.errors import MunimentError
from service.settings import Settings

_MINUTE: Final = 60_000_000
_ANSWER_S: Final = 0.25
_AWAY_S: Final = 2.0
_BUCKETS_MOST: Final = 20_000
_SCRIPT: Final = Path(__file__).with_name("limits.lua").read_text(encoding="utf-8")

_LOG: Final = structlog.stdlib.get_logger("muniment.access")


class RateLimited(MunimentError):
    """More calls came than the key or its workspace may make."""

    code = "rate_limited"
    status = 429

    def __init__(self, wait_us: float) -> None:
        seconds = max(1, math.ceil(wait_us / 1_000_000))
        super().__init__(hint=f"Try again in {seconds} s.", retry_after=seconds)
        self.retry_after = seconds


class Limits(msgspec.Struct, frozen=True):
    """Calls a minute; 0 is no limit. A minute's calls may come all at once after a pause."""

    key: int
    workspace: int


class Limit(msgspec.Struct, frozen=True):
    """One bucket: its name, what one call costs of it and how much it holds, in microseconds in which it fills again."""

    name: str
    cost_us: float
    size_us: int = _MINUTE


class RateLimiter(Protocol):
    """Counts calls. Made by `make_limiter`."""

    async def take(self, caller: Caller) -> None:
        """Counts one call; raises `RateLimited`. Never waits longer than a quarter of a second, and fails for no other reason."""
        ...

    async def close(self) -> None:
        """Gives back what it holds."""
        ...


def make_limiter(settings: Settings) -> RateLimiter:
    """The limiter that the settings ask for: on Redis when there is one."""
    limits = Limits(settings.rate_key_per_minute, settings.rate_workspace_per_minute)
    local = LocalLimiter(limits)
    if settings.redis_url is None or limits == Limits(0, 0):
        return local
    client = Redis.from_url(
        settings.redis_url, socket_timeout=_ANSWER_S, socket_connect_timeout=_ANSWER_S, retry=Retry(NoBackoff(), 0), max_connections=50
    )
    return RedisLimiter(client, limits, local)


def limits_of(caller: Caller, limits: Limits) -> tuple[Limit, ...]:
    """The buckets that a call takes from. The braces keep those of one workspace on one node of a Redis cluster."""
    place = f"muniment:rate:{{w{caller.workspace_id}}}"
    named = ((f"{place}:key:{caller.key_id}", limits.key), (f"{place}:all", limits.workspace))
    return tuple(Limit(name, _MINUTE / calls) for name, calls in named if calls)


class LocalLimiter:
    """Counts in the process: each replica for itself."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._full: OrderedDict[str, float] = OrderedDict()

    async def take(self, caller: Caller) -> None:
        """Counts one call; raises `RateLimited`."""
        now = self._clock() * 1_000_000
        taken = limits_of(caller, self._limits)
        full = [max(self._full.get(limit.name, 0.0), now) + limit.cost_us for limit in taken]
        wait = max((each - limit.size_us - now for each, limit in zip(full, taken, strict=True)), default=0.0)
        if wait > 0:
            raise RateLimited(wait)
        for each, limit in zip(full, taken, strict=True):
            self._full[limit.name] = each
            self._full.move_to_end(limit.name)
        while len(self._full) > _BUCKETS_MOST:
            self._full.popitem(last=False)

    async def close(self) -> None:
        """Holds nothing."""


class RedisLimiter:
    """Counts on Redis, for all replicas together; while Redis is away each replica counts for itself, and the log says so."""

    def __init__(self, client: Redis, limits: Limits, local: LocalLimiter, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._limits = limits
        self._local = local
        self._clock = clock
        self._script = client.register_script(_SCRIPT)
        self._away_until = float("-inf")
        self.is_away = False

    async def take(self, caller: Caller) -> None:
        """Counts one call; raises `RateLimited`."""
        taken = limits_of(caller, self._limits)
        if not taken:
            return
        wait = None if self._clock() < self._away_until else await self._ask(taken)
        if wait is None:
            await self._local.take(caller)
        elif wait > 0:
            raise RateLimited(wait)

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def _ask(self, taken: Sequence[Limit]) -> float | None:
        """The microseconds to wait; None while Redis does not answer."""
        numbers = [f"{number:.0f}" for limit in taken for number in (limit.cost_us, limit.size_us)]
        try:
            wait = float(await self._script(keys=[limit.name for limit in taken], args=numbers))
        except (RedisError, OSError, TimeoutError) as error:
            self._away_until = self._clock() + _AWAY_S
            if not self.is_away:
                self.is_away = True
                _LOG.warning("Redis does not answer: each replica counts calls for itself", reason=type(error).__name__)
            return None
        if self.is_away:
            self.is_away = False
            _LOG.info("Redis answers again: calls are counted for all replicas together")
        return wait
