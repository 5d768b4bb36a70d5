"""Operations of administration: making projects."""

from typing import Annotated

import msgspec
from msgspec import Meta

from service.access.keys import Caller
from service.errors import Forbidden
from service.operations.operation import Operation, Route, Services
from service.operations.writing import Workspace
from service.tenants import projects


class CreateProject(msgspec.Struct, frozen=True, kw_only=True):
    """A new project."""

    slug: Annotated[str, Meta(description="1 to 63 lower-case letters, digits and hyphens.")]
    name: Annotated[str | None, Meta(description="A name for people.")] = None
    workspace: Workspace = None


class CreatedProject(msgspec.Struct, frozen=True):
    """`created` is false when the project stood already."""

    workspace: str
    project: str
    created: bool


async def create_project(services: Services, caller: Caller, request: CreateProject) -> CreatedProject:
    services.scopes.require_workspace(caller, request.workspace)
    if caller.projects is not None:
        raise Forbidden("This key is bound to some projects and cannot make others.")
    embedder = services.embedder
    space = (embedder.space.provider, embedder.space.model, embedder.space.dim) if embedder else None
    _, created = await projects.create_project(services.database, caller.workspace_id, request.slug, request.name, space)
    services.scopes.forget(caller.workspace_id)
    return CreatedProject(caller.workspace, request.slug, created)


OPERATIONS = (
    Operation(
        name="create_project",
        scope="admin",
        summary="Make a project",
        request=CreateProject,
        answer=CreatedProject,
        run=create_project,
        routes=(Route("POST", "/workspaces/{workspace}/projects", lambda answer: 201 if answer.created else 200),),
    ),
)
