"""A database that has stopped answering is not waited for: a stopped process, a machine that is gone, a proxy that hangs.

In: a connection and how long the database itself lets a statement run. Out: nothing, or `DatabaseUnavailable` some time after that, with
the connection given up, since what is still to come on it is not known.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from service.errors import DatabaseUnavailable

Connection: TypeAlias = "asyncpg.Connection | PoolConnectionProxy"

GRACE_S: Final = 2.0
SHORT_MS: Final = 2_000  # for what takes no time where the database is well


@asynccontextmanager
async def answering(connection: Connection, allowed_ms: float) -> AsyncGenerator[None]:
    """Within it the database is waited for; it ends statements at `allowed_ms` by itself, where it lives."""
    limit = asyncio.timeout(allowed_ms / 1000 + GRACE_S)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        connection.terminate()
        raise DatabaseUnavailable from error
