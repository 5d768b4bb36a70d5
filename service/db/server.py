"""What the database server, and the login there, are like.

In: a pool's connection. Out: `Server`, or `UnsuitableDatabase` for a login or a pooler that cannot be used.
"""

from typing import Any

import asyncpg
import msgspec

from service.db.pooler import require_prepared
from service.db.queries import load
from service.errors import UnsuitableDatabase

# How often a backend looks whether its client is still there, where the server can: not on every platform.
WATCHING = "SET LOCAL client_connection_check_interval = 500"


class Server(msgspec.Struct, frozen=True):
    """The schema of the extension `vector`, whether its scans can go on until enough rows pass a filter, and whether a statement ends
    when its client has gone."""

    vector_schema: str
    iterative: bool
    watching: bool


async def describe_server(pool: asyncpg.Pool, url: str, *, prepared: bool, superuser_allowed: bool) -> Server:
    """Of a login and a way to the database that can be used; raises `UnsuitableDatabase`."""
    async with pool.acquire() as connection:
        if prepared:
            await require_prepared(connection, url)
        try:
            row = await connection.fetchrow(load("control", "login")["describe_login"].sql)
        except asyncpg.PostgresError as error:
            raise UnsuitableDatabase("The database is not set up for this login.", hint="Run `muniment migrate` first.") from error
        watching = await _can_watch(connection)
    if row is None or ((row["rolsuper"] or row["rolbypassrls"]) and not superuser_allowed):
        raise UnsuitableDatabase(
            "The API's login is a superuser or bypasses row security, so the database could not keep workspaces apart.",
            hint="Give DATABASE_URL a plain login and MUNIMENT_OWNER_URL the owner's; `muniment migrate` sets both up.",
        )
    return Server(row["vector_schema"], row["iterative"], watching)


async def _can_watch(connection: Any) -> bool:
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(WATCHING)
    except (asyncpg.InvalidParameterValueError, asyncpg.InsufficientPrivilegeError):
        return False
    finally:
        await transaction.rollback()
    return True
