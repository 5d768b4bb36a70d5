"""The database's refusal of more than a workspace may keep (sql/control/functions/usage.sql), and what callers are told.

In: what the driver raises, by its SQLSTATE. Out: `QuotaReached`.
"""

from typing import ClassVar, Final

import asyncpg

from service.errors import QuotaReached

SQLSTATE: Final = "MUQ01"


class QuotaRefusal(asyncpg.PostgresError):
    """What the driver raises for this SQLSTATE: it takes the class from here, and sets what the database said."""

    sqlstate: ClassVar[str] = SQLSTATE
    detail: str | None


def quota_reached(detail: str | None) -> QuotaReached:
    """The error for callers; `detail` is the kind and the limit, such as `events 1000`."""
    kind, _, limit = (detail or "").partition(" ")
    most = int(limit)
    hint = "Delete a project that is no longer needed" if kind == "projects" else "Forget what is no longer needed"
    return QuotaReached(
        f"The workspace may keep at most {most:,} {kind}, and this would be more.",
        hint=f"{hint}, or ask the operator for a larger quota.",
        quota=kind,
        limit=most,
    )
