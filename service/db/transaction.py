"""The tenant transaction: the one place where a connection takes on a workspace's role and a project's search path.

In: a pool's connection, a `ProjectRef`. Out: `Tx`, through which the rooms send statements; no room ever holds a connection.
Role, search path and limits are SET LOCAL by one simple query, so that they end with the transaction, behind a pooler too.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import lru_cache
from typing import Any, Final, Literal

import asyncpg
import msgspec

from service.db.budget import Budget, StatementFailed
from service.db.quota import QuotaRefusal, quota_reached
from service.db.scope import ProjectRef, SpaceRef
from service.db.server import WATCHING, Server
from service.db.silence import SHORT_MS, Answering, Connection
from service.ending import see_through
from service.errors import DatabaseBusy, DatabaseFull, DatabaseUnavailable, MunimentError, QueryTooSlow, no_project

Mode = Literal["read", "write"]

_BEGIN: Final = {
    "read": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "write": "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
}
# Postgres keeps plans for a connection, those by which its foreign keys delete among them. One that was made while a table was small would
# read it whole for each deleted row once it has grown: a large page took a minute then. What writers read whole is never a table.
_PLANS: Final = {"read": "", "write": "; SET LOCAL enable_seqscan = off"}
# Free SQL may take locks that outlive its transaction, and Postgres cannot keep a role from it.
_UNLOCK: Final = "SELECT pg_catalog.pg_advisory_unlock_all()"
_SETTING: Final = re.compile(r"[a-z_]+(\.[a-z_]+)? = [a-z0-9_]+")
# What goes wrong with one statement alone: a column or function that is not there (yet, or after a restore), data or an index that is
# broken, memory or disk that it asked too much of. A table that is not there is a project that was deleted.
_ITS_OWN: Final = (
    asyncpg.UndefinedColumnError,
    asyncpg.UndefinedFunctionError,
    asyncpg.UndefinedObjectError,
    asyncpg.DatatypeMismatchError,
    asyncpg.DataError,
    asyncpg.DataCorruptedError,
    asyncpg.IndexCorruptedError,
    asyncpg.PostgresSystemError,
    asyncpg.DiskFullError,
    asyncpg.OutOfMemoryError,
    asyncpg.ProgramLimitExceededError,
)
# Postgres takes no notice of a cancelling that comes between a statement's being parsed and begun. Such a statement ends when its client
# has gone, which is seen half a second later.
_LEAVING_S: Final = 1.0
_SET: Final = "SELECT set_config(s.name, s.value, true) FROM unnest($1::text[], $2::text[]) AS s (name, value)"


@lru_cache(maxsize=4096)
def bind_schema(sql: str, schema: str, space: int | None) -> str:
    """Puts the project's schema and its current space, both made from ids, where `sql` says `m_0` and `vector_0`.

    A schema's functions bear its name, `m_0_save_page`: Postgres finds a function by its name among those of all schemas.
    """
    text = sql.replace("m_0.m_0_", f"{schema}.{schema}_").replace("m_0.", schema + ".")
    if space is not None:
        return text.replace("vector_0", f"vector_{space:d}")
    if "vector_0" in text:
        raise ValueError("the project has no embedding space, but the statement reads one")
    return text


class Description(msgspec.Struct, frozen=True):
    """A statement's parameters, as the names of their types (`int8`, `text[]`), and the names of its columns."""

    parameters: tuple[str, ...]
    columns: tuple[str, ...]


class Opening(msgspec.Struct, frozen=True):
    """What a transaction begins with beside its role and path, in the one statement that begins it.

    `settings` are of the planner or of indexes, and hold until its end; `stage_ms` limits its first statements that have a budget.
    """

    settings: Mapping[str, str | int] = {}
    stage_ms: int | None = None

    def statements(self) -> list[str]:
        """As SQL; raises `ValueError` for a setting that is no plain word or number."""
        set_to = [f"{name} = {value}" for name, value in self.settings.items()]
        if not all(map(_SETTING.fullmatch, set_to)):
            raise ValueError(f"not settings: {set_to}")
        return [*(f"SET LOCAL {each}" for each in set_to), *(() if self.stage_ms is None else (_stage(self.stage_ms),))]


def _stage(allowed_ms: int) -> str:
    """Where the statements of a stage go back to, and how long each of them may take."""
    return f"SAVEPOINT stage; SET LOCAL statement_timeout = {allowed_ms:d}"


class Tx:
    """One open transaction in one project."""

    def __init__(
        self, connection: Connection, project: ProjectRef, space: SpaceRef | None, statement_ms: int, allowed_ms: int | None = None
    ) -> None:
        self._connection = connection
        self._statement_ms = statement_ms
        self.project = project
        self.space = space
        self._allowed = allowed_ms  # milliseconds of a statement since the last savepoint; None where a new one is needed

    def _bind(self, sql: str) -> str:
        return bind_schema(sql, self.project.schema, self.space.id if self.space else None)

    async def fetch(self, sql: str, *args: Any, budget: Budget | None = None) -> list[asyncpg.Record]:
        """All rows of a statement.

        With a budget it runs under a savepoint and raises `Cut` when its time is over, `StatementFailed` when it fails by itself; the
        transaction goes on. Statements with a budget only read: those in a row share the savepoint, as long as their time is the same.
        """
        text = self._bind(sql)
        if budget is None:
            if self._allowed is not None:
                await self._leave_stage("RELEASE")
            with self._answering():
                return await self._connection.fetch(text, *args)
        allowed = budget.next_statement_ms()
        if allowed != self._allowed:
            with self._answering(SHORT_MS):
                await self._connection.execute(_stage(allowed))
            self._allowed = allowed
        try:
            with self._answering(allowed):
                return await self._connection.fetch(text, *args)
        except asyncpg.QueryCanceledError as error:
            await self._leave_stage("ROLLBACK TO")
            raise budget.cut(allowed) from error
        except _ITS_OWN as error:
            await self._leave_stage("ROLLBACK TO")
            raise StatementFailed(type(error).__name__, error.sqlstate) from error

    async def _leave_stage(self, way: Literal["RELEASE", "ROLLBACK TO"]) -> None:
        """Ends the stage's time too: an earlier one's may come back with its savepoint, and what follows has another or none."""
        with self._answering(SHORT_MS):
            await self._connection.execute(f"{way} SAVEPOINT stage; SET LOCAL statement_timeout = {self._statement_ms:d}")
        self._allowed = None

    async def fetchrow(self, sql: str, *args: Any, budget: Budget | None = None) -> asyncpg.Record | None:
        rows = await self.fetch(sql, *args, budget=budget)
        return rows[0] if rows else None

    async def fetchval(self, sql: str, *args: Any, budget: Budget | None = None) -> Any:
        row = await self.fetchrow(sql, *args, budget=budget)
        return row[0] if row else None

    async def describe(self, sql: str) -> Description:
        """What Postgres reads in a statement, which is taken as it stands and not run."""
        with self._answering():
            statement = await self._connection.prepare(sql, name="")
        columns = statement.get_attributes()
        return Description(
            parameters=tuple(kind.name for kind in statement.get_parameters()),
            columns=tuple(column.name for column in columns),
        )

    async def stream(self, sql: str, *args: Any, rows: int) -> AsyncGenerator[asyncpg.Record]:
        """The rows of a statement one by one, of which the database sends `rows` at a time."""
        # Without a name: a pooler may hold another client's statement under any name.
        with self._answering():
            statement = await self._connection.prepare(self._bind(sql), name="")
            cursor = await statement.cursor(*args)
        while True:
            with self._answering():
                records = await cursor.fetch(rows)
            for record in records:
                yield record
            if len(records) < rows:
                return

    async def execute(self, sql: str, *args: Any) -> None:
        self._allowed = None
        with self._answering():
            await self._connection.execute(self._bind(sql), *args)

    async def roll_back_to(self, savepoint: str) -> None:
        """Undoes all since a savepoint, and what no rollback undoes: locks that were taken for the session, of which we take none."""
        await self.execute(f"ROLLBACK TO SAVEPOINT {savepoint}; {_UNLOCK}")

    async def set_local(self, **settings: str | int) -> None:
        """Sets planner or index settings (`hnsw.ef_search` as `hnsw__ef_search`) until the transaction ends."""
        self._allowed = None
        names, values = [name.replace("__", ".") for name in settings], [str(value) for value in settings.values()]
        with self._answering(SHORT_MS):
            await self._connection.execute(_SET, names, values)

    def _answering(self, allowed_ms: int | None = None) -> Answering:
        return Answering(self._connection, self._statement_ms if allowed_ms is None else allowed_ms)


@asynccontextmanager
async def open_transaction(
    connection: Connection, project: ProjectRef, mode: Mode, server: Server, statement_ms: int, opening: Opening
) -> AsyncGenerator[Connection]:
    """Begins, hands over the connection, and commits; rolls back on any error and on cancelling."""
    try:
        with Answering(connection, SHORT_MS):
            begin = (
                f"{_BEGIN[mode]}; SET LOCAL ROLE {project.role}; "
                f'SET LOCAL search_path = {project.schema}, "{server.vector_schema}", pg_temp; '
                f"SET LOCAL statement_timeout = {statement_ms:d}; SET LOCAL jit = off; "
                f"SET LOCAL lock_timeout = {statement_ms * 2 // 3:d}{_PLANS[mode]}"
            )
            watching = [WATCHING] if server.watching else []
            await connection.execute("; ".join([begin, *watching, *opening.statements()]))
        yield connection
        with Answering(connection, statement_ms):
            await connection.execute("COMMIT")
    except BaseException:
        await leave_transaction(connection)
        raise


async def leave_transaction(connection: Connection) -> None:
    """Ends whatever is open on the connection, to the end though the task is cancelled again: until then nobody else may have it.

    Also a statement that was cancelled between being parsed and being run leaves something open, where no transaction was begun.
    """
    leaving = asyncio.ensure_future(_roll_back(connection))
    await see_through(leaving)
    leaving.result()


async def _roll_back(connection: Connection) -> None:
    try:
        await connection.execute(f"ROLLBACK; {_UNLOCK}", timeout=_LEAVING_S)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError):
        with suppress(asyncpg.InterfaceError):  # the driver may have given it up itself by now
            connection.terminate()


def _short_of(sqlstate: str | None) -> MunimentError | None:
    """What the database has too little of, where it is that."""
    if sqlstate == asyncpg.DiskFullError.sqlstate:
        return DatabaseFull()
    if sqlstate in (asyncpg.OutOfMemoryError.sqlstate, asyncpg.ConfigurationLimitExceededError.sqlstate):
        return DatabaseBusy("The database has no memory left for this call.", hint="Try again in a moment, or ask for less.")
    return DatabaseUnavailable() if sqlstate == asyncpg.TooManyConnectionsError.sqlstate else None


@contextmanager
def named_errors(project: ProjectRef | None = None, mode: Mode = "read") -> Generator[None]:
    """Turns what the driver raises into the project's own errors, without the database's text."""
    try:
        yield
    except asyncpg.QueryCanceledError as error:
        raise QueryTooSlow(hint=None if mode == "read" else "Nothing was changed; try again in a moment.") from error
    except asyncpg.LockNotAvailableError as error:
        if project is None:  # a function of control that has a limit of its own, which its caller knows
            raise
        raise DatabaseBusy("Another call holds what this one waits for.", hint="Nothing was changed; try again in a moment.") from error
    except QuotaRefusal as error:
        raise quota_reached(error.detail) from error
    except (asyncpg.InsufficientResourcesError, StatementFailed) as error:
        named = _short_of(error.sqlstate)
        if named is None:
            raise
        raise named from error
    except asyncpg.DeadlockDetectedError as error:  # deleting a project takes every table from its readers
        raise DatabaseBusy("The database ended a circle of waiting calls, this one among them.", hint="Try again.") from error
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError, asyncpg.InvalidParameterValueError) as error:
        # The last is what a role that is gone answers: its workspace was deleted.
        if project is None or (isinstance(error, asyncpg.InvalidParameterValueError) and project.role not in str(error)):
            raise
        raise no_project(project.project) from error
    except asyncpg.InternalServerError as error:  # a table that was dropped between being found and being opened
        if project is None or "could not open relation" not in str(error):
            raise
        raise no_project(project.project) from error
    except (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError) as error:
        raise DatabaseUnavailable(
            "A pooler between here and the database mixes up prepared statements.", hint="Set MUNIMENT_DATABASE_PREPARED=false."
        ) from error
    except (
        asyncpg.PostgresConnectionError,
        asyncpg.CannotConnectNowError,
        asyncpg.AdminShutdownError,
        asyncpg.CrashShutdownError,
        asyncpg.InternalClientError,
        asyncpg.InterfaceError,
        OSError,
    ) as error:
        if isinstance(error, ValueError | TimeoutError):  # a value that cannot be sent; time that ran out elsewhere
            raise
        raise DatabaseUnavailable from error
