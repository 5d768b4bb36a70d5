"""Query vectors as graph and search want them: one callable that knows its space.

In: a provider, the cache of query vectors, a time limit. Out: pgvector text; `EmbeddingUnavailable` when there is none. While projects
move to another model, `fitting` gives the callable for the space that they are still in.
"""

import asyncio
from collections.abc import Callable

from service.embed.own import OwnProviders, Triple
from service.embed.provider import EmbeddingProvider, Space
from service.embed.query_cache import QueryCache

MakeProvider = Callable[[Space], EmbeddingProvider | None]
"""The provider of a space that is not the server's own, None where it cannot be had with these settings; may take a second."""


class QueryEmbedder:
    """Makes the vector of a query, from the cache where it was asked before. Two of one provider are equal: either's vector serves both."""

    def __init__(self, provider: EmbeddingProvider, cache: QueryCache, timeout_s: float, make_other: MakeProvider | None = None) -> None:
        self._provider = provider
        self._cache = cache
        self._timeout_s = timeout_s
        self._make_other = make_other
        self._others: dict[Space, asyncio.Task[QueryEmbedder | None]] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QueryEmbedder) and other._provider is self._provider

    def __hash__(self) -> int:
        return id(self._provider)

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
        return await self._cache.query_vector(self._provider, text, self._timeout_s)

    async def fitting(self, wanted: Triple | None) -> "QueryEmbedder":
        """The embedder of a project's space; this one where there is none for it."""
        if wanted is None or self._make_other is None:
            return self
        space = Space(wanted.provider, wanted.model, wanted.dim)
        if space == self.space:
            return self
        if space not in self._others:
            self._others[space] = asyncio.create_task(self._other(space, self._make_other))
        return await asyncio.shield(self._others[space]) or self

    async def _other(self, space: Space, make: MakeProvider) -> "QueryEmbedder | None":
        provider = await asyncio.to_thread(make, space)
        return None if provider is None else QueryEmbedder(provider, self._cache, self._timeout_s)

    async def close_others(self) -> None:
        """Closes the providers of other spaces; the server's own is closed by who made it."""
        for other in await asyncio.gather(*self._others.values()):
            if other is not None:
                await other._provider.close()
        self._others.clear()


class OwnEmbedders:
    """The embedders of workspaces with settings of their own: their vectors are remembered for them alone."""

    def __init__(self, providers: OwnProviders, cache: QueryCache, timeout_s: float) -> None:
        self.providers = providers
        self._cache = cache
        self._timeout_s = timeout_s

    async def fitting(self, workspace_id: int, wanted: Triple | None, server: QueryEmbedder | None) -> QueryEmbedder | None:
        """The embedder of a project's space: by the workspace's settings, else the server's; None where the workspace wants no vectors."""
        current = await self.providers.current(workspace_id)
        if current is not None and current.space is None:
            return None
        space = wanted or (current.space if current else None)
        provider = await self.providers.find(workspace_id, space) if space else None
        if provider is not None:
            return QueryEmbedder(provider, self._cache, self._timeout_s)
        return await server.fitting(wanted) if server else None

    async def space_of(self, workspace_id: int, server: QueryEmbedder | None) -> Space | None:
        """The space that a workspace's projects are to be in."""
        current = await self.providers.current(workspace_id)
        return current.space if current else server.space if server else None
