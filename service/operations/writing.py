"""Operations that write: events one by one and in batches, pages, and deleting both."""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from service.access.keys import Caller
from service.errors import InvalidRequest, MunimentError
from service.memory import events, pages
from service.memory.event_rows import EventInput
from service.memory.names import EntityInput, TagInput
from service.operations.operation import Operation, Route, Services, Tool

MOST_EVENTS = 1000

Workspace = Annotated[str | None, Meta(description="The workspace's slug; the key's own when left out.")]
Project = Annotated[
    str | None, Meta(description="The project's slug, or `workspace/project` as answers have it; the key's default project when left out.")
]
Version = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class SaveMemory(msgspec.Struct, frozen=True, kw_only=True):
    """One memory."""

    summary: Annotated[str, Meta(description="What happened, in one informative sentence of at most 500 characters.")]
    content: Annotated[str | None, Meta(description="The full text, however long; it is never cut.")] = None
    entities: Annotated[
        list[EntityInput],
        Meta(description="Names that take part: people, components, files. Use the stored spelling (find_memories_by_entity shows it)."),
    ] = []
    tags: Annotated[list[TagInput], Meta(description="Tags as paths such as area/auth; kind is contains or refers.")] = []
    previous: Annotated[str | None, Meta(description="Id of the event that this one follows in its thread.")] = None
    resolves: Annotated[list[str], Meta(description="Ids of plans that this event realized.")] = []
    timestamp: Annotated[
        str | int | float | None,
        Meta(description="When it happened: ISO-8601, without a zone UTC, or epoch seconds or milliseconds; now when left out."),
    ] = None
    session: Annotated[str | None, Meta(description="Name or UUID of the run that this belongs to.")] = None
    kind: Annotated[str | None, Meta(description="decision, observation, bug, fix, plan, note …; note when left out.")] = None
    ingest_key: Annotated[str | None, Meta(description="A key of yours: saving twice under one key stores once.")] = None
    workspace: Workspace = None
    project: Project = None


class SavedMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a memory was stored; `known`: its ingest_key was seen before, and this is the earlier event.

    `redacted` counts the secrets that were taken out before storing.
    """

    id: str
    order_index: int
    chunks: list[str]
    known: bool
    project: str
    redacted: int = 0


class SaveEvents(msgspec.Struct, frozen=True, kw_only=True):
    """Many memories at once; one that cannot be stored fails alone."""

    events: Annotated[list[Any], Meta(description="Memories as in save_memory; `entities` and `tags` may hold plain strings.")]
    workspace: Workspace = None
    project: Project = None


class BatchLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of one event of a batch: its id, or the error that kept it out."""

    id: str | None = None
    order_index: int | None = None
    chunks: list[str] = []
    known: bool = False
    redacted: int = 0
    error: str | None = None
    code: str | None = None
    hint: str | None = None


class SavedEvents(msgspec.Struct, frozen=True):
    """Results in the order of the events."""

    results: list[BatchLine]
    project: str


class WritePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page's new text; what else is left out stays as it is."""

    path: Annotated[str, Meta(description="The page's path, such as decisions/storage.md.")]
    body: Annotated[
        str,
        Meta(
            description="The whole page in Markdown; [[wiki links]] and Markdown links lead to other pages. Front matter in it is text: "
            "give title, tags and aliases as arguments."
        ),
    ]
    title: Annotated[
        str | None, Meta(description="Its title. Left out: the one that stands, of a new page the first heading; empty: the first heading.")
    ] = None
    expected_version: Annotated[
        Version | None, Meta(description="The version you read, so that nobody's edit is lost; 0: the page must not stand yet.")
    ] = None
    tags: Annotated[
        list[TagInput] | None, Meta(description="All its tags, as paths such as area/auth; left out they stay, an empty list clears.")
    ] = None
    entities: Annotated[
        list[EntityInput] | None,
        Meta(description="All names that it is about, besides those told from its text; left out they stay, an empty list clears."),
    ] = None
    aliases: Annotated[
        list[str] | None,
        Meta(description="All further names under which wiki links find it; left out they stay, an empty list clears."),
    ] = None
    workspace: Workspace = None
    project: Project = None


class WrittenPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """`outcome` is created, updated, or unchanged (the same text makes no version).

    `redacted` counts the secrets that were taken out before storing. `replaced_author` wrote the version that was replaced, where that is
    somebody else; it stays readable.
    """

    page_id: str
    path: str
    version: int
    outcome: str
    project: str
    redacted: int = 0
    replaced_author: str | None = None


class DeletePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page to delete with all its versions."""

    path: Annotated[str, Meta(description="The page's path.")]
    expected_version: Annotated[Version | None, Meta(description="Delete only if this is its version.")] = None
    workspace: Workspace = None
    project: Project = None


class ForgetMemory(msgspec.Struct, frozen=True, kw_only=True):
    """An event to delete."""

    id: Annotated[str, Meta(description="The event's id, such as evt_42.")]
    workspace: Workspace = None
    project: Project = None


class Deleted(msgspec.Struct, frozen=True):
    """The ids that are gone."""

    deleted: list[str]
    project: str


async def save_memory(services: Services, caller: Caller, request: SaveMemory) -> SavedMemory:
    project = await services.scopes.one(caller, request.workspace, request.project)
    event = msgspec.convert(request, EventInput, from_attributes=True)
    if event.timestamp is None:
        event = msgspec.structs.replace(event, timestamp=datetime.now(UTC).isoformat())
    saved = await events.save_event(services.database, project, event, caller.key_id, services.redactor)
    return SavedMemory(saved.id, saved.order_index, saved.chunks, saved.known, project.project, saved.redacted)


async def save_events(services: Services, caller: Caller, request: SaveEvents) -> SavedEvents:
    project = await services.scopes.one(caller, request.workspace, request.project)
    if len(request.events) > MOST_EVENTS:
        raise InvalidRequest(f"events: at most {MOST_EVENTS} in one batch, not {len(request.events)}.", hint="Send several batches.")
    inputs = [_read_event(each) for each in request.events]
    results = await events.save_events(services.database, project, inputs, caller.key_id, services.redactor)
    return SavedEvents([_line(result) for result in results], project.project)


async def write_page(services: Services, caller: Caller, request: WritePage) -> WrittenPage:
    project = await services.scopes.one(caller, request.workspace, request.project)
    page = msgspec.convert(request, pages.PageInput, from_attributes=True)
    saved = await pages.write_page(services.database, project, page, caller.key_id, services.redactor)
    return WrittenPage(saved.page_id, saved.path, saved.version, saved.outcome, project.project, saved.redacted, saved.replaced_author)


async def delete_page(services: Services, caller: Caller, request: DeletePage) -> Deleted:
    project = await services.scopes.one(caller, request.workspace, request.project)
    gone = await pages.delete_page(services.database, project, request.path, request.expected_version)
    return Deleted([gone], project.project)


async def forget_memory(services: Services, caller: Caller, request: ForgetMemory) -> Deleted:
    project = await services.scopes.one(caller, request.workspace, request.project)
    return Deleted(await events.delete_event(services.database, project, request.id), project.project)


def _read_event(raw: Any) -> EventInput | MunimentError:
    """One line of a batch; what cannot be read becomes the error in its place."""
    try:
        return msgspec.convert(raw, EventInput)
    except msgspec.ValidationError as error:
        return InvalidRequest(f"{error}.", hint="Each event is {summary, content?, timestamp?, session?, kind?, entities?, tags?, …}.")


def _line(result: events.SavedEvent | MunimentError) -> BatchLine:
    if isinstance(result, MunimentError):
        return BatchLine(error=result.message, code=result.code, hint=result.hint)
    return BatchLine(id=result.id, order_index=result.order_index, chunks=result.chunks, known=result.known, redacted=result.redacted)


def _batch_status(answer: SavedEvents) -> int:
    return 207 if any(line.error is not None for line in answer.results) else 200


OPERATIONS = (
    Operation(
        name="save_memory",
        scope="write",
        summary="Save one memory",
        request=SaveMemory,
        answer=SavedMemory,
        run=save_memory,
        routes=(Route("POST", "/workspaces/{workspace}/projects/{project}/events"),),
        tool=Tool(
            title="Save a memory",
            description=(
                "Save one event: a decision, a finding, a fix, a plan. Write a summary that makes sense on its own, put the details into "
                "content, and name who and what takes part as entities. Link it: `previous` to go on with a thread, `resolves` when it "
                "realizes an earlier plan. Returns the event's id."
            ),
            idempotent=False,
        ),
    ),
    Operation(
        name="save_events",
        scope="write",
        summary="Save many memories at once",
        request=SaveEvents,
        answer=SavedEvents,
        run=save_events,
        routes=(Route("POST", "/workspaces/{workspace}/projects/{project}/events:batch", _batch_status),),
    ),
    Operation(
        name="write_page",
        scope="write",
        summary="Write a page",
        request=WritePage,
        answer=WrittenPage,
        run=write_page,
        routes=(Route("PUT", "/workspaces/{workspace}/projects/{project}/pages/{path*}"),),
        tool=Tool(
            title="Write a page",
            description=(
                "Write a Markdown page: curated knowledge such as a decision or a runbook. The whole body replaces the page's; title, "
                "tags, entities and aliases that are left out stay, and earlier versions are kept, the newest 1,000. Read it first and "
                "give its version as expected_version, so that nobody's edit is lost."
            ),
        ),
    ),
    Operation(
        name="delete_page",
        scope="write",
        summary="Delete a page with all its versions",
        request=DeletePage,
        answer=Deleted,
        run=delete_page,
        routes=(Route("DELETE", "/workspaces/{workspace}/projects/{project}/pages/{path*}"),),
        tool=Tool(title="Delete a page", description="Delete a page with all its versions. It cannot be undone.", destructive=True),
    ),
    Operation(
        name="forget_memory",
        scope="write",
        summary="Delete an event",
        request=ForgetMemory,
        answer=Deleted,
        run=forget_memory,
        routes=(Route("DELETE", "/workspaces/{workspace}/projects/{project}/events/{id}"),),
        tool=Tool(
            title="Forget a memory",
            description="Delete an event by id, from every index at once. It cannot be undone.",
            destructive=True,
        ),
    ),
)
