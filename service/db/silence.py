"""A database that has stopped answering is not waited for: a stopped process, a machine that is gone, a proxy that hangs.

In: a connection and how long the database itself lets a statement run. Out: nothing, or `DatabaseUnavailable` some time after that, with
the connection given up, since what is still to come on it is not known.
"""

import asyncio
from types import TracebackType
from typing import Final, TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from service.errors import DatabaseUnavailable

Connection: TypeAlias = "asyncpg.Connection | PoolConnectionProxy"

GRACE_S: Final = 2.0
SHORT_MS: Final = 2_000  # for what takes no time where the database is well


class Answering:
    """Within it the database is waited for; it ends statements at `allowed_ms` by itself, where it lives.

    Whoever waits on the connection is told by the driver that it is gone, and nobody is cancelled: this stands around every statement, and
    a timeout of asyncio costs as much as the statement's own way through the driver.
    """

    def __init__(self, connection: Connection, allowed_ms: float) -> None:
        self._connection = connection
        self._seconds = allowed_ms / 1000 + GRACE_S
        self._given_up = False

    def __enter__(self) -> None:
        self._limit = asyncio.get_running_loop().call_later(self._seconds, self._give_up)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._limit.cancel()
        if self._given_up and isinstance(error, Exception):
            raise DatabaseUnavailable from error

    def _give_up(self) -> None:
        self._given_up = True
        self._connection.terminate()
