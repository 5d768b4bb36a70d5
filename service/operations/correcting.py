"""The operation that corrects an event; the version that stood is kept."""

from typing import Annotated

import msgspec
from msgspec import Meta

from service.access.keys import Caller
from service.memory.correct import Correction, correct_event
from service.memory.names import EntityInput, TagInput
from service.operations.operation import Operation, Route, Services, Tool
from service.operations.writing import Project, Workspace


class UpdateMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What to correct; what is left out stays as it is."""

    id: Annotated[str, Meta(description="The event's id, such as evt_42.")]
    summary: Annotated[str | None, Meta(description="The new summary, at most 500 characters.")] = None
    content: Annotated[str | None, Meta(description="The new content, at most 50,000 characters; empty takes it away.")] = None
    timestamp: Annotated[str | None, Meta(description="When it happened: ISO-8601, without a zone UTC; empty takes it away.")] = None
    kind: Annotated[str | None, Meta(description="decision, observation, bug, fix, plan, note …")] = None
    entities: Annotated[
        list[EntityInput] | None, Meta(description="All names that take part, instead of those that stand; the text's own come to them.")
    ] = None
    tags: Annotated[list[TagInput] | None, Meta(description="All tags, instead of those that stand.")] = None
    workspace: Workspace = None
    project: Project = None


class UpdatedMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """`outcome` is updated or unchanged; entities and tags alone make no new version.

    `redacted` counts the secrets that were taken out before storing.
    """

    id: str
    version: int
    outcome: str
    project: str
    redacted: int = 0


async def update_memory(services: Services, caller: Caller, request: UpdateMemory) -> UpdatedMemory:
    project = await services.scopes.one(caller, request.workspace, request.project)
    correction = msgspec.convert(request, Correction, from_attributes=True)
    saved = await correct_event(services.database, project, request.id, correction, caller.key_id, services.redactor)
    return UpdatedMemory(saved.id, saved.version, saved.outcome, project.project, saved.redacted)


OPERATIONS = (
    Operation(
        name="update_memory",
        scope="write",
        summary="Correct an event",
        request=UpdateMemory,
        answer=UpdatedMemory,
        run=update_memory,
        routes=(Route("PATCH", "/workspaces/{workspace}/projects/{project}/events/{id}"),),
        tool=Tool(
            title="Correct a memory",
            description=(
                "Correct an event that says something wrong: only what you give is replaced, and the earlier version is kept. "
                "When something new happened, save a new event instead."
            ),
        ),
    ),
)
