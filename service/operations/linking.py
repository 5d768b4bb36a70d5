"""The operation that links memories: plans and what realized them, threads, names that mean one thing."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from service.access.keys import Caller
from service.errors import InvalidRequest
from service.memory import linking
from service.operations.operation import Operation, Route, Services, Tool
from service.operations.writing import Project, Workspace

Relation = Literal["RESOLVED_BY", "NEXT", "SAME_AS"]


class LinkMemories(msgspec.Struct, frozen=True, kw_only=True):
    """A link to make or to take back."""

    relation: Annotated[
        Relation,
        Meta(description="RESOLVED_BY: a plan and the event that realized it. NEXT: an event and the one after it. SAME_AS: two entities."),
    ]
    start: Annotated[str, Meta(description="From which event, by id; for SAME_AS an entity, by name or id.")] = msgspec.field(name="from")
    end: Annotated[str, Meta(description="To which event, by id; for SAME_AS an entity, by name or id.")] = msgspec.field(name="to")
    source: Annotated[linking.Source | None, Meta(description="For NEXT, what the order comes from; thread when left out.")] = None
    confidence: Annotated[float | None, Meta(description="For SAME_AS, from 0 to 1; 1 when left out.")] = None
    revoke: Annotated[bool, Meta(description="Take the link back.")] = False
    workspace: Workspace = None
    project: Project = None


class MemoryLink(msgspec.Struct, frozen=True):
    """The link by the ids of its ends. `outcome` is created, changed (another confidence), revived, revoked or unchanged."""

    relation: Relation
    start: str = msgspec.field(name="from")
    end: str = msgspec.field(name="to")
    outcome: linking.LinkOutcome
    project: str


async def link_memories(services: Services, caller: Caller, request: LinkMemories) -> MemoryLink:
    project = await services.scopes.one(caller, request.workspace, request.project)
    _check(request)
    ends = (services.database, project, request.start, request.end)
    if request.relation == "NEXT":
        linked = await linking.link_next(*ends, request.source or "thread", revoke=request.revoke)
    elif request.relation == "RESOLVED_BY":
        linked = await linking.link_resolution(*ends, caller.key_id, revoke=request.revoke)
    else:
        confidence = 1.0 if request.confidence is None else request.confidence
        linked = await linking.link_alias(*ends, confidence, caller.key_id, revoke=request.revoke)
    return MemoryLink(request.relation, linked.start, linked.end, linked.outcome, project.project)


def _check(request: LinkMemories) -> None:
    """An argument that another relation takes is a mistake, not to be passed over."""
    if request.source is not None and request.relation != "NEXT":
        raise InvalidRequest(f"source: only NEXT has one, {request.relation} has none.")
    if request.confidence is not None and (request.relation != "SAME_AS" or request.revoke):
        raise InvalidRequest("confidence: only for a SAME_AS that is asserted.")


OPERATIONS = (
    Operation(
        name="link_memories",
        scope="write",
        summary="Link memories, or take a link back",
        request=LinkMemories,
        answer=MemoryLink,
        run=link_memories,
        routes=(Route("POST", "/workspaces/{workspace}/projects/{project}/links"),),
        tool=Tool(
            title="Link memories",
            description=(
                "Say that a plan was realized (RESOLVED_BY, from the plan to the evidence), that one event follows another (NEXT), or that "
                "two names mean one thing (SAME_AS). `revoke: true` takes a link back. Saying it twice changes nothing."
            ),
        ),
    ),
)
