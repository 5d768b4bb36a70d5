"""Members of a workspace: people who come with a token of the issuer, and the role that each has there.

In: who asks, a person's subject, a role. Out: what became of it.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Literal

import msgspec

from service.access.granting import gone_meanwhile, granting_key
from service.access.keys import Caller
from service.db.pools import Database
from service.memory.cursors import seal, unseal

Role = Literal["none", "reader", "writer", "admin"]


class MemberEntry(msgspec.Struct, frozen=True):
    """A person with a role in the workspace; `added_by` is the key or person that gave it."""

    subject: str
    role: str
    expires_at: datetime | None
    added_at: datetime
    added_by: str | None


async def set_member(
    database: Database, caller: Caller, subject: str, role: Role, scopes: Collection[str], expires_at: datetime | None
) -> str:
    """Gives a person a role, of which `scopes` follow: created, updated or unchanged. Raises `Forbidden` as `issue_key` does."""
    (row,) = await database.control(
        "set_member", granting_key(caller), caller.key_id, caller.workspace_id, subject, role, sorted(scopes), expires_at
    )
    if row["outcome"] is None:
        raise gone_meanwhile()
    return row["outcome"]


async def change_member(
    database: Database, caller: Caller, subject: str, role: Role, scopes: Collection[str], most: datetime | None
) -> tuple[str, datetime | None]:
    """The same without an end that is named: a member's stays, but not beyond `most`, which is a new one's. Gives the end too."""
    (row,) = await database.control(
        "change_member", granting_key(caller), caller.key_id, caller.workspace_id, subject, role, sorted(scopes), most
    )
    if row["outcome"] is None:
        raise gone_meanwhile()
    return row["outcome"], row["expires"]


async def list_members(database: Database, caller: Caller, cursor: str, limit: int) -> tuple[list[MemberEntry], str | None]:
    """Members by subject, and the cursor to go on with; None on the last answer."""
    rows = await database.control("find_members", caller.workspace_id, unseal(cursor), limit + 1)
    found = [msgspec.convert(dict(row), MemberEntry) for row in rows[:limit]]
    return found, seal(found[-1].subject) if len(rows) > limit else None


async def remove_member(database: Database, caller: Caller, subject: str) -> bool:
    """Whether there was such a member."""
    (row,) = await database.control("remove_member", caller.workspace_id, subject)
    return bool(row["found"])
