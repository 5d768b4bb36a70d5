"""Operations of administration: workspaces and what they may keep.

An admin sees, names and deletes the own workspace; the operator's admins make workspaces, set their quotas, and may change any.
"""

import time
from collections import Counter
from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from service.access.granting import limit_life, require_all_projects, require_scopes
from service.access.keys import ALL_SCOPES, Caller, make_key
from service.errors import InvalidRequest
from service.operations.keys import MOST, Cursor, Limit
from service.operations.operation import Operation, Route, Services
from service.tenants import governing
from service.tenants.projects import check_name, check_slug

LONGEST_S: Final = 40.0
_BY_HAND: Final = "On the server's own command line `muniment workspace` does it."

Slug = Annotated[str, Meta(description="1 to 63 lower-case letters, digits and hyphens.")]
Named = Annotated[str, Meta(description="The workspace's slug.")]
Most = Annotated[int, Meta(ge=0, le=2**53)] | None | UnsetType


class CreateWorkspace(msgspec.Struct, frozen=True, kw_only=True):
    """A new workspace."""

    slug: Slug
    name: Annotated[str | None, Meta(description="A name for people.")] = None


class CreatedWorkspace(msgspec.Struct, frozen=True):
    """A workspace, and its first key, which may do everything in it: `key` is shown here and never again."""

    workspace: str
    name: str
    key_id: str
    key: str
    expires_at: datetime | None


class ListWorkspaces(msgspec.Struct, frozen=True, kw_only=True):
    """How many workspaces to list."""

    limit: Limit = 50
    cursor: Cursor = ""


class WorkspaceList(msgspec.Struct, frozen=True):
    """The key's own workspace, for the operator all, by slug; `next_cursor` is null on the last answer."""

    workspaces: list[governing.WorkspaceEntry]
    next_cursor: str | None


class RenameWorkspace(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace and its new name, or new slug."""

    workspace: Named
    name: Annotated[str | None, Meta(description="A name for people.")] = None
    slug: Annotated[str | None, Meta(description="Another slug, which the operator alone gives.")] = None


class RenamedWorkspace(msgspec.Struct, frozen=True):
    """The slug under which the workspace is found from now on."""

    workspace: str


class DeleteWorkspace(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace to delete with its keys, members, projects and all they hold."""

    workspace: Named


class WorkspaceReceipt(msgspec.Struct, frozen=True):
    """What is gone: rows by kind, of so many projects. `complete` is false when time ran out: the same call again goes on."""

    forgotten: str
    workspace: str
    projects: int
    counts: dict[str, int]
    at: datetime
    complete: bool


class SetQuota(msgspec.Struct, frozen=True, kw_only=True):
    """What a workspace may keep from now on; a limit that is left out stays, null lifts it. What is kept already stays."""

    workspace: Named
    events: Annotated[Most, Meta(description="How many events; null: any number.")] = UNSET
    bytes: Annotated[Most, Meta(description="How many bytes of text: events and pages with their earlier versions; null: any number.")] = (
        UNSET
    )
    projects: Annotated[Most, Meta(description="How many projects; null: any number.")] = UNSET


class QuotaSet(msgspec.Struct, frozen=True):
    """What the workspace may keep."""

    workspace: str
    quota: governing.Quota


async def create_workspace(services: Services, caller: Caller, request: CreateWorkspace) -> CreatedWorkspace:
    await governing.require_operator(services.database, caller, "make workspaces", _BY_HAND)
    slug = check_slug(request.slug, "slug")
    name = check_name(request.name or slug) or slug
    require_scopes(caller, ALL_SCOPES)
    key, expires_at = make_key(services.pepper), limit_life(caller, None)
    await governing.open_workspace(services.database, caller, slug, name, key, list(ALL_SCOPES), expires_at)
    return CreatedWorkspace(slug, name, key.id, key.text, expires_at)


async def list_workspaces(services: Services, caller: Caller, request: ListWorkspaces) -> WorkspaceList:
    require_all_projects(caller, "see what the workspace keeps")
    return WorkspaceList(*await governing.list_workspaces(services.database, caller, request.cursor, min(request.limit, MOST)))


async def rename_workspace(services: Services, caller: Caller, request: RenameWorkspace) -> RenamedWorkspace:
    await governing.governed(services.database, caller, request.workspace)
    require_all_projects(caller, "rename the workspace")
    if request.name is None and request.slug is None:
        raise InvalidRequest("Nothing is to be renamed.", hint="Give name or slug.")
    if request.slug is not None:  # whether a slug is taken is not for everybody to learn
        await governing.require_operator(services.database, caller, "give workspaces other slugs", _BY_HAND)
        check_slug(request.slug, "slug")
    name = None if request.name is None else check_name(request.name) or request.workspace
    await governing.rename_workspace(services.database, caller, request.workspace, request.slug, name)
    return RenamedWorkspace(request.slug or request.workspace)


async def delete_workspace(services: Services, caller: Caller, request: DeleteWorkspace) -> WorkspaceReceipt:
    number = await governing.governed(services.database, caller, request.workspace)
    require_all_projects(caller, "delete the workspace")
    await governing.begin_closing(services.database, caller, request.workspace)
    counts, projects, ends = Counter[str](), 0, time.monotonic() + LONGEST_S
    complete = False
    try:
        while not complete and time.monotonic() < ends:
            complete = not await governing.drop_first_project(services.database, number, counts)
            projects += not complete
        if complete:
            await governing.close_workspace(services.database, caller, request.workspace)
    finally:
        services.scopes.forget(number)
    gone = {kind: count for kind, count in sorted(counts.items()) if count}
    return WorkspaceReceipt("workspace", request.workspace, projects, gone, datetime.now(UTC), complete)


async def set_quota(services: Services, caller: Caller, request: SetQuota) -> QuotaSet:
    number = await governing.governed(services.database, caller, request.workspace)
    await governing.require_operator(services.database, caller, "set quotas", _BY_HAND)
    named = {"events": request.events, "bytes": request.bytes, "projects": request.projects}
    limits = {kind: limit for kind, limit in named.items() if not isinstance(limit, UnsetType)}
    if not limits:
        raise InvalidRequest("Nothing is to be limited.", hint="Give events, bytes or projects: a number, or null to lift the limit.")
    quota = await governing.set_quota(services.database, caller, request.workspace, limits)
    if number != caller.workspace_id:  # in the audit of the workspace that it is about too
        await services.database.control("write_audit", caller.key_id, number, None, "set_quota", "ok")
    return QuotaSet(request.workspace, quota)


OPERATIONS = (
    Operation(
        name="list_workspaces",
        scope="admin",
        summary="List workspaces with what they keep and may keep",
        request=ListWorkspaces,
        answer=WorkspaceList,
        run=list_workspaces,
        lists=("workspaces",),
        less="give a smaller limit.",
        routes=(Route("GET", "/workspaces"),),
    ),
    Operation(
        name="create_workspace",
        scope="admin",
        summary="Make a workspace and its first key",
        request=CreateWorkspace,
        answer=CreatedWorkspace,
        run=create_workspace,
        routes=(Route("POST", "/workspaces", lambda answer: 201),),
    ),
    Operation(
        name="rename_workspace",
        scope="admin",
        summary="Give a workspace another name",
        request=RenameWorkspace,
        answer=RenamedWorkspace,
        run=rename_workspace,
        routes=(Route("PATCH", "/workspaces/{workspace}"),),
    ),
    Operation(
        name="delete_workspace",
        scope="admin",
        summary="Delete a workspace with all it holds",
        request=DeleteWorkspace,
        answer=WorkspaceReceipt,
        run=delete_workspace,
        routes=(Route("DELETE", "/workspaces/{workspace}"),),
    ),
    Operation(
        name="set_quota",
        scope="admin",
        summary="Set what a workspace may keep",
        request=SetQuota,
        answer=QuotaSet,
        run=set_quota,
        routes=(Route("PUT", "/workspaces/{workspace}/quota"),),
    ),
)
