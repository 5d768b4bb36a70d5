"""Operations of administration: making, listing and revoking keys."""

from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from service.access.granting import limit_life, require_scopes
from service.access.keys import Caller, Scope, make_key
from service.errors import InvalidRequest
from service.memory.timestamps import parse_timestamp
from service.operations.operation import Operation, Route, Services
from service.operations.writing import Workspace
from service.tenants import keys
from service.tenants.projects import check_name

Expiry = Annotated[str | None, Meta(description="When it ends; no later than the key that asks, which is the default.")]
Limit = Annotated[int, Meta(ge=1, description="How many at most, up to 200.")]
Cursor = Annotated[str, Meta(description="`next_cursor` of the answer before, to go on.")]
MOST: Final = 200


class CreateKey(msgspec.Struct, frozen=True, kw_only=True):
    """What a new key is for."""

    name: Annotated[str, Meta(description="What it is for, or who has it.")] = ""
    scopes: Annotated[
        list[Scope], Meta(min_length=1, max_length=3, description="Of read, write, admin, those that the asking key has.")
    ] = msgspec.field(default_factory=lambda: ["read", "write"])
    projects: Annotated[
        Annotated[list[str], Meta(min_length=1, max_length=1000)] | None,
        Meta(description="Slugs of the projects that it may reach; left out, all that the asking key reaches."),
    ] = None
    default_project: Annotated[str | None, Meta(description="The project of calls that name none.")] = None
    expires_at: Expiry = None
    workspace: Workspace = None


class CreatedKey(msgspec.Struct, frozen=True):
    """A key: `key` is its text, which is shown here and never again."""

    id: str
    key: str
    name: str
    scopes: list[str]
    projects: list[str] | None
    default_project: str | None
    expires_at: datetime | None
    workspace: str


class ListKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Which keys to list."""

    limit: Limit = 50
    cursor: Cursor = ""
    workspace: Workspace = None


class KeyList(msgspec.Struct, frozen=True):
    """Keys in the order they were made; `next_cursor` is null on the last answer."""

    keys: list[keys.KeyEntry]
    next_cursor: str | None
    workspace: str


class RevokeKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key to end."""

    id: Annotated[str, Meta(description="The key's id: the twelve characters after `mun_`.")]
    workspace: Workspace = None


class RevokedKey(msgspec.Struct, frozen=True):
    """`outcome` is revoked, or unchanged when it was revoked before."""

    id: str
    revoked_at: datetime
    outcome: Literal["revoked", "unchanged"]


async def create_key(services: Services, caller: Caller, request: CreateKey) -> CreatedKey:
    services.scopes.require_workspace(caller, request.workspace)
    require_scopes(caller, request.scopes)
    expires_at = limit_life(caller, parse_timestamp(request.expires_at) if request.expires_at else None)
    projects = await reach(services, caller, request.projects)
    default = await services.scopes.one(caller, request.workspace, request.default_project) if request.default_project else None
    if default is not None and projects is not None and default.project_id not in projects:
        raise InvalidRequest("default_project: not one of the key's projects.", hint="Name it in `projects` too.")
    rights = keys.KeyRights(
        check_name(request.name),
        sorted(set(request.scopes)),
        None if projects is None else list(projects),
        default.project_id if default else None,
        expires_at,
    )
    key = make_key(services.pepper)
    await keys.issue_key(services.database, caller, key, rights)
    return CreatedKey(
        id=key.id,
        key=key.text,
        name=rights.name,
        scopes=list(rights.scopes),
        projects=None if projects is None else list(projects.values()),
        default_project=default.project if default else None,
        expires_at=expires_at,
        workspace=caller.workspace,
    )


async def reach(services: Services, caller: Caller, slugs: list[str] | None) -> dict[int, str] | None:
    """The projects that are given away, by number: those named, else all that the caller reaches; None for all of the workspace."""
    if slugs is not None:
        found = [await services.scopes.one(caller, None, slug) for slug in slugs]
    elif caller.projects is not None:
        found = await services.scopes.readable(caller, None)
    else:
        return None
    return {ref.project_id: ref.project for ref in found}


async def list_keys(services: Services, caller: Caller, request: ListKeys) -> KeyList:
    services.scopes.require_workspace(caller, request.workspace)
    found, more = await keys.list_keys(services.database, caller, request.cursor, min(request.limit, MOST))
    return KeyList(found, more, caller.workspace)


async def revoke_key(services: Services, caller: Caller, request: RevokeKey) -> RevokedKey:
    services.scopes.require_workspace(caller, request.workspace)
    revoked_at, known = await keys.end_key(services.database, caller, request.id)
    return RevokedKey(request.id, revoked_at, "unchanged" if known else "revoked")


OPERATIONS = (
    Operation(
        name="create_key",
        scope="admin",
        summary="Make a key; its text is shown once",
        request=CreateKey,
        answer=CreatedKey,
        run=create_key,
        routes=(Route("POST", "/workspaces/{workspace}/keys", lambda answer: 201),),
    ),
    Operation(
        name="list_keys",
        scope="admin",
        summary="List keys, without their texts",
        request=ListKeys,
        answer=KeyList,
        run=list_keys,
        lists=("keys",),
        less="give a smaller limit.",
        routes=(Route("GET", "/workspaces/{workspace}/keys"),),
    ),
    Operation(
        name="revoke_key",
        scope="admin",
        summary="End a key, within seconds, everywhere",
        request=RevokeKey,
        answer=RevokedKey,
        run=revoke_key,
        routes=(Route("DELETE", "/workspaces/{workspace}/keys/{id}"),),
    ),
)
