"""The owner's side of the database, for the worker: it sees every project and may build tables and indexes.

In: the owner's connection string. Out: `OwnerDatabase`, whose statements each commit alone. The API never holds one.
What a connection has touched, Postgres remembers until it ends, so one that has worked in many projects is replaced.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from service.db.queries import load
from service.db.transaction import Connection, bind_schema
from service.errors import DatabaseUnavailable


class ProjectGone(Exception):
    """The project was dropped while work on it went on."""


class OwnerDatabase:
    """One connection under the owner's login, opened again when it was lost. Not for concurrent use."""

    def __init__(self, url: str, most_projects: int = 100) -> None:
        self._url = url
        self._most_projects = most_projects
        self._touched: set[int] = set()
        self._connection: Connection | None = None
        self._vectors = ""

    async def _open(self) -> Connection:
        if self._connection is not None and not self._connection.is_closed():
            return self._connection
        try:
            connection = await asyncpg.connect(self._url, timeout=10, server_settings={"application_name": "muniment worker"})
        except (OSError, asyncpg.PostgresError, TimeoutError) as error:
            raise DatabaseUnavailable("The database does not answer under the owner's login.") from error
        instance = await connection.fetchrow(load("control", "migrate")["find_instance"].sql)
        if instance is None:
            await connection.close()
            raise DatabaseUnavailable("The database is not set up.", hint="Run `muniment migrate` first.")
        await connection.execute("SELECT set_config('search_path', $1, false)", f'"{instance["vector_schema"]}", pg_temp')
        self._connection = connection
        self._touched.clear()
        return connection

    async def renew(self) -> None:
        """Ends a connection that has worked in many projects; the next statement opens another. Not for one that holds a lock."""
        if len(self._touched) >= self._most_projects:
            await self.close()

    async def fetch(self, sql: str, *args: Any, project: int | None = None, space: int | None = None) -> list[asyncpg.Record]:
        """All rows; `m_0` and `vector_0` in the statement become the project's schema and the space's table."""
        connection = await self._open()
        if project is not None:
            self._touched.add(project)
        text = sql if project is None else bind_schema(sql, f"m_{project:d}", space)
        async with self._errors(project):
            return await connection.fetch(text, *args)

    async def run(self, sql: str, *, project: int, space: int) -> None:
        """A statement that Postgres runs outside of transactions alone, and that takes no values."""
        connection = await self._open()
        async with self._errors(project):
            await connection.execute(bind_schema(sql, f"m_{project:d}", space))

    @asynccontextmanager
    async def _errors(self, project: int | None) -> AsyncGenerator[None]:
        try:
            yield
        except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError) as error:
            if project is None:
                raise
            raise ProjectGone from error
        except (
            asyncpg.PostgresConnectionError,
            asyncpg.InterfaceError,
            asyncpg.AdminShutdownError,
            asyncpg.InternalClientError,
            ConnectionError,
        ) as error:
            await self.close()
            raise DatabaseUnavailable from error

    async def vacuum(self, project: int, tables: tuple[str, ...]) -> None:
        """Brings statistics and the visibility map up to date after many rows were written; skips a table whose index is being built."""
        connection = await self._open()
        async with self._errors(project):
            for table in tables:
                await connection.execute(f"VACUUM (ANALYZE, SKIP_LOCKED) m_{project:d}.{table}")

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and not connection.is_closed():
            connection.terminate()
