"""Operations that read: events and pages whole, names, what a project holds, what the key can read."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from service.access.keys import Caller
from service.db.scope import ProjectRef
from service.errors import InvalidRequest
from service.memory import events, lookup, pages
from service.memory.cursors import seal, unseal
from service.memory.export_format import Version
from service.operations.bounds import NOTE_ROOM, fitting, size_of
from service.operations.embedding_source import EmbeddingSource, read_source
from service.operations.operation import Operation, Route, Services, Tool
from service.operations.pieces import piece_of
from service.operations.writing import Project, Workspace
from service.tenants.governing import read_usage

Limit = Annotated[int, Meta(ge=1, description="How many at most.")]


class GetMemoryContent(msgspec.Struct, frozen=True, kw_only=True):
    """Events to read whole."""

    ids: Annotated[list[str], Meta(description="Ids such as evt_42, at most 100.")]
    workspace: Workspace = None
    project: Project = None


class MemoryContent(msgspec.Struct, frozen=True):
    """The events in the order asked for; `missing` are the ids under which there is none, `next_ids` those that had no room: ask for them
    next. `truncated`: not all had room, as `notes` say."""

    events: list[events.EventContent]
    missing: list[str]
    project: str
    next_ids: list[str] = []
    truncated: bool = False
    notes: list[str] = []


class ReadPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page to read."""

    path: Annotated[str, Meta(description="The page's path.")]
    version: Annotated[Version | None, Meta(description="An earlier version, counted from 1; the current one when left out.")] = None
    start: Annotated[int, Meta(ge=0, description="For a body that comes in pieces: begin at this character.")] = 0
    workspace: Workspace = None
    project: Project = None


class ListPages(msgspec.Struct, frozen=True, kw_only=True):
    """Which pages to list."""

    prefix: Annotated[str, Meta(description="Only paths that begin with this.")] = ""
    cursor: Annotated[str, Meta(description="`next_cursor` of the answer before, to go on.")] = ""
    limit: Limit = 50
    workspace: Workspace = None
    project: Project = None


class PageList(msgspec.Struct, frozen=True):
    """Pages by path; `next_cursor` is null on the last answer."""

    pages: list[pages.PageEntry]
    next_cursor: str | None
    project: str


class FindMemoriesByEntity(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a name."""

    name: Annotated[str, Meta(description="A piece of the name; case and width do not matter.")]
    limit: Annotated[int, Meta(ge=1, description="How many names at most, 1 to 50.")] = 10
    events_per_entity: Annotated[int, Meta(ge=0, description="How many of each name's newest events, 0 to 50.")] = 5
    workspace: Workspace = None
    project: Project = None


class MemoryStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Which project's state to tell."""

    workspace: Workspace = None
    project: Project = None


class ListProjects(msgspec.Struct, frozen=True, kw_only=True):
    """Which workspace's projects to list; without one, all that the key can read."""

    cursor: Annotated[str, Meta(description="`next_cursor` of the answer before, to go on.")] = ""
    limit: Annotated[int, Meta(ge=1, description="How many at most, 1 to 1000.")] = 1000
    workspace: Annotated[str | None, Meta(description="Only those of this workspace; all that the key can read when left out.")] = None


class ProjectEntry(msgspec.Struct, frozen=True):
    """A project that the key can read, one of another workspace as `workspace/project`; `name` is for people."""

    workspace: str
    project: str
    default: bool
    name: str


class ProjectList(msgspec.Struct, frozen=True):
    """What the key can read, the oldest first; `next_cursor` is null on the last answer."""

    projects: list[ProjectEntry]
    next_cursor: str | None


class QuotaState(msgspec.Struct, frozen=True):
    """How much of something the workspace may keep, and keeps: `used` is null for a key that is bound to some projects."""

    kind: str
    limit: int
    used: int | None


class Status(msgspec.Struct, frozen=True):
    """What a project holds, and how far its vectors are; `embedding` counts events and passages, `quota` tells what is limited.
    `scopes` are what the key may do there: in another workspace's project `read` alone. `source` is the provider that is set now; where
    its vectors are not those of `embedding`, or it does not answer, `notes` say so.
    """

    workspace: str
    project: str
    resolved_by: str
    counts: dict[str, int]
    embedding: lookup.Embedding
    newest_event: datetime | None
    scopes: list[str]
    source: EmbeddingSource
    quota: list[QuotaState] = []
    notes: list[str] = []


async def get_memory_content(services: Services, caller: Caller, request: GetMemoryContent) -> MemoryContent:
    project = await services.scopes.one(caller, request.workspace, request.project)
    if len(request.ids) > events.MOST_IDS:
        raise InvalidRequest(f"ids: at most {events.MOST_IDS}, not {len(request.ids)}.")
    found, missing = await events.read_events(services.database, project, request.ids)
    most = services.settings.answer_max_bytes
    kept = fitting(found, most - NOTE_ROOM - 2 * size_of(request.ids))
    if kept in (0, len(found)):
        return MemoryContent(found, missing, project.name)
    note = f"events cut to the first {kept} of {len(found)}, since answers have at most {most} bytes; go on with next_ids."
    return MemoryContent(found[:kept], missing, project.name, [event.id for event in found[kept:]], truncated=True, notes=[note])


async def read_page(services: Services, caller: Caller, request: ReadPage) -> pages.Page:
    project = await services.scopes.one(caller, request.workspace, request.project)
    page = await pages.read_page(services.database, project, request.path, request.version)
    return piece_of(page, request.start, services.settings.answer_max_bytes)


async def list_pages(services: Services, caller: Caller, request: ListPages) -> PageList:
    project = await services.scopes.one(caller, request.workspace, request.project)
    limit = min(request.limit, 200)
    found = await pages.list_pages(services.database, project, request.prefix, unseal(request.cursor), limit + 1)
    return PageList(found[:limit], seal(found[limit - 1].path) if len(found) > limit else None, project.name)


async def find_memories_by_entity(services: Services, caller: Caller, request: FindMemoriesByEntity) -> lookup.EntityMatches:
    project = await services.scopes.one(caller, request.workspace, request.project)
    return await lookup.find_entities(services.database, project, request.name, min(request.limit, 50), min(request.events_per_entity, 50))


async def memory_status(services: Services, caller: Caller, request: MemoryStatus) -> Status:
    project = await services.scopes.one(caller, request.workspace, request.project)
    found = await lookup.read_status(services.database, project)
    source, notes = await read_source(services, project, found.embedding, found.counts["passages"])
    return Status(
        workspace=project.workspace,
        project=project.name,
        resolved_by="named" if request.project else "key_default",
        counts=found.counts,
        embedding=found.embedding,
        newest_event=found.newest_event,
        scopes=["read"] if project.granted else sorted(caller.scopes),
        source=source,
        quota=[] if project.granted else await _quota(services, caller),
        notes=notes,
    )


async def _quota(services: Services, caller: Caller) -> list[QuotaState]:
    used = await read_usage(services.database, caller.workspace_id)
    shown = caller.projects is None
    return [QuotaState(kind, each.limit, each.used if shown else None) for kind, each in used.items() if each.limit is not None]


async def list_projects(services: Services, caller: Caller, request: ListProjects) -> ProjectList:
    after, limit = unseal(request.cursor), min(request.limit, 1000)
    readable = await services.scopes.readable(caller, request.workspace)
    found = sorted((ref for ref in readable if _place(ref) > after), key=_place)
    names: dict[int, str] = {}
    for number in {ref.workspace_id for ref in found[:limit]}:
        names |= {row["id"]: row["name"] for row in await services.database.control("find_projects", number)}
    return ProjectList(
        [
            ProjectEntry(ref.workspace, ref.name, ref.project_id == caller.default_project, names.get(ref.project_id, ref.project))
            for ref in found[:limit]
        ],
        seal(_place(found[limit - 1])) if len(found) > limit else None,
    )


def _place(project: ProjectRef) -> str:
    """Where a project stands in the list."""
    return f"{project.project_id:020}"


OPERATIONS = (
    Operation(
        name="get_memory_content",
        scope="read",
        summary="Read events whole",
        request=GetMemoryContent,
        answer=MemoryContent,
        run=get_memory_content,
        lists=("events",),
        less="ask for the others in another call.",
        routes=(Route("GET", "/workspaces/{workspace}/projects/{project}/events"),),
        tool=Tool(
            title="Read memories",
            description="Events whole, by id, with entities, tags and threads. What has no room is named in next_ids: ask for those next.",
        ),
    ),
    Operation(
        name="read_page",
        scope="read",
        summary="Read a page",
        request=ReadPage,
        answer=pages.Page,
        run=read_page,
        lists=("backlinks", "links"),
        less="query_memories_with_sql lists the links of a page.",
        routes=(Route("GET", "/workspaces/{workspace}/projects/{project}/pages/{path*}"),),
        tool=Tool(
            title="Read a page",
            description="A page by its path, with its version, names and links. A long body comes in pieces: go on with start=next_start "
            "until there is none; `length` is the whole body's.",
        ),
    ),
    Operation(
        name="list_pages",
        scope="read",
        summary="List pages",
        request=ListPages,
        answer=PageList,
        run=list_pages,
        lists=("pages",),
        less="give a smaller limit.",
        routes=(Route("GET", "/workspaces/{workspace}/projects/{project}/pages"),),
        tool=Tool(title="List pages", description="Paths and titles of pages, by the beginning of the path."),
    ),
    Operation(
        name="find_memories_by_entity",
        scope="read",
        summary="Find names and their events",
        request=FindMemoriesByEntity,
        answer=lookup.EntityMatches,
        run=find_memories_by_entity,
        lists=("entities",),
        less="ask for fewer events_per_entity.",
        routes=(Route("GET", "/workspaces/{workspace}/projects/{project}/entities"),),
        tool=Tool(
            title="Find memories by name",
            description=(
                "Stored spellings of names that contain a piece of text (case and width do not matter), with the exact number of events of "
                "each and the newest of them. Use it before a graph query, whose names match exactly."
            ),
        ),
    ),
    Operation(
        name="memory_status",
        scope="read",
        summary="What a project holds",
        request=MemoryStatus,
        answer=Status,
        run=memory_status,
        routes=(Route("GET", "/workspaces/{workspace}/projects/{project}/status"),),
        tool=Tool(title="Memory status", description="Counts, how far the vectors are, and which project a call without one would touch."),
    ),
    Operation(
        name="list_projects",
        scope="read",
        summary="List projects",
        request=ListProjects,
        answer=ProjectList,
        run=list_projects,
        lists=("projects",),
        less="give a smaller limit.",
        routes=(Route("GET", "/workspaces/{workspace}/projects"), Route("GET", "/projects")),
        tool=Tool(title="List projects", description="The projects that this key can read, also those of other workspaces."),
    ),
)
