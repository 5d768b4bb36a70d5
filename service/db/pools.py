"""The pool of connections under the API's login, and the doors into it.

In: a connection string. Out: `Database`, which opens tenant transactions (`read`, `write`) and calls the functions in `control`.
What a connection has touched, Postgres remembers until it ends, so one that has served many projects is replaced.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final

import asyncpg
import msgspec

from service.db.abreast import do_abreast
from service.db.queries import load
from service.db.scope import ProjectRef, SpaceRef
from service.db.server import Server, describe_server
from service.db.silence import GRACE_S, Answering, Connection
from service.db.transaction import Mode, Opening, Tx, leave_transaction, named_errors, open_transaction
from service.errors import DatabaseBusy, DatabaseUnavailable, NotFound

_SPACE_TTL_S = 2.0
# Postgres keeps a plan of each, a fifth of a megabyte in the mean; a project in use has about ten.
_STATEMENTS = 128
_SILENT_S = 1.0
_CONTROL_MS = 5_000
# Functions in `control` that go through all tables of a project.
_TOUCHING = frozenset({"create_project", "drop_project"})
_PLAIN: Final = Opening()
_pinned: ContextVar[Mapping[int, SpaceRef | None]] = ContextVar("pinned", default=MappingProxyType({}))


class _Counting(asyncpg.Connection):
    """A connection that knows which projects it has touched."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.touched: set[object] = set()


class Database:
    """One pool. Made by `Database.open`, ended by `close`."""

    def __init__(self, pool: asyncpg.Pool, server: Server, statement_ms: int, acquire_s: float, most_projects: int) -> None:
        self._pool = pool
        self._most_projects = most_projects
        self._server = server
        self._statement_ms = statement_ms
        self._acquire_s = acquire_s
        self.few = max(1, pool.get_max_size() // 4)  # connections that one call may hold at once, so that others find some
        self._long = asyncio.Semaphore(self.few)
        self._free = asyncio.Semaphore(self.few)
        self._overrun = False  # whether a free query may still run that nobody waits for
        self._silent = False  # whether the last one who asked waited in vain
        self._spaces: dict[int, tuple[float, SpaceRef | None]] = {}

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        max_size: int = 10,
        most_projects: int = 100,
        statement_ms: int = 15_000,
        acquire_s: float = 5.0,
        prepared: bool = True,
        superuser_allowed: bool = False,
    ) -> "Database":
        """Connects; raises `DatabaseUnavailable`, or `UnsuitableDatabase` for a login that the database could not hold back.

        A connection that has touched `most_projects` is replaced. `prepared=False` serves poolers that cannot keep prepared statements;
        without it such a pooler is refused.
        """
        try:
            pool = await asyncpg.create_pool(
                url,
                min_size=1,
                max_size=max_size,
                max_queries=100_000,
                statement_cache_size=_STATEMENTS if prepared else 0,
                connection_class=_Counting,
                init=_learn,
                reset=_keep,
                timeout=10,
            )
        except (OSError, asyncpg.PostgresError, TimeoutError) as error:
            raise DatabaseUnavailable("The database does not answer under the API's login.") from error
        try:
            server = await describe_server(pool, url, prepared=prepared, superuser_allowed=superuser_allowed)
        except BaseException:
            await pool.close()
            raise
        return cls(pool, server, statement_ms, acquire_s, most_projects)

    @property
    def iterative(self) -> bool:
        """Whether a search of a vector index can go on until enough rows pass a filter."""
        return self._server.iterative

    async def close(self) -> None:
        """Waits for what is under way, at most two seconds, then closes every connection."""
        try:
            await asyncio.wait_for(self._pool.close(), 2)
        except TimeoutError:
            self._pool.terminate()

    @asynccontextmanager
    async def _connection(self, touching: object = None) -> AsyncGenerator[Connection]:
        with named_errors():
            try:
                connection = await self._pool.acquire(timeout=_SILENT_S if self._silent else self._acquire_s)
            except TimeoutError as error:
                # Where not all connections are in use, it is the database that was waited for.
                if not self._silent and self._pool.get_size() >= self._pool.get_max_size():
                    raise DatabaseBusy from error
                self._silent = True
                raise DatabaseUnavailable from error
            touched = connection.touched
            if touching is not None:
                touched.add(touching)
            try:
                yield connection
                self._silent = False
            except DatabaseUnavailable:
                self._silent = True
                raise
            finally:
                with suppress(TimeoutError, asyncpg.InterfaceError):  # it was given up then
                    if len(touched) >= self._most_projects:
                        await connection.close(timeout=GRACE_S)
                    await self._pool.release(connection, timeout=GRACE_S)

    @asynccontextmanager
    async def _open(self, project: ProjectRef, mode: Mode, statement_ms: int | None, opening: Opening = _PLAIN) -> AsyncGenerator[Tx]:
        limit = statement_ms or self._statement_ms
        async with self._connection(project.project_id) as connection:
            with named_errors(project, mode):
                async with open_transaction(connection, project, mode, self._server, limit, opening):
                    tx = Tx(connection, project, None, limit, opening.stage_ms)
                    tx.space = await self._space(tx)
                    yield tx

    def read(self, project: ProjectRef, *, statement_ms: int | None = None, opening: Opening = _PLAIN):
        """A read-only transaction that sees one state of the project throughout."""
        return self._open(project, "read", statement_ms, opening)

    def write(self, project: ProjectRef, *, statement_ms: int | None = None):
        """A transaction that may write; each of its statements sees what was committed before it."""
        if project.granted:
            raise PermissionError(f"{project.name} was granted for reading alone")
        return self._open(project, "write", statement_ms)

    @asynccontextmanager
    async def read_long(self, project: ProjectRef) -> AsyncGenerator[Tx]:
        """A `read` that may last for minutes: few at a time, so that others find a connection; raises `DatabaseBusy` at once."""
        if self._long.locked():
            raise DatabaseBusy("As many exports are under way as this server allows.", hint="Try again when one has ended.")
        async with self._long, self.read(project) as tx:
            yield tx

    @asynccontextmanager
    async def read_free(self, project: ProjectRef, *, statement_ms: int) -> AsyncGenerator[Tx]:
        """A `read` for SQL that callers write: few at a time, since one query may take gigabytes.

        Postgres does not end every statement at its limit; while as many still run that it should have ended, no others are let in.
        Raises `DatabaseBusy`.
        """
        async with AsyncExitStack() as slot:
            try:
                async with asyncio.timeout(self._acquire_s):
                    await slot.enter_async_context(self._free)
            except TimeoutError as error:
                raise DatabaseBusy(
                    "As many SQL queries are under way as this server allows.", hint="Try again when one has ended."
                ) from error
            if self._overrun:
                # Who waited for one began to count before the database did, and may be here again at once.
                (row,) = await self.control("count_overrun", statement_ms / 1000 + GRACE_S / 2)
                if row["number"] >= self.few:
                    raise DatabaseBusy("SQL queries that the database cannot stop still run.", hint="Try again in a minute.")
                self._overrun = row["number"] > 0
            try:
                async with self.read(project, statement_ms=statement_ms) as tx:
                    yield tx
            except (DatabaseUnavailable, asyncio.CancelledError):
                self._overrun = True
                raise

    @asynccontextmanager
    async def pin_spaces(self, projects: Sequence[ProjectRef]) -> AsyncGenerator[list[SpaceRef | None]]:
        """The projects' current spaces, which all transactions of this task search until the end, also when a project moves to another.

        A space stays for a minute after it went out of use, which is longer than any call may take.
        """
        current = await do_abreast(projects, self._current_space, self.few)
        spaces = {project.project_id: space for project, space in zip(projects, current, strict=True)}
        token = _pinned.set(spaces)
        try:
            yield current
        finally:
            _pinned.reset(token)

    async def _current_space(self, project: ProjectRef) -> SpaceRef | None:
        known = self._spaces.get(project.project_id)
        if known and known[0] > time.monotonic():
            return known[1]
        try:
            async with self.read(project) as tx:
                return tx.space
        except NotFound:  # it was deleted meanwhile, which whoever searches it is told
            return None

    async def _space(self, tx: Tx) -> SpaceRef | None:
        pinned = _pinned.get()
        if tx.project.project_id in pinned:
            return pinned[tx.project.project_id]
        known = self._spaces.get(tx.project.project_id)
        if known and known[0] > time.monotonic():
            return known[1]
        row = await tx.fetchrow(load("project", "spaces")["current_space"].sql)
        space = msgspec.convert(dict(row), SpaceRef) if row else None
        if len(self._spaces) > 10_000:
            self._spaces.clear()
        self._spaces[tx.project.project_id] = (time.monotonic() + _SPACE_TTL_S, space)
        return space

    async def control(self, name: str, *args: Any, allowed_ms: int = _CONTROL_MS) -> list[asyncpg.Record]:
        """Calls one of the definer functions in `control`, by the name of its query in sql/control/queries/api.sql.

        The database is waited for some time longer than `allowed_ms`, which is to be more than the function waits for locks.
        """
        touching = (name, *args) if name in _TOUCHING else None
        async with self._connection(touching) as connection:
            try:
                with Answering(connection, allowed_ms):
                    return await connection.fetch(load("control", "api")[name].sql, *args)
            except asyncio.CancelledError:
                await leave_transaction(connection)
                raise


async def _learn(connection: Any) -> None:
    """Lets the driver look up types of arrays. Doing so it sets JIT for the session, which a pooler shares: that is rolled back here."""
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute("SET LOCAL jit = off")
        await connection.fetch(load("control", "login")["show_arrays"].sql)
    finally:
        await transaction.rollback()


async def _keep(connection: Any) -> None:
    """Every setting is local to a transaction, so a returned connection needs no reset."""
