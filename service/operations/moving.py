"""Operations that take a whole project out and in: its export, and the lines of one."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from service.access.keys import Caller
from service.errors import InvalidRequest
from service.memory import export
from service.memory.export_format import Header
from service.memory.imports import restore
from service.operations.operation import Operation, Route, Services
from service.operations.writing import Project, Workspace

MOST_LINES: Final = 1000


class ExportProject(msgspec.Struct, frozen=True, kw_only=True):
    """Which project to export."""

    workspace: Workspace = None
    project: Project = None


class ImportLines(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of an export, in its order; the last call holds a line `{"line": "finish", "numbers": …}`."""

    lines: Annotated[list[Any], Meta(description="Lines as an export holds them; numbers are those that earlier calls answered.")]
    workspace: Workspace = None
    project: Project = None


class ImportedLines(msgspec.Struct, frozen=True):
    """What became of each line, in order."""

    results: list[restore.LineResult]
    project: str


async def describe_export(services: Services, caller: Caller, request: ExportProject) -> Header:
    project = await services.scopes.one(caller, request.workspace, request.project)
    return await export.read_header(services.database, project)


async def export_project(services: Services, caller: Caller, request: ExportProject) -> AsyncGenerator[bytes]:
    project = await services.scopes.one(caller, request.workspace, request.project)
    async with aclosing(export.export_project(services.database, project)) as pieces:
        async for piece in pieces:
            yield piece


async def import_lines(services: Services, caller: Caller, request: ImportLines) -> ImportedLines:
    project = await services.scopes.one(caller, request.workspace, request.project)
    if len(request.lines) > MOST_LINES:
        raise InvalidRequest(f"lines: at most {MOST_LINES} in one call, not {len(request.lines)}.", hint="Send several calls.")
    return ImportedLines(await restore.restore_lines(services.database, project, request.lines, services.redactor), project.project)


OPERATIONS = (
    Operation(
        name="export_project",
        scope="read",
        summary="Export a project whole, as JSON Lines",
        request=ExportProject,
        answer=Header,
        run=describe_export,
        routes=(Route("GET", "/workspaces/{workspace}/projects/{project}/export"),),
        audited=True,
        lines=export_project,
    ),
    Operation(
        name="import_lines",
        scope="admin",
        summary="Import lines of an export, with their authors, times and numbers",
        request=ImportLines,
        answer=ImportedLines,
        run=import_lines,
        routes=(Route("POST", "/workspaces/{workspace}/projects/{project}/import"),),
    ),
)
