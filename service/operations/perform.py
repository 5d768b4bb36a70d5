"""Carrying out an operation: the one way from every surface into the rooms.

In: who calls, an operation, its request. Out: its answer, or a `MunimentError`. Here the scope is checked, the call is held to its
longest time, counted, logged in one line, and written into the audit when it changes something; other replicas are told of what they
have to look up again. Only operations that read get to see what other workspaces let the caller read.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any, Final, Literal

import structlog

from service.access.keys import Caller
from service.db.scope import ProjectRef
from service.errors import InternalError, MunimentError, QueryTooSlow
from service.observe.metrics import count_call
from service.operations.bounds import run_bounded
from service.operations.operation import Operation, Services
from service.settings import Settings

Surface = Literal["rest", "mcp", "cli", "console"]
LONGEST_CALL_S: Final = 60.0

_LOG: Final = structlog.stdlib.get_logger("muniment.calls")
_SWITCHED: Final = {"query_memory_graph": "graph"}


def is_offered(settings: Settings, operation: Operation) -> bool:
    """Whether this server's settings leave the operation on."""
    return operation.name not in _SWITCHED or bool(getattr(settings, _SWITCHED[operation.name]))


async def admit(services: Services, caller: Caller, operation: Operation, *, surface: Surface = "rest") -> None:
    """Raises `Forbidden` without the operation's scope, before the call's arguments are read; noted as the call would be."""
    try:
        caller.require(operation.scope)
    except MunimentError as error:
        await _note(services, caller, operation, None, surface, error.code, time.perf_counter())
        raise


async def perform(services: Services, caller: Caller, operation: Operation, request: Any, *, surface: Surface = "rest") -> Any:
    """The operation's answer; raises `Forbidden` without its scope, and whatever error of ours it ends in."""
    started = time.perf_counter()
    outcome = "cancelled"
    project: ProjectRef | None = None
    caller = caller.acting(operation.scope)
    try:
        if operation.scope == "admin":  # it may delete the project that the audit is to name
            project = await _project(services, caller, request)
        answer = await _run(services, caller, operation, request)
        outcome = "ok"
        return answer
    except MunimentError as error:
        outcome = error.code
        raise
    finally:
        await _note(services, caller, operation, request, surface, outcome, started, project)


def perform_lines(services: Services, caller: Caller, operation: Operation, request: Any) -> AsyncGenerator[bytes] | None:
    """The pieces of an answer that is too large to be held, after `perform` let the call in; None for an operation without."""
    return operation.lines(services, caller.acting(operation.scope), request) if operation.lines else None


async def _note(
    services: Services,
    caller: Caller,
    operation: Operation,
    request: Any,
    surface: Surface,
    outcome: str,
    started: float,
    project: ProjectRef | None = None,
) -> None:
    """Counts the call, audits it when it changes something or is free SQL, and logs its one line."""
    seconds = time.perf_counter() - started
    count_call(operation.name, surface, outcome, seconds)
    if operation.scope != "read" or operation.audited:
        await _write_audit(services, caller, operation, request, outcome, project)
    _LOG.info(
        "call",
        operation=operation.name,
        surface=surface,
        outcome=outcome,
        ms=round(seconds * 1000, 1),
        key=caller.key_id,
        workspace=caller.workspace,
    )


async def _run(services: Services, caller: Caller, operation: Operation, request: Any) -> Any:
    caller.require(operation.scope)
    limit = asyncio.timeout(LONGEST_CALL_S)
    try:
        async with limit:
            return await run_bounded(services, caller, operation, request)
    except MunimentError:
        raise
    except Exception as error:
        if limit.expired():
            raise QueryTooSlow(f"The call took longer than {LONGEST_CALL_S:.0f} seconds.") from error
        _LOG.exception("unexpected error", operation=operation.name, key=caller.key_id)
        raise InternalError from error
    finally:
        if operation.scope == "admin" and any(route.method != "GET" for route in operation.routes):
            await services.changes.announce()  # also after an error: what was done is done


async def _write_audit(
    services: Services, caller: Caller, operation: Operation, request: Any, outcome: str, project: ProjectRef | None
) -> None:
    """What was done is done: an audit that cannot be written is an error in the log, not the call's.

    What was read of another workspace stands in the audit of both.
    """
    try:
        project = project or await _project(services, caller, request)
        number = project.project_id if project else None
        for workspace_id in {caller.workspace_id, project.workspace_id if project else caller.workspace_id}:
            await services.database.control("write_audit", caller.key_id, workspace_id, number, operation.name, outcome)
    except Exception:  # noqa: BLE001  (any failure at all)
        _LOG.exception("audit not written", operation=operation.name, outcome=outcome, key=caller.key_id, workspace=caller.workspace)


async def _project(services: Services, caller: Caller, request: Any) -> ProjectRef | None:
    """The project that the call named or fell back to; none for a call about no project, or one that it may not touch."""
    if not hasattr(request, "project"):
        return None
    try:
        return await services.scopes.one(caller, request.workspace, request.project)
    except MunimentError:
        return None
