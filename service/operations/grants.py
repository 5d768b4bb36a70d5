"""Operations of administration: letting keys of other workspaces read, seeing what they may, and taking it back."""

import re
from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from service.access.granting import limit_life, require_scopes
from service.access.keys import Caller
from service.errors import InvalidRequest, NotFound
from service.memory.timestamps import parse_timestamp
from service.operations.keys import MOST, Cursor, Expiry, Limit, reach
from service.operations.operation import Operation, Route, Services
from service.operations.writing import Workspace
from service.tenants import grants

KeyId = Annotated[str, Meta(description="The other workspace's key: the twelve characters after `mun_`, which its admins tell you.")]
_KEY_ID: Final = re.compile("[a-z0-9]{12}")


class GrantReading(msgspec.Struct, frozen=True, kw_only=True):
    """A key of another workspace, and what it may read here from now on; what you granted it before is replaced."""

    key_id: KeyId
    projects: Annotated[
        Annotated[list[str], Meta(min_length=1, max_length=1000)] | None,
        Meta(description="Slugs of the projects; left out, all that the asking key reaches: for a key of all projects, later ones too."),
    ] = None
    expires_at: Expiry = None
    workspace: Workspace = None


class ReadingGranted(msgspec.Struct, frozen=True):
    """What the key may read, null for all; `outcome` is created, updated or unchanged. Whether there is such a key is not told."""

    key_id: str
    projects: list[str] | None
    expires_at: datetime | None
    outcome: str
    workspace: str


class ListGrants(msgspec.Struct, frozen=True, kw_only=True):
    """Which grants to list."""

    limit: Limit = 50
    cursor: Cursor = ""
    workspace: Workspace = None


class GrantList(msgspec.Struct, frozen=True):
    """Grants by key, each for one project or all; `next_cursor` is null on the last answer."""

    grants: list[grants.GrantEntry]
    next_cursor: str | None
    workspace: str


class EndGrant(msgspec.Struct, frozen=True, kw_only=True):
    """A key that is to read here no more."""

    key_id: KeyId
    workspace: Workspace = None


class GrantEnded(msgspec.Struct, frozen=True):
    """The key reads here no more what you can grant."""

    key_id: str
    outcome: Literal["ended"]
    workspace: str


async def grant_reading(services: Services, caller: Caller, request: GrantReading) -> ReadingGranted:
    services.scopes.require_workspace(caller, request.workspace)
    require_scopes(caller, ["read"])
    if not _KEY_ID.fullmatch(request.key_id):  # what was given is not repeated: it may be a whole key
        raise InvalidRequest("key_id: not the id of a key.", hint="Give the twelve characters after `mun_`, never the whole key.")
    expires_at = limit_life(caller, parse_timestamp(request.expires_at) if request.expires_at else None)
    projects = await reach(services, caller, request.projects)
    numbers = None if projects is None else list(projects)
    outcome = await grants.grant_reading(services.database, caller, request.key_id, numbers, expires_at)
    slugs = None if projects is None else list(projects.values())
    return ReadingGranted(request.key_id, slugs, expires_at, outcome, caller.workspace)


async def list_grants(services: Services, caller: Caller, request: ListGrants) -> GrantList:
    services.scopes.require_workspace(caller, request.workspace)
    found, more = await grants.list_grants(services.database, caller, request.cursor, min(request.limit, MOST))
    return GrantList(found, more, caller.workspace)


async def end_grant(services: Services, caller: Caller, request: EndGrant) -> GrantEnded:
    services.scopes.require_workspace(caller, request.workspace)
    if not await grants.end_grant(services.database, caller, request.key_id):
        raise NotFound("There is no grant to this key here, or this key cannot end it.", hint="The list of grants shows their keys.")
    return GrantEnded(request.key_id, "ended", caller.workspace)


OPERATIONS = (
    Operation(
        name="grant_reading",
        scope="admin",
        summary="Let a key of another workspace read",
        request=GrantReading,
        answer=ReadingGranted,
        run=grant_reading,
        routes=(Route("PUT", "/workspaces/{workspace}/grants/{key_id}", lambda answer: 201 if answer.outcome == "created" else 200),),
    ),
    Operation(
        name="list_grants",
        scope="admin",
        summary="List what keys of other workspaces may read",
        request=ListGrants,
        answer=GrantList,
        run=list_grants,
        lists=("grants",),
        less="give a smaller limit.",
        routes=(Route("GET", "/workspaces/{workspace}/grants"),),
    ),
    Operation(
        name="end_grant",
        scope="admin",
        summary="Take back what a key of another workspace may read",
        request=EndGrant,
        answer=GrantEnded,
        run=end_grant,
        routes=(Route("DELETE", "/workspaces/{workspace}/grants/{key_id}"),),
    ),
)
