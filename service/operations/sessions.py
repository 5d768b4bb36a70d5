"""Operations on sessions: an agent's runs, from beginning to end."""

from typing import Annotated

import msgspec
from msgspec import Meta

from service.access.keys import Caller
from service.memory import sessions
from service.operations.operation import Operation, Route, Services
from service.operations.writing import Project, Workspace


class StartSession(msgspec.Struct, frozen=True, kw_only=True):
    """A run that begins."""

    session: Annotated[str, Meta(description="Its name, or a UUID; at most 200 characters.")]
    agent: Annotated[str | None, Meta(description="Who runs.")] = None
    workspace: Workspace = None
    project: Project = None


class EndSession(msgspec.Struct, frozen=True, kw_only=True):
    """A run that ends."""

    session: Annotated[str, Meta(description="Its name or UUID.")]
    workspace: Workspace = None
    project: Project = None


class ListSessions(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs to list."""

    limit: Annotated[int, Meta(ge=1, description="How many at most, up to 200.")] = 50
    cursor: Annotated[str | None, Meta(description="`next_cursor` of the answer before, to go on.")] = None
    workspace: Workspace = None
    project: Project = None


class SessionList(msgspec.Struct, frozen=True):
    """Runs, the latest first; `next_cursor` is null on the last answer."""

    sessions: list[sessions.Session]
    next_cursor: str | None
    project: str


async def start_session(services: Services, caller: Caller, request: StartSession) -> sessions.Session:
    project = await services.scopes.one(caller, request.workspace, request.project)
    return await sessions.start_session(services.database, project, request.session, request.agent)


async def end_session(services: Services, caller: Caller, request: EndSession) -> sessions.EndedSession:
    project = await services.scopes.one(caller, request.workspace, request.project)
    return await sessions.end_session(services.database, project, request.session, caller.key_id)


async def list_sessions(services: Services, caller: Caller, request: ListSessions) -> SessionList:
    project = await services.scopes.one(caller, request.workspace, request.project)
    found, more = await sessions.list_sessions(services.database, project, request.cursor, min(request.limit, 200))
    return SessionList(found, more, project.name)


OPERATIONS = (
    Operation(
        name="start_session",
        scope="write",
        summary="Begin a session",
        request=StartSession,
        answer=sessions.Session,
        run=start_session,
        routes=(Route("POST", "/workspaces/{workspace}/projects/{project}/sessions"),),
    ),
    Operation(
        name="end_session",
        scope="write",
        summary="End a session; its page is written from its events",
        request=EndSession,
        answer=sessions.EndedSession,
        run=end_session,
        routes=(Route("POST", "/workspaces/{workspace}/projects/{project}/sessions:end"),),
    ),
    Operation(
        name="list_sessions",
        scope="read",
        summary="List sessions",
        request=ListSessions,
        answer=SessionList,
        run=list_sessions,
        lists=("sessions",),
        less="give a smaller limit.",
        routes=(Route("GET", "/workspaces/{workspace}/projects/{project}/sessions"),),
    ),
)
