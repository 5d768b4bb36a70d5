"""The operation of administration that reads the audit."""

from typing import Annotated

import msgspec
from msgspec import Meta

from service.access.granting import require_all_projects
from service.access.keys import Caller
from service.operations.keys import MOST, Cursor, Limit
from service.operations.operation import Operation, Route, Services
from service.operations.window import read_window
from service.operations.writing import Workspace
from service.tenants import audit


class ListAudit(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries to list."""

    since: Annotated[str | None, Meta(description="Only from this time on.")] = None
    until: Annotated[str | None, Meta(description="Only up to this time.")] = None
    limit: Limit = 50
    cursor: Cursor = ""
    workspace: Workspace = None


class AuditList(msgspec.Struct, frozen=True):
    """Entries, the latest first; `next_cursor` is null on the last answer."""

    entries: list[audit.AuditEntry]
    next_cursor: str | None
    workspace: str


async def list_audit(services: Services, caller: Caller, request: ListAudit) -> AuditList:
    services.scopes.require_workspace(caller, request.workspace)
    require_all_projects(caller, "read the audit")
    since, until = read_window(request.since, request.until)
    found, more = await audit.list_audit(services.database, caller, since, until, request.cursor, min(request.limit, MOST))
    return AuditList(found, more, caller.workspace)


OPERATIONS = (
    Operation(
        name="list_audit",
        scope="admin",
        summary="List who changed, administered or queried what, and how it ended",
        request=ListAudit,
        answer=AuditList,
        run=list_audit,
        lists=("entries",),
        less="give a smaller limit.",
        routes=(Route("GET", "/workspaces/{workspace}/audit"),),
    ),
)
