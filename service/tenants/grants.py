"""What a workspace lets keys of other workspaces read, as its admins give, see and take it back by way of the API.

In: who asks, a key's id, projects. Out: what became of it. Whether there is such a key elsewhere is not told: what is granted to one that
is not there is kept and has no effect. A key that is bound to some projects sees and takes back only grants of these.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from service.access.granting import gone_meanwhile, granting_key, reach_of
from service.access.keys import Caller
from service.db.pools import Database
from service.errors import InvalidRequest
from service.memory.cursors import seal, unknown_cursor, unseal
from service.memory.text import clean_text

OWN: Final = "own"
_MARK: Final = "/"  # between a cursor's key and slug


class GrantEntry(msgspec.Struct, frozen=True):
    """A project that a key of another workspace may read; null: every project. `granted_by` is the key or person that gave it."""

    key_id: str
    project: str | None
    expires_at: datetime | None
    granted_at: datetime
    granted_by: str | None


async def grant_reading(
    database: Database, caller: Caller, key_id: str, projects: Sequence[int] | None, expires_at: datetime | None
) -> str:
    """Lets a key read projects, None for all: created, updated or unchanged. Raises `Forbidden` as `issue_key` does."""
    wanted = None if projects is None else list(projects)
    (row,) = await database.control(
        "grant_reading", granting_key(caller), caller.key_id, caller.workspace_id, reach_of(caller), key_id, wanted, expires_at
    )
    return granted_outcome(row["outcome"])


def granted_outcome(outcome: str | None) -> str:
    """What became of a grant; raises `Forbidden` where the giver may not, and `InvalidRequest` for a key of the workspace itself."""
    if outcome is None:
        raise gone_meanwhile()
    if outcome == OWN:
        raise InvalidRequest(
            "key_id: a key of this workspace.", hint="Grants are for other workspaces' keys; make a key that reaches more."
        )
    return outcome


async def list_grants(database: Database, caller: Caller, cursor: str, limit: int) -> tuple[list[GrantEntry], str | None]:
    """Grants by key and project, and the cursor to go on with; None on the last answer."""
    rows = await database.control("find_grants", caller.workspace_id, reach_of(caller), *_place(cursor), limit + 1)
    found = [msgspec.convert({name: row[name] for name in GrantEntry.__struct_fields__}, GrantEntry) for row in rows[:limit]]
    more = seal(f"{found[-1].key_id}{_MARK}{found[-1].project or ''}") if len(rows) > limit else None
    return found, more


async def end_grant(database: Database, caller: Caller, key_id: str) -> int:
    """Takes back what a key may read, as far as the caller reaches: how many grants that were."""
    (row,) = await database.control("end_grant", caller.workspace_id, reach_of(caller), key_id)
    return row["ended"]


def _place(cursor: str) -> tuple[str, str]:
    """Behind which key and project to go on. A project's number is in no cursor: it counts those of all workspaces."""
    if not cursor:
        return "", ""
    key_id, mark, project = unseal(cursor).partition(_MARK)
    if not mark:
        raise unknown_cursor()
    return clean_text(key_id), clean_text(project)
