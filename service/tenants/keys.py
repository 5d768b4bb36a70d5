"""Keys as admins make, see and end them by way of the API.

In: who asks, and what a key shall be able to do. Out: its entry. A key that is bound to some projects sees and ends only keys that reach
no further.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from service.access.granting import gone_meanwhile, granting_key, reach_of
from service.access.keys import Caller, NewKey
from service.db.pools import Database
from service.errors import NotFound
from service.memory.cursors import seal, unknown_cursor, unseal
from service.memory.timestamps import InvalidTimestamp, parse_timestamp


class KeyEntry(msgspec.Struct, frozen=True):
    """A key without its text. `projects` null: every project of the workspace."""

    id: str
    name: str
    scopes: list[str]
    projects: list[str] | None
    default_project: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class KeyRights(msgspec.Struct, frozen=True):
    """What a new key is for; `projects` and `default_project` are numbers of projects."""

    name: str
    scopes: Sequence[str]
    projects: Sequence[int] | None
    default_project: int | None
    expires_at: datetime | None


async def issue_key(database: Database, caller: Caller, key: NewKey, rights: KeyRights) -> None:
    """Stores a key that the caller makes; raises `Forbidden` when the caller's own was ended or a project went meanwhile."""
    projects = None if rights.projects is None else list(rights.projects)
    (row,) = await database.control(
        "issue_key",
        granting_key(caller),
        key.id,
        key.hash,
        caller.workspace_id,
        rights.name,
        list(rights.scopes),
        projects,
        rights.default_project,
        rights.expires_at,
    )
    if not row["made"]:
        raise gone_meanwhile()


async def list_keys(database: Database, caller: Caller, cursor: str, limit: int) -> tuple[list[KeyEntry], str | None]:
    """Keys in the order they were made, and the cursor to go on with; None on the last answer."""
    after, key_id = _place(cursor)
    slugs = {row["id"]: row["slug"] for row in await database.control("find_projects", caller.workspace_id)}
    rows = await database.control("find_keys", caller.workspace_id, reach_of(caller), after, key_id, limit + 1)
    found = [_entry(row, slugs) for row in rows[:limit]]
    return found, seal(f"{found[-1].created_at.isoformat()} {found[-1].id}") if len(rows) > limit else None


async def end_key(database: Database, caller: Caller, key_id: str) -> tuple[datetime, bool]:
    """Since when the key is revoked, and whether it was before; raises `NotFound` for one that is not in the caller's reach."""
    rows = await database.control("end_key", caller.workspace_id, reach_of(caller), key_id)
    if not rows:
        raise NotFound(f"There is no key {key_id[:12]!r} here, or this key cannot end it.", hint="The list of keys shows their ids.")
    return rows[0]["revoked_at"], rows[0]["known"]


def _place(cursor: str) -> tuple[datetime | None, str]:
    if not cursor:
        return None, ""
    at, _, key_id = unseal(cursor).partition(" ")
    try:
        return parse_timestamp(at), key_id
    except InvalidTimestamp as error:
        raise unknown_cursor() from error


def _entry(row: Any, slugs: Mapping[int, str]) -> KeyEntry:
    """Projects that are gone are left out: the key reaches them no more."""
    projects = None if row["projects"] is None else [slugs[number] for number in row["projects"] if number in slugs]
    return KeyEntry(
        id=row["id"],
        name=row["name"],
        scopes=list(row["scopes"]),
        projects=projects,
        default_project=slugs.get(row["default_project"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        last_used_at=row["last_used_at"],
    )
