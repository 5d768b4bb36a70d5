"""Whether a pooler stands between a login and Postgres, and whether it keeps what the login needs.

In: a connection and its string. Out: nothing, or `UnsuitableDatabase` that says what to set. A pooler invents the process number that it
tells its clients, so where that number is the server's own nothing more is asked. Beside other clients of the pooler a check can miss it.
"""

import secrets
from typing import Any

import asyncpg
import psycopg
from psycopg.rows import scalar_row

from service.db.silence import Connection
from service.errors import UnsuitableDatabase


async def require_prepared(connection: Connection, url: str) -> None:
    """Refuses a pooler that hands one client's prepared statements to another."""
    if connection.get_server_pid() == await connection.fetchval("SELECT pg_backend_pid()"):
        return
    name = f"muniment_{secrets.token_hex(6)}"
    await connection.prepare("SELECT 1", name=name)
    await connection.execute("SELECT 1")  # until then the pooler takes the statement for unfinished
    other = await asyncpg.connect(url, statement_cache_size=0, timeout=10)
    try:
        async with other.transaction():
            mixed = await other.fetchval("SELECT count(*) FROM pg_prepared_statements WHERE name = $1", name)
            if mixed:
                await other.execute(f"DEALLOCATE {name}")
    finally:
        await other.close()
    if mixed:
        raise UnsuitableDatabase(
            "DATABASE_URL leads through a pooler that cannot keep prepared statements.",
            hint="Set MUNIMENT_DATABASE_PREPARED=false, or let the pooler keep them (PgBouncer 1.21 or newer: max_prepared_statements).",
        )


def require_session(connection: psycopg.Connection[Any], url: str) -> None:
    """Refuses a pooler in transaction mode for the owner's login: its locks and settings would be left with another client."""
    if (server := _process(connection)) == connection.info.backend_pid:
        return
    with psycopg.connect(url, connect_timeout=10) as other:
        shared = _process(other) == server
    if shared:
        raise UnsuitableDatabase(
            "The owner's login leads through a pooler that gives a connection to another client after each transaction.",
            hint="Give MUNIMENT_OWNER_URL the address of Postgres itself, or of a pool in session mode; DATABASE_URL may name the pooler.",
        )


def _process(connection: psycopg.Connection[Any]) -> int:
    """The server process that answers just now."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        return next(cursor.execute("SELECT pg_backend_pid()"))
