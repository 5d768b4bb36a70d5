"""Operations that list: tags with how much they are used, and events in order of time."""

from typing import Annotated

import msgspec
from msgspec import Meta

from service.access.keys import Caller
from service.errors import InvalidRequest
from service.memory import tags, timeline
from service.operations.operation import Operation, Route, Services, Tool
from service.operations.window import read_window
from service.operations.writing import Project, Workspace

MOST = 200
Cursor = Annotated[str, Meta(description="`next_cursor` of the answer before, to go on.")]
Limit = Annotated[int, Meta(ge=1, description="How many at most, 1 to 200.")]


class ListTags(msgspec.Struct, frozen=True, kw_only=True):
    """Which tags to list."""

    name: Annotated[str, Meta(description="A piece of the path; case and width do not matter.")] = ""
    cursor: Cursor = ""
    limit: Limit = 50
    workspace: Workspace = None
    project: Project = None


class ListMemoryTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """Whose events; of the whole project when no entity, tag or session is named."""

    entity: Annotated[str | None, Meta(description="An entity, by its stored name or id.")] = None
    tag: Annotated[str | None, Meta(description="A tag, by its path, its last segment or its id.")] = None
    session: Annotated[str | None, Meta(description="A session, by its name or UUID.")] = None
    order: Annotated[timeline.Direction, Meta(description="Which come first.")] = "newest"
    since: Annotated[str | None, Meta(description="Only from this point in time on (ISO-8601).")] = None
    until: Annotated[str | None, Meta(description="Only up to this point in time, a date's whole day included (ISO-8601).")] = None
    cursor: Cursor = ""
    limit: Limit = 50
    workspace: Workspace = None
    project: Project = None


async def list_tags(services: Services, caller: Caller, request: ListTags) -> tags.TagList:
    project = await services.scopes.one(caller, request.workspace, request.project)
    return await tags.list_tags(services.database, project, request.name, request.cursor, min(request.limit, MOST))


async def list_memory_timeline(services: Services, caller: Caller, request: ListMemoryTimeline) -> timeline.Timeline:
    project = await services.scopes.one(caller, request.workspace, request.project)
    return await timeline.read_timeline(services.database, project, _wish(request))


def _wish(request: ListMemoryTimeline) -> timeline.TimelineWish:
    since, until = read_window(request.since, request.until)
    wish = timeline.TimelineWish(
        direction=request.order,
        since=since,
        until=until,
        cursor=request.cursor,
        limit=min(request.limit, MOST),
    )
    sources: tuple[tuple[timeline.Source, str | None], ...] = (
        ("entity", request.entity),
        ("tag", request.tag),
        ("session", request.session),
    )
    named = [(source, name) for source, name in sources if name is not None]
    if len(named) > 1:
        raise InvalidRequest(f"{', '.join(source for source, _ in named)}: one of them at a time.")
    for source, name in named:
        wish = msgspec.structs.replace(wish, source=source, name=name)
    return wish


OPERATIONS = (
    Operation(
        name="list_tags",
        scope="read",
        summary="List tags",
        request=ListTags,
        answer=tags.TagList,
        run=list_tags,
        lists=("tags",),
        less="give a smaller limit.",
        routes=(Route("GET", "/workspaces/{workspace}/projects/{project}/tags"),),
        tool=Tool(
            title="List tags",
            description="Stored tag paths, by a piece of the path, the most used first, with the exact number of events and pages of each.",
        ),
    ),
    Operation(
        name="list_memory_timeline",
        scope="read",
        summary="List events in order of time",
        request=ListMemoryTimeline,
        answer=timeline.Timeline,
        run=list_memory_timeline,
        lists=("events",),
        less="give a smaller limit.",
        routes=(Route("GET", "/workspaces/{workspace}/projects/{project}/timeline"),),
        tool=Tool(
            title="Timeline",
            description=(
                "The events of an entity, a tag, a session or the whole project in order of time, page by page: what happened last, "
                "what happened between two dates, how something went from the beginning."
            ),
        ),
    ),
)
