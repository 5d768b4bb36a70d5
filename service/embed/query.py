"""Query vectors as graph and search want them: one callable that knows its space.

In: a provider, the cache of query vectors, a time limit. Out: pgvector text; `EmbeddingUnavailable` when there is none.
"""

from service.embed.provider import EmbeddingProvider, Space, vector_text
from service.embed.query_cache import QueryCache


class QueryEmbedder:
    """Makes the vector of a query, from the cache where it was asked before."""

    def __init__(self, provider: EmbeddingProvider, cache: QueryCache, timeout_s: float) -> None:
        self._provider = provider
        self._cache = cache
        self._timeout_s = timeout_s

    @property
    def space(self) -> Space:
        """The space that the vectors belong to; a project in another space cannot be searched with them."""
        return self._provider.space

    @property
    def is_available(self) -> bool:
        """False while the provider's failures hold calls back."""
        return not self._cache.breaker(self._provider).is_open

    async def __call__(self, text: str) -> str:
        """The query's vector as pgvector text; raises `EmbeddingUnavailable`."""
        return vector_text(await self._cache.query_vector(self._provider, text, self._timeout_s))
