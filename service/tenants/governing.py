"""Workspaces as their admins and the operator's see and change them by way of the API.

In: who asks, and a workspace's slug. Out: its entry. Of a workspace that is not the caller's nothing is told: for all but the operator it
is as if it did not exist.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import asyncpg
import msgspec

from service.access.granting import granting_key
from service.access.keys import Caller, NewKey
from service.db.pools import Database
from service.errors import Conflict, DatabaseBusy, Forbidden, NotFound, no_workspace
from service.memory.cursors import seal, unseal
from service.tenants.operating import keeping_operator
from service.tenants.projects import drop_project


class Amount(msgspec.Struct, frozen=True):
    """How much of something a workspace keeps, and how much it may; null: as much as it likes."""

    used: int
    limit: int | None


class WorkspaceEntry(msgspec.Struct, frozen=True):
    """A workspace with what it keeps and may keep. `operator`: its admins act for the operator."""

    workspace: str
    name: str
    operator: bool
    created_at: datetime
    events: Amount
    bytes: Amount
    projects: Amount


class Quota(msgspec.Struct, frozen=True):
    """What a workspace may keep; null is no limit."""

    events: int | None
    bytes: int | None
    projects: int | None


async def require_operator(database: Database, caller: Caller, what: str, hint: str) -> None:
    """Raises `Forbidden` unless the caller's workspace is the operator's and its key is bound to no projects."""
    if caller.projects is not None or not (await database.control("operates", caller.workspace_id))[0]["operates"]:
        raise Forbidden(f"Only the operator's admins {what}.", hint=hint)


async def governed(database: Database, caller: Caller, slug: str) -> int:
    """The number of a workspace that the caller may change; raises `NotFound` for one that it may not, or that there is not."""
    number = (await database.control("find_governed", caller.workspace_id, slug))[0]["id"]
    if number is None:
        raise no_workspace(slug)
    return number


async def list_workspaces(database: Database, caller: Caller, cursor: str, limit: int) -> tuple[list[WorkspaceEntry], str | None]:
    """The caller's workspace, or all for the operator, by slug; and the cursor to go on with, None on the last answer."""
    rows = await database.control("find_workspaces", caller.workspace_id, unseal(cursor), limit + 1)
    found = [_entry(row) for row in rows[:limit]]
    return found, seal(found[-1].workspace) if len(rows) > limit else None


async def open_workspace(
    database: Database, caller: Caller, slug: str, name: str, key: NewKey, scopes: list[str], expires_at: datetime | None
) -> None:
    """Makes a workspace and its first key, both or none; raises `Conflict` when the slug is taken."""
    (row,) = await database.control(
        "open_workspace", granting_key(caller), caller.workspace_id, slug, name, key.id, key.hash, scopes, expires_at
    )
    if row["id"] is None:
        raise Conflict(f"There is a workspace {slug!r} already.", hint="Choose another slug; `muniment key create` makes a key for it.")


async def rename_workspace(database: Database, caller: Caller, slug: str, new_slug: str | None, name: str | None) -> None:
    """Gives a workspace another name, or another slug; raises `NotFound`, or `Conflict` for a slug that is taken."""
    try:
        (row,) = await database.control("rename_workspace", caller.workspace_id, slug, new_slug, name)
    except asyncpg.UniqueViolationError as error:
        raise Conflict(f"There is a workspace {new_slug!r} already.", hint="Choose another slug.") from error
    if not row["found"]:
        raise no_workspace(slug)


async def set_quota(database: Database, caller: Caller, slug: str, limits: Mapping[str, int | None]) -> Quota:
    """Sets the limits that are named, None for no limit, and gives all; raises `NotFound`."""
    rows = await database.control("set_quota", caller.workspace_id, slug, msgspec.json.encode(limits).decode())
    if not rows:
        raise no_workspace(slug)
    return Quota(**rows[0])


async def begin_closing(database: Database, caller: Caller, slug: str) -> None:
    """Called before a workspace's projects are deleted; raises `NotFound`, or `Conflict` for the only one of the operator."""
    with keeping_operator():
        (row,) = await database.control("begin_closing", caller.workspace_id, slug)
    if not row["found"]:
        raise no_workspace(slug)


async def drop_first_project(database: Database, workspace_id: int, counts: Counter[str]) -> bool:
    """Deletes one project of a workspace and adds what it held to `counts`; whether there was one."""
    rows = await database.control("find_projects", workspace_id)
    if rows:
        counts.update(await drop_project(database, workspace_id, rows[0]["id"]) or {})
    return bool(rows)


async def close_workspace(database: Database, caller: Caller, slug: str) -> None:
    """Deletes a workspace that has no projects any more, with its keys and members."""
    try:
        with keeping_operator():
            (row,) = await database.control("close_workspace", caller.workspace_id, slug)
    except asyncpg.ForeignKeyViolationError as error:
        raise DatabaseBusy("A project was made in the workspace while it was deleted.", hint="Try again.") from error
    if not row["found"]:
        raise NotFound(f"There is no workspace {slug[:80]!r} any more.")


async def read_usage(database: Database, workspace_id: int) -> dict[str, Amount]:
    """What a workspace keeps and may keep: events, bytes, projects."""
    (row,) = await database.control("find_usage", workspace_id)
    return amounts(row)


def amounts(row: Any) -> dict[str, Amount]:
    """Each kind with what is used of it and what may be."""
    return {kind: Amount(row[kind], row[f"most_{kind}"]) for kind in ("events", "bytes", "projects")}


def _entry(row: Any) -> WorkspaceEntry:
    return WorkspaceEntry(workspace=row["slug"], name=row["name"], operator=row["operates"], created_at=row["created_at"], **amounts(row))
