"""What Postgres says against a query, as a refusal that teaches.

In: the driver's error. Out: `SqlRejection` with Postgres's message and position; None for what is not the query's fault. Details and
context stay inside: they may hold the text of functions and rows.
"""

import re
from typing import Final

import asyncpg

from service.sqltool.instead import instead_of_column
from service.sqltool.rejection import SqlRejection

_CLASSES: Final = ("0A", "21", "22", "25", "2F", "38", "39", "42", "54")
_NO_RIGHTS: Final = "42501"
_LIMITS: Final = ("53", "XX000")  # memory and temporary files; a value beyond a gigabyte ends in an internal error of Postgres
_COLUMN: Final = re.compile(r'column (?:\w+\.)?"?(\w+)"? ')
_IDS: Final = "Ids are numbers in the views: 42, not evt_42; the column public_id holds evt_42."


def refusal_of(error: asyncpg.PostgresError) -> SqlRejection | None:
    """The refusal; None when the server failed, not the query."""
    state = str(getattr(error, "sqlstate", ""))
    if state == _NO_RIGHTS:
        return SqlRejection("Postgres refused the query: it reaches beyond the views.", blocked_by="database", sqlstate=state)
    if state.startswith(_LIMITS):
        return SqlRejection(
            "The query needs more memory or disk than it may use.",
            blocked_by="database",
            hint="Ask for fewer or shorter rows.",
            sqlstate=state,
        )
    if not state.startswith(_CLASSES):
        return None
    message = str(error.args[0]).partition("\n")[0] if error.args else "failed"
    position = getattr(error, "position", None)
    at = int(position) - 1 if position else None
    return SqlRejection(f"Postgres: {message}.", blocked_by="database", hint=_hint(message, state, error), at=at, sqlstate=state)


def _hint(message: str, state: str, error: asyncpg.PostgresError) -> str | None:
    if state == "22P02" and any(prefix in message for prefix in ('"evt_', '"ent_', '"tag_', '"pg_')):
        return _IDS
    if state == "42703":
        named = _COLUMN.search(message)
        known = instead_of_column(named[1]) if named else None
        return known or str(getattr(error, "hint", None) or 'Send the text "describe" to see every view with its columns.')
    if "<=>" in message or "halfvec" in message:
        return "The views hold no vectors; search_memory and memory_query rank by meaning."
    hint = getattr(error, "hint", None)
    return str(hint) if hint else None
