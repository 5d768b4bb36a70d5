"""Operations that delete for good: what a person, a session or a name left behind, and whole projects. Each gives a receipt."""

from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from service.access.keys import PERSON, Caller
from service.errors import InvalidRequest
from service.memory.forget import Forgetting, Receipt
from service.operations.operation import Operation, Route, Services
from service.operations.writing import Project, Workspace
from service.tenants import projects

MOST_IDS: Final = 10_000


class Forget(msgspec.Struct, frozen=True, kw_only=True):
    """What to forget: exactly one of these."""

    ids: Annotated[list[str] | None, Meta(description="Ids of events, such as evt_42; at most 10,000.")] = None
    path: Annotated[str | None, Meta(description="The path of a page; all its versions go.")] = None
    session: Annotated[str | None, Meta(description="The name or UUID of a session: its events, its page and itself.")] = None
    entity: Annotated[str | None, Meta(description="The id of an entity, such as ent_7; the events that name it stay.")] = None
    author: Annotated[
        str | None,
        Meta(description="All that one author wrote: the subject of a person's tokens, alone or as oidc:SUBJECT, or the id of a key."),
    ] = None
    workspace: Workspace = None
    project: Project = None


class DeleteProject(msgspec.Struct, frozen=True, kw_only=True):
    """A project to delete with all it holds."""

    project: Annotated[str, Meta(description="The project's slug.")]
    workspace: Workspace = None


async def forget(services: Services, caller: Caller, request: Forget) -> Receipt:
    project = await services.scopes.one(caller, request.workspace, request.project)
    run = Forgetting(services.database, project)
    match (request.ids, request.path, request.session, request.entity, request.author):
        case (list(ids), None, None, None, None) if 0 < len(ids) <= MOST_IDS:
            return await run.events(ids)
        case (None, str(path), None, None, None):
            return await run.page(path)
        case (None, None, str(session), None, None):
            return await run.session(session)
        case (None, None, None, str(entity), None):
            return await run.entity(entity)
        case (None, None, None, None, str(author)):
            forms = [author] if author.startswith(PERSON) else [author, f"{PERSON}{author}"]
            return await run.author(*forms, hinted="read" in caller.scopes)
        case _:
            raise InvalidRequest(
                "Give exactly one of ids, path, session, entity and author.", hint=f"`ids` takes 1 to {MOST_IDS:,} events."
            )


async def delete_project(services: Services, caller: Caller, request: DeleteProject) -> Receipt:
    services.scopes.forget(caller.workspace_id)  # not a project that had this slug a moment ago
    project = await services.scopes.one(caller, request.workspace, request.project)
    counts = await projects.delete_project(services.database, project)
    services.scopes.forget(caller.workspace_id)
    return Receipt("project", {kind: count for kind, count in counts.items() if count}, datetime.now(UTC), True, project.project)


OPERATIONS = (
    Operation(
        name="forget",
        scope="write",
        summary="Forget events, a page, a session, an entity, or all that one author wrote",
        request=Forget,
        answer=Receipt,
        run=forget,
        routes=(Route("POST", "/workspaces/{workspace}/projects/{project}/forget"),),
    ),
    Operation(
        name="delete_project",
        scope="admin",
        summary="Delete a project with all it holds",
        request=DeleteProject,
        answer=Receipt,
        run=delete_project,
        routes=(Route("DELETE", "/workspaces/{workspace}/projects/{project}"),),
    ),
)
