"""What every rate limiter must do, on the one in the process and the one on Redis; and what happens while Redis is away."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from redis.asyncio import Redis

from service.access import limits as limits_of_calls
from service.access.keys import Caller
from service.access.limits import Limits, LocalLimiter, RateLimited, RateLimiter, RedisLimiter, limits_of, make_limiter
from service.settings import Settings, load_settings
from tests.integration.access.redis_server import RedisServer

LIMITS = Limits(key=3, workspace=5)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Redis that is there is waited for longer than calls would, since on a busy machine it may be late."""
    monkeypatch.setattr(limits_of_calls, "_ANSWER_S", 3.0)


def caller(key: str = "k1", workspace: int = 1) -> Caller:
    return Caller(key, workspace, f"w{workspace}", "role", frozenset({"read"}), None, None)


def _settings(url: str) -> Settings:
    rates = {"MUNIMENT_RATE_KEY_PER_MINUTE": str(LIMITS.key), "MUNIMENT_RATE_WORKSPACE_PER_MINUTE": str(LIMITS.workspace)}
    return load_settings({"MUNIMENT_REDIS_URL": url, **rates})


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.resume()
    server.kill()


@pytest_asyncio.fixture(loop_scope="session")
async def redis(redis_server: RedisServer) -> AsyncIterator[Redis]:
    """An empty Redis."""
    client = Redis.from_url(redis_server.url)
    await client.flushall()
    yield client
    await client.aclose()


class Bench:
    """Limiters that share their counts where their kind can, and a way to let time pass."""

    def __init__(self, kind: str, redis: Redis, url: str) -> None:
        self._kind, self._redis, self._url = kind, redis, url
        self._clock = Clock()
        self.made: list[RateLimiter] = []

    def make(self, limits: Limits = LIMITS) -> RateLimiter:
        if self._kind == "local":
            made: RateLimiter = LocalLimiter(limits, self._clock)
        else:
            made = RedisLimiter(Redis.from_url(self._url), limits, LocalLimiter(Limits(1, 1)))
        self.made.append(made)
        return made

    async def pass_time(self, seconds: float) -> None:
        """Redis' own clock cannot be turned; what it noted is moved into the past instead."""
        self._clock.now += seconds
        for name in await self._redis.keys("muniment:rate:*"):
            await self._redis.decrby(name, int(seconds * 1_000_000))


@pytest_asyncio.fixture(loop_scope="session", params=["local", "redis"])
async def bench(request: pytest.FixtureRequest, redis: Redis, redis_server: RedisServer) -> AsyncIterator[Bench]:
    made = Bench(request.param, redis, redis_server.url)
    yield made
    for limiter in made.made:
        await limiter.close()


async def _taken(limiter: RateLimiter, who: Caller, times: int) -> int:
    results = await asyncio.gather(*(limiter.take(who) for _ in range(times)), return_exceptions=True)
    assert all(result is None or isinstance(result, RateLimited) for result in results)
    return sum(result is None for result in results)


async def test_no_more_than_the_limit_is_taken_however_many_come_at_once(bench: Bench) -> None:
    assert await _taken(bench.make(), caller(), 20) == 3


async def test_one_keys_calls_are_not_anothers(bench: Bench) -> None:
    limiter = bench.make()
    assert [await _taken(limiter, caller(key), 4) for key in ("k1", "k2")] == [3, 2]  # five for the workspace
    assert await _taken(limiter, caller("k1", workspace=2), 4) == 3


async def test_a_refused_call_uses_nothing_up(bench: Bench) -> None:
    limiter = bench.make()
    assert await _taken(limiter, caller("k1"), 50) == 3
    assert await _taken(limiter, caller("k2"), 2) == 2
    await bench.pass_time(20)
    assert await _taken(limiter, caller("k1"), 50) == 1


async def test_the_answer_says_when_to_come_again(bench: Bench) -> None:
    limiter = bench.make()
    began = time.monotonic()
    await _taken(limiter, caller(), 3)
    with pytest.raises(RateLimited) as refused:
        await limiter.take(caller())
    passed = time.monotonic() - began  # Redis' clock goes on
    assert 20 - passed <= refused.value.retry_after <= 20
    problem = refused.value.problem()
    assert (problem.status, problem.code, problem.members) == (429, "rate_limited", {"retry_after": refused.value.retry_after})
    await bench.pass_time(refused.value.retry_after)
    assert await _taken(limiter, caller(), 2) == 1


async def test_a_pause_fills_no_more_than_one_minute(bench: Bench) -> None:
    limiter = bench.make()
    await _taken(limiter, caller(), 3)
    await bench.pass_time(3600)
    assert await _taken(limiter, caller(), 20) == 3


async def test_zero_is_no_limit(bench: Bench) -> None:
    assert await _taken(bench.make(Limits(0, 0)), caller(), 100) == 100
    assert await _taken(bench.make(Limits(0, 5)), caller(), 100) == 5
    assert await _taken(bench.make(Limits(4, 0)), caller("k9", workspace=9), 100) == 4


@pytest.mark.usefixtures("redis", "patient")
async def test_replicas_count_together_on_redis(redis_server: RedisServer) -> None:
    replicas = [make_limiter(_settings(redis_server.url)) for _ in range(3)]
    counts = await asyncio.gather(*(_taken(replica, caller(), 10) for replica in replicas))
    await asyncio.gather(*(replica.close() for replica in replicas))
    assert sum(counts) == 3


async def test_counts_end_by_themselves_and_survive_a_clock_set_back(redis: Redis) -> None:
    limiter = RedisLimiter(redis, LIMITS, LocalLimiter(Limits(1, 1)))
    await limiter.take(caller())
    for limit in limits_of(caller(), LIMITS):
        assert 0 < await redis.pttl(limit.name) <= 60_000
        await redis.incrby(limit.name, 3_600_000_000)
    with pytest.raises(RateLimited) as refused:
        await limiter.take(caller())
    assert refused.value.retry_after <= 20


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("way", ["halt", "kill"])
async def test_while_redis_is_away_each_replica_counts_for_itself(tmp_path: Path, way: str) -> None:
    server = RedisServer(tmp_path)
    limiter = make_limiter(_settings(server.url))
    assert isinstance(limiter, RedisLimiter)
    clock = limiter._clock = Clock()
    try:
        assert await _taken(limiter, caller(), 2) == 2
        assert not limiter.is_away
        getattr(server, way)()
        async with asyncio.timeout(30):  # it neither waits for Redis nor lets everybody in
            assert await _taken(limiter, caller(), 20) == 3
        assert limiter.is_away
        if way == "kill":
            server.start()
        server.resume()
        assert await _taken(limiter, caller(), 1) == 0  # Redis is not asked again at once
        clock.now += 2.1
        await _taken(limiter, caller("other"), 1)
        assert not limiter.is_away
    finally:
        await limiter.close()
        server.resume()
        server.kill()


def test_redis_is_used_only_where_there_is_one_and_a_limit() -> None:
    url = {"MUNIMENT_REDIS_URL": "redis://localhost:1/0"}
    assert isinstance(make_limiter(load_settings({"MUNIMENT_RATE_KEY_PER_MINUTE": "3"})), LocalLimiter)
    assert isinstance(make_limiter(load_settings(url)), LocalLimiter)
