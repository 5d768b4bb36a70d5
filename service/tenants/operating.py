"""The database's refusal to delete the only workspace of the operator (sql/control/functions/drop.sql), and what callers are told.

In: what a driver raises, by its SQLSTATE. Out: `Conflict`.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import asyncpg
import psycopg

from service.errors import Conflict

SQLSTATE: Final = "MUO01"


@contextmanager
def keeping_operator() -> Generator[None]:
    """Within it that refusal is a `Conflict`."""
    try:
        yield
    except (asyncpg.PostgresError, psycopg.Error) as error:
        if getattr(error, "sqlstate", None) != SQLSTATE:
            raise
        raise Conflict(
            "This is the operator's only workspace: without it nobody could make workspaces or set quotas. Nothing was deleted.",
            hint="Make another one the operator's first, on the server's command line: `muniment workspace operator SLUG`; or take it from "
            "this one with `--off`.",
        ) from error
