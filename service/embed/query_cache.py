"""Vectors of queries: each asked of a provider once, remembered within bounds, and never waited for too long.

In: a provider, a query and the seconds its caller has. Out: the vector as pgvector text, or `EmbeddingUnavailable` with a reason, upon
which a search goes on by words.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from weakref import WeakKeyDictionary

from service.embed.breaker import Breaker
from service.embed.provider import EmbeddingProvider, EmbeddingUnavailable, Failed, checked, vector_text
from service.observe.embedding import count_embedding_error, count_query

# The provider itself, not its space: two workspaces may reach a model of one name at two addresses, and must not share answers.
_Key = tuple[EmbeddingProvider, bytes]


class QueryCache:
    """At most `size` vectors, the longest unused one goes first. `limit_s` ends a call that no provider should take."""

    def __init__(self, size: int = 1_024, limit_s: float = 10.0, make_breaker: Callable[[], Breaker] = Breaker) -> None:
        self._size = size
        self._limit_s = limit_s
        self._make_breaker = make_breaker
        self._vectors: OrderedDict[_Key, str] = OrderedDict()
        self._asked: dict[_Key, asyncio.Task[str]] = {}
        self._breakers: WeakKeyDictionary[EmbeddingProvider, Breaker] = WeakKeyDictionary()

    async def query_vector(self, provider: EmbeddingProvider, text: str, timeout_s: float) -> str:
        """The vector of a query within `timeout_s` seconds, as pgvector text; callers with the same query share one call.

        Raises `EmbeddingUnavailable` with the reason `timeout`, `unavailable` or `bad_vector`. A call that outlasts its callers
        goes on, and its vector is there for the next one.
        """
        key = (provider, blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
        if (known := self._vectors.get(key)) is not None:
            self._vectors.move_to_end(key)
            return known
        task = self._asked.get(key) or self._ask(key, text)
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(task)
        except TimeoutError:
            raise EmbeddingUnavailable(provider.space, "timeout") from None

    def breaker(self, provider: EmbeddingProvider) -> Breaker:
        """The breaker of a provider, for whoever shows its state."""
        found = self._breakers.get(provider)
        if found is None:
            found = self._breakers[provider] = self._make_breaker()
        return found

    def forget(self, provider: EmbeddingProvider) -> None:
        """Drops a provider's vectors, when it is closed."""
        for key in [key for key in self._vectors if key[0] is provider]:
            del self._vectors[key]

    def _ask(self, key: _Key, text: str) -> asyncio.Task[str]:
        provider = key[0]
        breaker = self.breaker(provider)
        if not breaker.admits():
            raise EmbeddingUnavailable(provider.space, breaker.reason)
        task = self._asked[key] = asyncio.create_task(self._call(provider, text))
        task.add_done_callback(lambda done: self._settle(key, done))
        return task

    async def _call(self, provider: EmbeddingProvider, text: str) -> str:
        breaker, started = self.breaker(provider), time.perf_counter()
        try:
            vector = await self._embed(provider, text)
        except EmbeddingUnavailable as error:
            if error.reason == "bad_vector":
                breaker.succeeded()
            else:
                breaker.failed(error.reason)
            count_embedding_error(provider.space.provider, "query", error.reason)
            raise
        breaker.succeeded()
        count_query(provider.space.provider, time.perf_counter() - started)
        return vector

    async def _embed(self, provider: EmbeddingProvider, text: str) -> str:
        try:
            async with asyncio.timeout(self._limit_s):
                vector = checked(await provider.embed_query(text), provider.space.dim)
        except TimeoutError:
            raise EmbeddingUnavailable(provider.space, "timeout") from None
        except EmbeddingUnavailable:
            raise
        except Exception as error:
            raise EmbeddingUnavailable(provider.space, "unavailable") from error
        if isinstance(vector, Failed):
            raise EmbeddingUnavailable(provider.space, "bad_vector")
        return vector_text(vector)

    def _settle(self, key: _Key, task: asyncio.Task[str]) -> None:
        """Keeps the vector; a failure is looked at, as all its callers may have left."""
        del self._asked[key]
        if task.cancelled() or task.exception() is not None:
            return
        self._vectors[key] = task.result()
        while len(self._vectors) > self._size:
            self._vectors.popitem(last=False)
