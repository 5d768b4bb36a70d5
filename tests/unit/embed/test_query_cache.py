"""Queries are asked once, waited for briefly, and never break the search that asks."""

import asyncio
from array import array
from collections.abc import Awaitable, Callable, Sequence

import pytest

from service.embed.breaker import Breaker
from service.embed.provider import Embedded, EmbeddingUnavailable, Space, Vector
from service.embed.query_cache import QueryCache

WAIT_S = 30.0


class ScriptedProvider:
    """Answers a query as the test says, and counts the calls."""

    space = Space("scripted", "two", 2)
    window = 256
    available = True

    def __init__(self, answer: Callable[[str], Awaitable[object]]) -> None:
        self._answer = answer
        self.calls: list[str] = []
        self.asked = asyncio.Event()

    async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
        return [await self.embed_query(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        self.calls.append(text)
        self.asked.set()
        return await self._answer(text)  # pyright: ignore[reportReturnType]

    async def close(self) -> None:
        return None


def giving(vector: object) -> ScriptedProvider:
    async def answer(text: str) -> object:
        return vector

    return ScriptedProvider(answer)


def raising(error: Exception) -> ScriptedProvider:
    async def answer(text: str) -> object:
        raise error

    return ScriptedProvider(answer)


def hanging(until: asyncio.Event) -> ScriptedProvider:
    async def answer(text: str) -> object:
        await until.wait()
        return [3.0, 4.0]

    return ScriptedProvider(answer)


async def reason(cache: QueryCache, provider: ScriptedProvider, text: str, timeout_s: float = WAIT_S) -> str:
    with pytest.raises(EmbeddingUnavailable) as caught:
        await cache.query_vector(provider, text, timeout_s)
    return caught.value.reason


async def test_a_known_query_is_not_asked_again() -> None:
    provider, cache = giving([3.0, 4.0]), QueryCache()
    first = await cache.query_vector(provider, "a", WAIT_S)
    assert await cache.query_vector(provider, "a", 0.0) is first
    assert first == "[0.6,0.8]"
    assert provider.calls == ["a"]


async def test_the_longest_unused_query_goes_first() -> None:
    provider, cache = giving([1.0, 0.0]), QueryCache(size=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await cache.query_vector(provider, text, WAIT_S)
    assert provider.calls == ["a", "b", "c", "b"]


async def test_callers_of_one_query_share_one_call() -> None:
    until = asyncio.Event()
    provider, cache = hanging(until), QueryCache()
    waiting = [asyncio.create_task(cache.query_vector(provider, "a", WAIT_S)) for _ in range(5)]
    await provider.asked.wait()
    until.set()
    vectors = await asyncio.gather(*waiting)
    assert provider.calls == ["a"]
    assert all(vector is vectors[0] for vector in vectors)


async def test_two_providers_of_one_space_share_nothing() -> None:
    one, other, cache = giving([1.0, 0.0]), giving([0.0, 1.0]), QueryCache()
    assert await cache.query_vector(one, "a", WAIT_S) == "[1,0]"
    assert await cache.query_vector(other, "a", WAIT_S) == "[0,1]"


async def test_a_closed_provider_can_be_forgotten() -> None:
    provider, cache = giving([1.0, 0.0]), QueryCache()
    await cache.query_vector(provider, "a", WAIT_S)
    cache.forget(provider)
    await cache.query_vector(provider, "a", WAIT_S)
    assert provider.calls == ["a", "a"]


async def test_a_caller_does_not_wait_longer_than_it_can_but_the_vector_is_kept() -> None:
    until = asyncio.Event()
    provider, cache = hanging(until), QueryCache()
    assert await reason(cache, provider, "a", timeout_s=0.01) == "timeout"
    until.set()
    assert await cache.query_vector(provider, "a", WAIT_S) == "[0.6,0.8]"
    assert provider.calls == ["a"]
    assert not cache.breaker(provider).is_open


async def test_a_caller_that_leaves_takes_no_other_with_it() -> None:
    until = asyncio.Event()
    provider, cache = hanging(until), QueryCache()
    leaving = asyncio.create_task(cache.query_vector(provider, "a", WAIT_S))
    staying = asyncio.create_task(cache.query_vector(provider, "a", WAIT_S))
    await provider.asked.wait()
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    until.set()
    assert await staying == "[0.6,0.8]"


async def test_a_provider_that_hangs_is_given_up_and_then_left_alone() -> None:
    provider = hanging(asyncio.Event())
    cache = QueryCache(limit_s=0.01, make_breaker=lambda: Breaker(failures=2, clock=lambda: 0.0))
    reasons = [await reason(cache, provider, text) for text in "abcdef"]
    assert reasons == ["timeout"] * 6  # the later ones by what the earlier ones met
    assert provider.calls == ["a", "b"]


@pytest.mark.parametrize("error", [EmbeddingUnavailable(ScriptedProvider.space, "unavailable"), ValueError("a secret"), OSError("refused")])
async def test_a_dead_provider_is_not_asked_by_every_request(error: Exception) -> None:
    provider, cache = raising(error), QueryCache(make_breaker=lambda: Breaker(failures=3, clock=lambda: 0.0))
    for number in range(20):
        assert await reason(cache, provider, str(number)) == "unavailable"
    assert len(provider.calls) == 3


async def test_the_cause_of_a_failure_is_not_told() -> None:
    with pytest.raises(EmbeddingUnavailable) as caught:
        await QueryCache().query_vector(raising(ValueError("a secret")), "a", WAIT_S)
    assert "secret" not in str(caught.value.problem())


@pytest.mark.parametrize("vector", [[0.0, 0.0], [float("nan"), 1.0], [1.0], [], None, [None, 1.0], array("f", [1.0, 2.0, 3.0])])
async def test_a_vector_that_cannot_be_ranked_is_refused_and_not_kept(vector: object) -> None:
    provider, cache = giving(vector), QueryCache()
    assert await reason(cache, provider, "a") == "bad_vector"
    assert await reason(cache, provider, "a") == "bad_vector"
    assert provider.calls == ["a", "a"]


async def test_a_lone_surrogate_can_be_asked() -> None:
    provider = giving([1.0, 0.0])
    assert await QueryCache().query_vector(provider, "\ud83d", WAIT_S) == "[1,0]"
