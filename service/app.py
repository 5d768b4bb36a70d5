"""The composition root: puts a server together, runs it, and takes it apart.

In: settings, a data folder, an address. Out: a serving process until SIGTERM or SIGINT, then exit within ten seconds
and the time that an embedded Postgres takes to write what it holds.
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec
import structlog

from service.access.changes import open_changes
from service.access.identify import open_identify
from service.access.keys import NewKey
from service.access.scope import Scopes
from service.db.embedded import DataFolderInUse
from service.db.pools import Database
from service.embed.configured import choose_provider, provider_of
from service.embed.own import OwnProviders
from service.embed.provider import EmbeddingProvider
from service.embed.query import OwnEmbedders, QueryEmbedder
from service.embed.query_cache import QueryCache
from service.embed.sealed import Seal
from service.errors import InvalidSetting
from service.memory.redact_policy import make_redactor
from service.operations.operation import Services
from service.search.rerankers.choose import choose_reranker
from service.settings import Settings
from service.surface.connection_file import connection_file, running_server
from service.surface.http import ServerState, build_app
from service.surface.wire import Server, make_config
from service.tenants.bootstrap import PROJECT, WORKSPACE, Prepared, ensure_first_key, prepare_database, without_password
from service.tenants.pepper import find_pepper
from service.tenants.upkeep import keep_up

_GRACE_S = 3
_WORKER_GRACE_S = 1
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104

log = structlog.get_logger("muniment.server")


class AddressInUse(InvalidSetting):
    """The address to listen on cannot be had."""

    code = "address_in_use"
    hint = "Choose another port: --port, or MUNIMENT_PORT."


class ServeOptions(msgspec.Struct, frozen=True):
    """Where to serve and what to run beside the API."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    worker: bool = True


class Announcement(msgspec.Struct, frozen=True):
    """How to reach a server that is ready; `key` is new at every start, None where the owner's login is not at hand.

    `embedded`: whether the database is the one in the data folder.
    """

    url: str
    mcp: str
    key: str | None
    workspace: str | None
    project: str | None
    database: str
    embedded: bool


Ready: TypeAlias = Callable[[Announcement, Services], Awaitable[None]]


async def serve(settings: Settings, options: ServeOptions, ready: Ready) -> None:
    """Runs one server; calls `ready` when it takes requests. Returns after SIGTERM or SIGINT, everything stopped."""
    stop = asyncio.Event()
    with _told_who_serves(options.data), _listening(options.host, options.port) as listener, _signals(stop):
        prepared = await asyncio.to_thread(prepare_database, settings, options.data, owner_needed=options.worker)
        try:
            _warn(prepared, settings)
            if not stop.is_set():
                await _serve(settings, options, prepared, listener, ready, stop)
        finally:
            await asyncio.to_thread(prepared.stop)


async def _serve(
    settings: Settings,
    options: ServeOptions,
    prepared: Prepared,
    listener: socket.socket,
    ready: Ready,
    stop: asyncio.Event,
) -> None:
    settings = _with_own_host(settings, options.host)
    provider = await asyncio.to_thread(choose_provider, settings)
    pepper = await asyncio.to_thread(find_pepper, prepared.owner_url or prepared.api_url, settings, options.data)
    key = await asyncio.to_thread(_first_key, prepared, pepper, provider) if prepared.owner_url else None
    state = ServerState()
    async with (
        open_services(settings, prepared.api_url, provider, pepper) as services,
        open_identify(settings, services.database, pepper, services.changes) as identify,
    ):
        app = build_app(services, identify, state)
        server = Server(make_config(app, settings, grace_s=_GRACE_S))
        announcement = _announce(options, listener, prepared, key)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        async with _working(settings, options, prepared, provider, pepper, stop):
            try:
                await server.wait_started(serving)
                with connection_file(options.data, msgspec.json.encode(announcement)):
                    log.info("ready", url=announcement.url)
                    await _until_stopped(stop, ready(announcement, services), serving)
                state.draining = True
                await asyncio.sleep(settings.drain_ms / 1000)
            finally:
                stop.set()
                server.should_exit = True
                await serving


@asynccontextmanager
async def _working(
    settings: Settings, options: ServeOptions, prepared: Prepared, provider: EmbeddingProvider, pepper: str, stop: asyncio.Event
) -> AsyncGenerator[None]:
    """The worker, where it is to run in this process; a batch under way when the server ends is given up and done again next time."""
    if not (options.worker and prepared.owner_url):
        yield
        return
    working = asyncio.create_task(keep_up(prepared.owner_url, provider, settings, pepper, stop))
    try:
        yield
    finally:
        _, unfinished = await asyncio.wait({working}, timeout=_WORKER_GRACE_S)
        working.cancel()
        if unfinished:
            await asyncio.wait(unfinished)
        else:
            working.result()


async def _until_stopped(stop: asyncio.Event, greeting: Awaitable[None], serving: "asyncio.Task[None]") -> None:
    """Greets, then waits for a signal or for the HTTP server's own end; a signal cuts the greeting short."""
    stopped = asyncio.ensure_future(stop.wait())
    greeted = asyncio.ensure_future(greeting)
    await asyncio.wait({stopped, greeted, serving}, return_when=asyncio.FIRST_COMPLETED)
    if greeted.done():
        greeted.result()
        await asyncio.wait({stopped, serving}, return_when=asyncio.FIRST_COMPLETED)
    greeted.cancel()
    stopped.cancel()


@asynccontextmanager
async def open_services(settings: Settings, api_url: str, provider: EmbeddingProvider, pepper: str = "") -> AsyncGenerator[Services]:
    """What operations work with, over a pool of connections."""
    redactor = make_redactor(settings)
    reranker = choose_reranker(settings)
    database = await Database.open(
        api_url, max_size=settings.pool_max, most_projects=settings.pool_projects, prepared=settings.database_prepared
    )
    embedder = None
    if provider.available:
        embedder = QueryEmbedder(provider, QueryCache(), settings.embedding_timeout_ms / 1000, partial(provider_of, settings))
    own = OwnProviders(settings, Seal(pepper), provider, partial(database.control, "find_embedding"))
    scopes = Scopes(database)
    try:
        async with open_changes(settings.redis_url, scopes.forget) as changes:
            yield Services(
                database=database,
                scopes=scopes,
                settings=settings,
                embedder=embedder,
                redactor=redactor,
                reranker=reranker,
                pepper=pepper,
                own_embedders=OwnEmbedders(own, QueryCache(), settings.embedding_timeout_ms / 1000),
                changes=changes,
            )
    finally:
        await own.close()
        if embedder is not None:
            await embedder.close_others()
        await provider.close()
        if reranker is not None:
            await reranker.close()
        await database.close()


def _with_own_host(settings: Settings, host: str) -> Settings:
    """A server bound to one address may be called by it, also when no other name is allowed."""
    if settings.allowed_hosts or host in _ANY_ADDRESS:
        return settings
    return msgspec.structs.replace(settings, allowed_hosts=["localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host])


def _first_key(prepared: Prepared, pepper: str, provider: EmbeddingProvider) -> NewKey:
    if prepared.owner_url is None:
        raise ValueError("a first key needs the owner's login")
    space = (provider.space.provider, provider.space.model, provider.space.dim) if provider.available else None
    return ensure_first_key(prepared.owner_url, pepper, space)


def _warn(prepared: Prepared, settings: Settings) -> None:
    for schema, reason in (prepared.migrated.failed if prepared.migrated else {}).items():
        log.error("a project could not be migrated", schema=schema, reason=reason)
    if settings.database_url is not None and not settings.key_pepper:
        log.warning("MUNIMENT_KEY_PEPPER is not set: keys are hashed without a secret of this installation")


def _announce(options: ServeOptions, listener: socket.socket, prepared: Prepared, key: NewKey | None) -> Announcement:
    host, port = listener.getsockname()[:2]
    shown = _ANY_ADDRESS.get(host, f"[{host}]" if ":" in host else host)
    url = f"http://{shown}:{port}"
    database = prepared.owner_url or prepared.api_url
    return Announcement(
        url=url,
        mcp=f"{url}/mcp",
        key=key.text if key else None,
        workspace=WORKSPACE if key else None,
        project=PROJECT if key else None,
        database=database if prepared.embedded else without_password(database),
        embedded=prepared.embedded is not None,
    )


@contextmanager
def _listening(host: str, port: int) -> Generator[socket.socket]:
    """Takes the address before anything is started, so that a second start fails at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named TCP, since asyncio sends small answers at once only on sockets that say so.
    with contextlib.closing(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise AddressInUse(f"Cannot listen on {host}:{port}: {error.strerror}.") from error
        listener.listen(1024)
        yield listener


@contextmanager
def _told_who_serves(data: Path) -> Generator[None]:
    """Where a start fails because another server runs on the folder or the port, its address is the advice."""
    try:
        yield
    except (DataFolderInUse, AddressInUse) as error:
        if (told := running_server(data)) is not None:
            running = msgspec.json.decode(told, type=Announcement)
            error.hint = f"A server already runs on this folder, at {running.url}: use it, or stop it first."
        raise


@contextmanager
def _signals(stop: asyncio.Event) -> Generator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
