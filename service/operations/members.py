"""Operations of administration: the people of a workspace, who come with a token of the issuer, and their roles."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from service.access.granting import limit_life, require_all_projects, require_scopes
from service.access.keys import Caller
from service.access.tokens import ROLES, is_subject
from service.errors import InvalidRequest, NotFound
from service.memory.timestamps import parse_timestamp
from service.operations.keys import MOST, Cursor, Limit
from service.operations.operation import Operation, Route, Services
from service.operations.writing import Workspace
from service.tenants import members

Subject = Annotated[str, Meta(description="Who it is: `sub` of the person's tokens.")]


class SetMember(msgspec.Struct, frozen=True, kw_only=True):
    """A person and the role to have; it takes the place of the scopes in the person's tokens."""

    subject: Subject
    role: Annotated[members.Role, Meta(description="reader, writer (reads too), admin (all), or none, which keeps the person out.")]
    expires_at: Annotated[
        str | UnsetType | None,
        Meta(description="When the role ends. Left out, a member's stays, and a new one's is the asking key's; null: no end of its own."),
    ] = UNSET
    workspace: Workspace = None


class MemberSet(msgspec.Struct, frozen=True):
    """`outcome` is created, updated or unchanged; `expires_at` when the role ends."""

    subject: str
    role: str
    outcome: str
    workspace: str
    expires_at: datetime | None = None


class ListMembers(msgspec.Struct, frozen=True, kw_only=True):
    """Which members to list."""

    limit: Limit = 50
    cursor: Cursor = ""
    workspace: Workspace = None


class MemberList(msgspec.Struct, frozen=True):
    """Members by subject; `next_cursor` is null on the last answer."""

    members: list[members.MemberEntry]
    next_cursor: str | None
    workspace: str


class RemoveMember(msgspec.Struct, frozen=True, kw_only=True):
    """A person whose role is to be taken away."""

    subject: Subject
    workspace: Workspace = None


class RemovedMember(msgspec.Struct, frozen=True):
    """The person's tokens count again as they are."""

    subject: str
    outcome: Literal["removed"]
    workspace: str


async def set_member(services: Services, caller: Caller, request: SetMember) -> MemberSet:
    services.scopes.require_workspace(caller, request.workspace)
    require_all_projects(caller, "give roles")
    if not is_subject(request.subject):
        raise InvalidRequest("subject: 1 to 255 printable characters.", hint="Give `sub` as it stands in the person's tokens.")
    require_scopes(caller, ROLES[request.role])
    scopes = ROLES[request.role]
    if request.expires_at is UNSET:
        outcome, ends = await members.change_member(
            services.database, caller, request.subject, request.role, scopes, limit_life(caller, None)
        )
    else:
        ends = limit_life(caller, parse_timestamp(request.expires_at) if request.expires_at else None)
        outcome = await members.set_member(services.database, caller, request.subject, request.role, scopes, ends)
    return MemberSet(request.subject, request.role, outcome, caller.workspace, ends)


async def list_members(services: Services, caller: Caller, request: ListMembers) -> MemberList:
    services.scopes.require_workspace(caller, request.workspace)
    require_all_projects(caller, "see members")
    found, more = await members.list_members(services.database, caller, request.cursor, min(request.limit, MOST))
    return MemberList(found, more, caller.workspace)


async def remove_member(services: Services, caller: Caller, request: RemoveMember) -> RemovedMember:
    services.scopes.require_workspace(caller, request.workspace)
    require_all_projects(caller, "take roles away")
    if not await members.remove_member(services.database, caller, request.subject):
        raise NotFound(f"There is no member {request.subject[:80]!r} here.", hint="The list of members shows their subjects.")
    return RemovedMember(request.subject, "removed", caller.workspace)


OPERATIONS = (
    Operation(
        name="set_member",
        scope="admin",
        summary="Give a person a role in the workspace, or another one",
        request=SetMember,
        answer=MemberSet,
        run=set_member,
        routes=(Route("PUT", "/workspaces/{workspace}/members/{subject*}", lambda answer: 201 if answer.outcome == "created" else 200),),
    ),
    Operation(
        name="list_members",
        scope="admin",
        summary="List the people who have a role",
        request=ListMembers,
        answer=MemberList,
        run=list_members,
        lists=("members",),
        less="give a smaller limit.",
        routes=(Route("GET", "/workspaces/{workspace}/members"),),
    ),
    Operation(
        name="remove_member",
        scope="admin",
        summary="Take a person's role away",
        request=RemoveMember,
        answer=RemovedMember,
        run=remove_member,
        routes=(Route("DELETE", "/workspaces/{workspace}/members/{subject*}"),),
    ),
)
