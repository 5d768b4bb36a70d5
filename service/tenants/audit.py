"""The audit: who did what when and how it ended, as admins read it, and the end of its oldest rows.

In: a workspace's admin and a time; the owner's connection string and a number of days. Out: entries, the latest first; deleted rows.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec
import structlog

from service.access.keys import Caller
from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.db.queries import load
from service.embed.worker import wait_for_stop
from service.errors import MunimentError
from service.memory.cursors import seal, unknown_cursor, unseal
from service.memory.timestamps import InvalidTimestamp, parse_timestamp

_PAUSE_S: Final = 3600.0
_BATCH: Final = 10_000  # as sql/control/queries/worker.sql has it
_MARK: Final = "#"  # between a cursor's time and number
_MOST_GIVEN: Final = 2**31 - 1

_LOG: Final = structlog.stdlib.get_logger("muniment.worker")


class AuditEntry(msgspec.Struct, frozen=True):
    """One call. `who`: a key's id, or `oidc:` and a person's subject. `project`: null for calls about none, and of one that is gone or
    another workspace's. `outcome`: ok, or the error's code."""

    at: datetime
    who: str | None
    project: str | None
    operation: str
    outcome: str


class _Place(msgspec.Struct, frozen=True):
    """Where the answer before ended: its last time, and how many entries of it were given. It counts no calls of other workspaces."""

    at: datetime | None
    given: int


async def list_audit(
    database: Database, caller: Caller, since: datetime | None, until: datetime | None, cursor: str, limit: int
) -> tuple[list[AuditEntry], str | None]:
    """Entries of the caller's workspace, the latest first, and the cursor to go on with; None on the last answer."""
    place = _read_place(cursor)
    rows = await database.control("find_audit", caller.workspace_id, since, until, place.at, place.given, limit + 1)
    found = [AuditEntry(row["at"], row["who"], row["project"], row["operation"], row["outcome"]) for row in rows[:limit]]
    return found, _cursor(place, found) if len(rows) > limit else None


def _cursor(before: _Place, found: Sequence[AuditEntry]) -> str:
    at = found[-1].at
    given = sum(entry.at == at for entry in found) + (before.given if before.at == at else 0)
    return seal(f"{at.isoformat()}{_MARK}{given}")


def _read_place(cursor: str) -> _Place:
    if not cursor:
        return _Place(None, 0)
    at, _, given = unseal(cursor).partition(_MARK)
    try:
        place = _Place(parse_timestamp(at), int(given))
    except (InvalidTimestamp, ValueError) as error:
        raise unknown_cursor() from error
    if not 0 < place.given <= _MOST_GIVEN:
        raise unknown_cursor()
    return place


async def trim_audit(owner: OwnerDatabase, days: int) -> int:
    """Deletes entries older than so many days: how many there were."""
    total = 0
    while True:
        (row,) = await owner.fetch(load("control", "worker")["trim_audit"].sql, days)
        total += row["gone"]
        if row["gone"] < _BATCH:
            return total


async def keep_trimming(owner_url: str, days: int, stop: asyncio.Event) -> None:
    """Deletes old entries once an hour until `stop` is set; 0 days keeps all. A database that is away is asked again the next time."""
    owner = OwnerDatabase(owner_url)
    while days and not stop.is_set():
        try:
            if gone := await trim_audit(owner, days):
                _LOG.info("old entries of the audit deleted", entries=gone)
        except MunimentError as error:
            _LOG.warning("the audit was not trimmed", code=error.code)
        except Exception:  # noqa: BLE001  (the next hour may go well)
            _LOG.exception("the audit was not trimmed")
        finally:
            await owner.close()
        await wait_for_stop(stop, _PAUSE_S)
