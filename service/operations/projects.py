"""Operations of administration: making and renaming projects."""

from typing import Annotated

import msgspec
from msgspec import Meta

from service.access.granting import require_all_projects
from service.access.keys import Caller
from service.errors import InvalidRequest
from service.operations.operation import Operation, Route, Services
from service.operations.searching import wanted_space
from service.operations.writing import Workspace
from service.tenants import projects
from service.tenants.projects import check_name, check_slug


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


class RenameProject(msgspec.Struct, frozen=True, kw_only=True):
    """A project and its new name, or new slug."""

    project: Annotated[str, Meta(description="The project's slug.")]
    name: Annotated[str | None, Meta(description="A name for people.")] = None
    slug: Annotated[str | None, Meta(description="Another slug; calls that name the earlier one find nothing any more.")] = None
    workspace: Workspace = None


class RenamedProject(msgspec.Struct, frozen=True):
    """The slug under which the project is found from now on."""

    workspace: str
    project: str


async def create_project(services: Services, caller: Caller, request: CreateProject) -> CreatedProject:
    services.scopes.require_workspace(caller, request.workspace)
    require_all_projects(caller, "make others")
    found = await wanted_space(services, caller.workspace_id)
    space = (found.provider, found.model, found.dim) if found else None
    _, created = await projects.create_project(services.database, caller.workspace_id, request.slug, request.name, space)
    services.scopes.forget(caller.workspace_id)
    return CreatedProject(caller.workspace, request.slug, created)


async def rename_project(services: Services, caller: Caller, request: RenameProject) -> RenamedProject:
    services.scopes.forget(caller.workspace_id)  # not a project that had this slug a moment ago
    project = await services.scopes.one(caller, request.workspace, request.project)
    if request.name is None and request.slug is None:
        raise InvalidRequest("Nothing is to be renamed.", hint="Give name or slug.")
    if request.slug is not None:  # a key bound to some projects is not to learn which slugs others have
        require_all_projects(caller, "give projects other slugs")
        check_slug(request.slug, "slug")
    name = None if request.name is None else check_name(request.name) or project.project
    await projects.rename_project(services.database, project, request.slug, name)
    services.scopes.forget(caller.workspace_id)
    return RenamedProject(caller.workspace, request.slug or project.project)


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
    Operation(
        name="rename_project",
        scope="admin",
        summary="Give a project another name or slug",
        request=RenameProject,
        answer=RenamedProject,
        run=rename_project,
        routes=(Route("PATCH", "/workspaces/{workspace}/projects/{project}"),),
    ),
)
