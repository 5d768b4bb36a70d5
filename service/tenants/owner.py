"""The owner's connection, for migrations and administration.

In: the owner's connection string. Out: a psycopg connection that runs named queries; each commits alone unless a transaction is open.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TypeAlias, cast

import psycopg
from psycopg.rows import DictRow, dict_row

from service.db.pooler import require_session
from service.db.queries import Query
from service.errors import DatabaseUnavailable, UnsuitableDatabase

Owner: TypeAlias = "psycopg.Connection[DictRow]"
Row: TypeAlias = dict[str, Any]


@contextmanager
def owner_connection(url: str) -> Generator[Owner]:
    """Connects under the owner's login; raises `DatabaseUnavailable`, or `UnsuitableDatabase` behind a pooler that keeps no sessions."""
    with login_connection(url, "The database does not answer under the owner's login.", sessions=True) as connection:
        yield connection


@contextmanager
def login_connection(url: str, silent: str, *, sessions: bool) -> Generator[Owner]:
    """Connects under a login; raises `DatabaseUnavailable`, with `silent` for its message, where the database does not answer.

    `sessions`: a pooler that keeps none is refused with `UnsuitableDatabase`.
    """
    try:
        connection = psycopg.Connection[DictRow].connect(
            url,
            autocommit=True,
            row_factory=dict_row,
            connect_timeout=10,
            application_name="muniment",
            prepare_threshold=5 if sessions else None,
        )
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(silent, hint=first_line(error)) from error
    connection.cursor_factory = cast("type[psycopg.Cursor[DictRow]]", psycopg.RawCursor)
    with connection:
        if sessions:
            require_session(connection, url)
        yield connection


@contextmanager
def explained() -> Generator[None]:
    """What the database refuses, as an error that says what to do."""
    try:
        yield
    except (psycopg.errors.InvalidSchemaName, psycopg.errors.UndefinedTable, psycopg.errors.UndefinedFunction) as error:
        raise UnsuitableDatabase("The database is not set up, or not for this version.", hint="Run `muniment migrate` first.") from error
    except psycopg.errors.InsufficientPrivilege as error:
        detail = error.diag.message_detail
        raise UnsuitableDatabase(
            f"The database does not let this login do that: {first_line(error)}.{f' {detail}' if detail else ''}",
            hint="The owner's login (MUNIMENT_OWNER_URL) owns the database and its schemas and has CREATEROLE: docs/operating.md.",
        ) from error
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable("The database was lost under the owner's login.", hint=first_line(error)) from error


def run(owner: Owner, query: Query, *args: Any) -> list[Row]:
    """All rows of a named query; none when it gives no rows at all."""
    cursor = owner.execute(query.sql.encode(), args or None)
    return cursor.fetchall() if cursor.description else []


def run_one(owner: Owner, query: Query, *args: Any) -> Row | None:
    """The first row of a named query."""
    rows = run(owner, query, *args)
    return rows[0] if rows else None


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
