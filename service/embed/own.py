"""What a workspace sets for its own vectors, in the place of the server's settings, and the providers that this leads to.

In: rows of a workspace's settings, as `read` gives them. Out: a provider for each space that its projects are in or move to. Providers
belong to one workspace each and are shared with no other, but for the model in the process, which holds nothing of anybody's.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec
import structlog

from service.embed.choose import make_provider
from service.embed.model_files import PACKAGED
from service.embed.provider import EmbeddingProvider, EmbeddingUnavailable, ProviderOptions, Space
from service.embed.providers.ollama import OllamaProvider
from service.embed.providers.openai import OpenAIProvider
from service.embed.sealed import Seal
from service.errors import InvalidRequest, InvalidSetting, MunimentError
from service.remote import check_url
from service.settings import Settings

_CACHE_S: Final = 2.0
_CACHE_MOST: Final = 10_000
_KEPT_S: Final = 120.0  # a provider that was replaced, for the calls that have it
_DOCUMENT_S: Final = 20.0  # one workspace's slow provider keeps the others' passages waiting for so long

_ADDRESSES: Final = {OpenAIProvider.name: OpenAIProvider.default_url, OllamaProvider.name: OllamaProvider.default_url}

log = structlog.get_logger("muniment.embed")


class OwnSettings(msgspec.Struct, frozen=True):
    """One row: where the vectors of a space come from; no `space` where the workspace wants none."""

    id: int
    current: bool
    space: Space | None
    url: str | None
    sealed_key: str | None
    query_prefix: str
    document_prefix: str
    window: int | None
    set_at: datetime


class Triple(Protocol):
    """A space by what makes it one."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def dim(self) -> int: ...


Read = Callable[[int], Awaitable[Sequence[Any]]]
"""The rows of `find_embedding` for a workspace's number."""


def read_settings(row: Any) -> OwnSettings:
    """A row of `find_embedding`."""
    return OwnSettings(
        id=row["id"],
        current=row["current"],
        space=None if row["provider"] is None else Space(row["provider"], row["model"], row["dim"]),
        url=row["url"],
        sealed_key=row["sealed_key"],
        query_prefix=row["query_prefix"],
        document_prefix=row["document_prefix"],
        window=row["window_tokens"],
        set_at=row["set_at"],
    )


def check_host(settings: Settings, provider: str, url: str | None) -> None:
    """Raises `InvalidRequest` for an address that the operator has not opened to workspaces: the server would call it for anybody."""
    try:
        host = _closed_host(settings, provider, url)
    except InvalidSetting as error:
        raise InvalidRequest(f"url: {error.message}", hint=error.hint) from None
    if host is not None:
        raise InvalidRequest(
            f"url: this server calls no embedding provider at {host!r} for a workspace.",
            hint="The operator names the hosts in MUNIMENT_EMBEDDING_WORKSPACE_HOSTS.",
            allowed_hosts=list(settings.embedding_workspace_hosts),
        )


def _closed_host(settings: Settings, provider: str, url: str | None) -> str | None:
    """The host of a provider, where the operator has not opened it to workspaces; raises `InvalidSetting` for what is no address."""
    if provider not in _ADDRESSES:
        return None
    host = urlsplit(check_url(url or _ADDRESSES[provider])).hostname or ""
    return None if {"*", host} & set(settings.embedding_workspace_hosts) else host[:80]


class OwnProviders:
    """The providers of workspaces with settings of their own, each made when it is first needed."""

    def __init__(self, settings: Settings, seal: Seal, server: EmbeddingProvider, read: Read) -> None:
        self._settings = settings
        self._seal = seal
        self._server = server
        self._read = read
        self._rows: dict[int, tuple[float, tuple[OwnSettings, ...]]] = {}
        self._made: dict[int, asyncio.Task[EmbeddingProvider | None]] = {}
        self._refused: dict[int, MunimentError] = {}
        self._left: list[tuple[float, EmbeddingProvider]] = []
        self._local: asyncio.Task[EmbeddingProvider] | None = None

    async def settings_of(self, workspace_id: int, *, fresh: bool = False) -> tuple[OwnSettings, ...]:
        """The rows of a workspace, the current one first; at most two seconds old."""
        known = self._rows.get(workspace_id)
        if known and known[0] > time.monotonic() and not fresh:
            return known[1]
        rows = tuple(read_settings(row) for row in await self._read(workspace_id))
        await self._leave({each.id for each in known[1]} - {each.id for each in rows} if known else set())
        if len(self._rows) > _CACHE_MOST:
            self._rows.clear()
        self._rows[workspace_id] = (time.monotonic() + _CACHE_S, rows)
        return rows

    async def current(self, workspace_id: int) -> OwnSettings | None:
        """What the workspace has set; None where it goes by the server's settings."""
        rows = await self.settings_of(workspace_id)
        return rows[0] if rows and rows[0].current else None

    async def find(self, workspace_id: int, space: Triple) -> EmbeddingProvider | None:
        """The provider of a space by the workspace's own settings, present or earlier; None where these do not lead to it."""
        wanted = Space(space.provider, space.model, space.dim)
        for fresh in (False, True):
            rows = await self.settings_of(workspace_id, fresh=fresh)
            found = next((each for each in rows if each.space == wanted), None)
            if found is not None:
                if found.id not in self._made:
                    self._made[found.id] = asyncio.create_task(self._make(workspace_id, found))
                return await asyncio.shield(self._made[found.id])
            if not rows:
                return None
        return None

    async def unavailable(self, workspace_id: int, space: Space) -> EmbeddingUnavailable:
        """Why `find` gave nothing for a space: what is wrong with the workspace's settings here, where it is that."""
        for each in await self.settings_of(workspace_id):
            if each.space == space and (refused := self._refused.get(each.id)) is not None:
                message = f"The workspace's embedding provider {space.provider} ({space.model}) cannot be asked: {refused.message}"
                return EmbeddingUnavailable(space, "unavailable", message, hint=refused.hint)
        return EmbeddingUnavailable(space, "unavailable")

    async def close(self) -> None:
        """Closes all of them; the server's own is closed by who made it."""
        made = [provider for provider in await asyncio.gather(*self._made.values()) if provider is not None]
        local = [await self._local] if self._local else []
        for provider in dict.fromkeys([*made, *local, *(provider for _, provider in self._left)]):
            if provider is not self._server:
                await provider.close()
        self._made.clear()
        self._left.clear()
        self._local = None

    async def _leave(self, gone: set[int]) -> None:
        """Providers of settings that are no more are closed some time after."""
        now = time.monotonic()
        for number in gone & set(self._made):
            provider = await self._made.pop(number)
            self._refused.pop(number, None)
            if provider is not None and provider.space.provider != PACKAGED.provider:
                self._left.append((now + _KEPT_S, provider))
        for each in [each for each in self._left if each[0] <= now]:
            self._left.remove(each)
            await each[1].close()

    async def _make(self, workspace_id: int, own: OwnSettings) -> EmbeddingProvider | None:
        try:
            if own.space == PACKAGED:
                return await self._packaged()
            made = await asyncio.to_thread(make_own, self._settings, self._seal, workspace_id, own)
        except MunimentError as error:
            self._refused[own.id] = error
            log.warning("a workspace's embeddings cannot be had", workspace_id=workspace_id, reason=error.message, hint=error.hint)
            return None
        return made if made.space == own.space else None

    async def _packaged(self) -> EmbeddingProvider:
        """The model in the process: the server's, or one for all workspaces that want it."""
        if self._server.space == PACKAGED:
            return self._server
        if self._local is None:
            self._local = asyncio.create_task(asyncio.to_thread(make_provider, PACKAGED.provider))
        return await asyncio.shield(self._local)


def make_own(settings: Settings, seal: Seal, workspace_id: int, own: OwnSettings) -> EmbeddingProvider:
    """The provider of a workspace's settings, from the key that they hold; raises `MunimentError`."""
    if own.space is None:
        raise ValueError("there is no provider of nothing")
    if (host := _closed_host(settings, own.space.provider, own.url)) is not None:
        raise InvalidSetting(
            f"MUNIMENT_EMBEDDING_WORKSPACE_HOSTS does not name its host {host!r}.",
            hint="Set MUNIMENT_EMBEDDING_WORKSPACE_HOSTS alike for servers, workers and this shell.",
        )
    key = None
    if own.sealed_key is not None and (key := seal.open(own.sealed_key, workspace_id)) is None:
        raise InvalidSetting("The provider's key was encrypted with another secret.", hint="Set the workspace's embeddings again.")
    options = ProviderOptions(
        model=own.space.model,
        query_prefix=own.query_prefix,
        document_prefix=own.document_prefix,
        url=own.url,
        key=key,
        dim=own.space.dim,
        window=own.window,
        document_time_s=_DOCUMENT_S,
    )
    made = make_provider(own.space.provider, options)
    if made.space != own.space:
        raise EmbeddingUnavailable(own.space, "unavailable")
    return made
