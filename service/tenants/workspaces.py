"""Workspaces, projects and keys as their owner makes them: by hand, on the command line, and when a server first starts.

In: the owner's connection. Out: ids, and keys, whose text is shown once and kept nowhere.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
import psycopg
import stamina

from service.access.keys import ALL_SCOPES, NewKey, make_key
from service.db import quota
from service.db.queries import load
from service.errors import Conflict, DatabaseBusy, InvalidRequest, NotFound
from service.tenants.grants import granted_outcome
from service.tenants.operating import keeping_operator
from service.tenants.owner import Owner, Row, run, run_one
from service.tenants.projects import check_name, check_slug

_BUSY: Final = (psycopg.errors.DeadlockDetected, psycopg.errors.LockNotAvailable)


class Found(msgspec.Struct, frozen=True):
    """A workspace or project by its number and slug; `created`: whether this call made it."""

    id: int
    slug: str
    created: bool = False


def create_workspace(owner: Owner, slug: str, name: str | None = None) -> Found:
    """Makes the workspace with its role, or finds the one that stands."""
    check_slug(slug, "workspace")
    known = _maybe(owner, "find_workspace", slug)
    row = known or _one(owner, "create_workspace", slug, check_name(name or slug) or slug)
    return Found(row["id"], slug, known is None)


def rename_workspace(owner: Owner, workspace: Found, slug: str | None, name: str | None) -> Row:
    """Gives the workspace another slug or name; raises `Conflict` for a slug that is taken."""
    return _rename(owner, "workspace", workspace, slug, name)


def set_operator(owner: Owner, workspace: Found, *, operates: bool) -> None:
    """Whether the workspace's admins act for the operator by way of the API: they make workspaces and set quotas."""
    _one(owner, "set_operator", workspace.id, operates)


def set_quota(owner: Owner, workspace: Found, limits: Mapping[str, int | None]) -> Row:
    """What the workspace may keep of events, bytes and projects, None without limit; what is not named stays as it is.

    Gives what it keeps and may keep.
    """
    if limits:
        _one(owner, "limit_workspace", workspace.id, msgspec.json.encode(limits).decode())
    return read_usage(owner, workspace)


def read_usage(owner: Owner, workspace: Found) -> Row:
    """What the workspace keeps and may keep."""
    return _one(owner, "find_usage", workspace.id)


def find_workspace(owner: Owner, slug: str) -> Found:
    row = _maybe(owner, "find_workspace", slug)
    if row is None:
        raise NotFound(f"There is no workspace {slug[:80]!r}.", hint="`muniment workspace list` shows them.")
    return Found(row["id"], slug)


def create_project(owner: Owner, workspace: Found, slug: str, name: str | None = None, space: tuple[str, str, int] | None = None) -> Found:
    """Makes the project with its schema, or finds the one that stands."""
    check_slug(slug, "project")
    space_id = _one(owner, "add_space", *space)["id"] if space else None
    try:
        row = _one(owner, "create_project", workspace.id, slug, check_name(name or slug) or slug, space_id)
    except psycopg.Error as error:
        if error.sqlstate != quota.SQLSTATE:
            raise
        raise quota.quota_reached(error.diag.message_detail) from error
    return Found(row["id"], slug, row["created"])


def rename_project(owner: Owner, project: Found, slug: str | None, name: str | None) -> Row:
    """Gives the project another slug or name; raises `Conflict` for a slug that is taken."""
    return _rename(owner, "project", project, slug, name)


def find_project(owner: Owner, workspace: Found, slug: str) -> Found:
    row = _maybe(owner, "find_project", workspace.id, slug)
    if row is None:
        raise NotFound(
            f"There is no project {slug[:80]!r} in {workspace.slug}.",
            hint=f"`muniment project list --workspace {workspace.slug}` shows them.",
        )
    return Found(row["id"], slug)


def delete_project(owner: Owner, workspace: Found, project: Found) -> dict[str, int]:
    """Deletes the project with all it holds, at once: how many rows each of its tables held. Raises `DatabaseBusy`."""
    try:
        counts: dict[str, int] | None = stamina.retry(on=_BUSY, attempts=3, timeout=None)(_one)(
            owner, "drop_project", workspace.id, project.id
        )["counts"]
    except _BUSY as error:
        raise DatabaseBusy("The project is being read for a long time, so it was not deleted.", hint="Try again.") from error
    if counts is None:
        raise NotFound(f"There is no project {project.slug!r} in {workspace.slug} any more.")
    return counts


def delete_workspace(owner: Owner, workspace: Found) -> dict[str, dict[str, int]]:
    """Deletes the workspace's projects one after the other, then its keys and itself; gives what each project held.

    One that was stopped half-way is finished by the next call. Raises `Conflict` for the operator's only one, before anything is deleted.
    """
    gone: dict[str, dict[str, int]] = {}
    with keeping_operator():
        _one(owner, "leave_operator", workspace.id)
    for row in list_rows(owner, "list_projects", workspace.id):
        gone[row["project"]] = delete_project(owner, workspace, find_project(owner, workspace, row["project"]))
    with keeping_operator():
        _one(owner, "drop_workspace", workspace.id)
    return gone


def create_key(
    owner: Owner,
    workspace: Found,
    *,
    pepper: str,
    name: str,
    scopes: Sequence[str] = ALL_SCOPES,
    projects: Sequence[Found] | None = None,
    default_project: Found | None = None,
    expires_at: datetime | None = None,
) -> NewKey:
    """Makes a key; its text cannot be shown again."""
    unknown = set(scopes) - set(ALL_SCOPES)
    if unknown or not scopes:
        raise InvalidRequest(f"scopes: {', '.join(sorted(unknown)) or 'none'} given.", hint=f"Choose of: {', '.join(ALL_SCOPES)}.")
    key = make_key(pepper)
    only = None if projects is None else [each.id for each in projects]
    default = default_project.id if default_project else None
    _one(owner, "create_key", key.id, key.hash, workspace.id, check_name(name), list(scopes), only, default, expires_at)
    return key


def drop_unused_keys(owner: Owner, workspace: Found, name: str) -> None:
    """Drops the keys of this name that were never used."""
    run(owner, load("control", "admin")["drop_unused_keys"], workspace.id, name)


def revoke_key(owner: Owner, key_id: str) -> bool:
    """Ends a key, within seconds, everywhere; True where it was revoked before."""
    row = _maybe(owner, "revoke_key", key_id)
    if row is None:
        raise NotFound(f"There is no key {key_id[:40]!r}.", hint="`muniment key list` shows their ids.")
    return bool(row["known"])


def grant_reading(owner: Owner, workspace: Found, key_id: str, projects: Sequence[Found] | None, expires_at: datetime | None) -> str:
    """Lets a key of another workspace read projects of this one, None for all: created, updated or unchanged."""
    only = None if projects is None else [each.id for each in projects]
    return granted_outcome(_one(owner, "grant_reading", workspace.id, key_id, only, expires_at)["outcome"])


def end_grant(owner: Owner, workspace: Found, key_id: str) -> None:
    """Takes back what the workspace let a key read."""
    if not _one(owner, "end_grant", workspace.id, key_id)["ended"]:
        raise NotFound(f"There is no grant to the key {key_id!r} in {workspace.slug}.", hint="`muniment key grants` shows them.")


def list_rows(owner: Owner, what: str, *args: Any) -> list[Row]:
    """The rows of `list_workspaces`, `list_projects`, `list_keys` or `list_grants`."""
    return run(owner, load("control", "admin")[what], *args)


def _rename(owner: Owner, what: str, found: Found, slug: str | None, name: str | None) -> Row:
    if slug is None and name is None:
        raise InvalidRequest("Nothing is to be renamed.", hint="Give --name or --to.")
    try:
        return _one(
            owner,
            f"rename_{what}",
            found.id,
            None if name is None else check_name(name) or found.slug,
            None if slug is None else check_slug(slug, what),
        )
    except psycopg.errors.UniqueViolation as error:
        raise Conflict(f"There is a {what} {slug!r} already.", hint="Choose another slug.") from error


def _maybe(owner: Owner, name: str, *args: Any) -> Row | None:
    return run_one(owner, load("control", "admin")[name], *args)


def _one(owner: Owner, name: str, *args: Any) -> Row:
    row = _maybe(owner, name, *args)
    if row is None:
        raise LookupError(f"{name} gave no row")
    return row
