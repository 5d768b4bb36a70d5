"""Operations that search: hybrid search, and the graph query."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from service.access.keys import Caller
from service.access.scope import ResolvedScope, ScopeNames
from service.db.scope import ProjectRef, SpaceRef
from service.embed.provider import Space
from service.embed.query import QueryEmbedder
from service.errors import NotFound
from service.graph.answer import GraphAnswer
from service.graph.describe import DESCRIPTION as GRAPH_DESCRIPTION
from service.graph.run import GraphLimits, run_query
from service.operations.operation import Operation, Route, Services, Tool
from service.operations.window import read_window
from service.operations.writing import Project, Workspace
from service.search.answer import SearchAnswer
from service.search.parse import SearchRequest, SearchSettings, read_moment
from service.search.run import memory_query as search
from service.settings import Settings

_NAMED: Final = 50  # of the projects that were not searched


class MemoryQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What to search for, and where."""

    query: Annotated[str, Meta(description='Words, names or a question. "Quoted phrases" must match, -word excludes.')]
    limit: Annotated[int, Meta(description="How many pages and how many events at most, 1 to 100.")] = 10
    explain: Annotated[bool, Meta(description="Say for each hit how each stream ranked it.")] = False
    rerank: Annotated[bool | None, Meta(description="Let the configured reranker judge the first hits.")] = None
    kinds: Annotated[
        list[str],
        Meta(description="Only events of these kinds, such as decision or fix. `page` stands for pages."),
    ] = []
    tags: Annotated[list[str], Meta(description="Only what carries one of these tags.")] = []
    since: Annotated[str | None, Meta(description="Only from this point in time on (ISO-8601).")] = None
    until: Annotated[str | None, Meta(description="Only up to this point in time, a date's whole day included (ISO-8601).")] = None
    as_of: Annotated[str | None, Meta(description="Only what was stored by then, pages in the version then current.")] = None
    scopes: Annotated[list[ScopeNames], Meta(description="Several projects, at most 25, instead of workspace and project.")] = []
    everywhere: Annotated[bool, Meta(description="Search every project that the key can read, those of other workspaces too.")] = (
        msgspec.field(default=False, name="global")
    )
    workspace: Workspace = None
    project: Project = None


class QueryMemoryGraph(msgspec.Struct, frozen=True, kw_only=True):
    """A query of the graph language, with its parameters."""

    query: Annotated[str, Meta(description="START a = events(...) [MATCH ... [WHERE ...]] RETURN ... [ORDER BY ...] [LIMIT n]")]
    params: Annotated[
        dict[str, Any], Meta(description="Values of the query's $parameters: text, numbers, booleans, flat lists of them.")
    ] = {}
    workspace: Workspace = None
    project: Project = None


async def memory_query(services: Services, caller: Caller, request: MemoryQuery) -> SearchAnswer:
    scope = await services.scopes.many(caller, request.workspace, request.project, request.scopes, request.everywhere)
    since, until = read_window(request.since, request.until)
    wish = SearchRequest(
        query=request.query,
        limit=request.limit,
        explain=request.explain,
        rerank=request.rerank,
        kinds=request.kinds or None,
        tags=request.tags or None,
        since=since,
        until=until,
        as_of=read_moment("as_of", request.as_of) if request.as_of else None,
    )
    settings = search_settings(services.settings)
    named = bool(request.project or request.scopes)
    async with fitting_embedders(services, scope.projects) as embedders:
        answer = await search(
            services.database, scope.projects, wish, embedders=embedders, settings=settings, reranker=services.reranker, named=named
        )
    covered = msgspec.structs.replace(answer.scope, workspace=scope.workspace, resolved_by=scope.resolved_by)
    return msgspec.structs.replace(answer, scope=covered, notes=[*answer.notes, *_scope_notes(scope)])


def search_settings(settings: Settings) -> SearchSettings:
    """How searches on this server are cut, weighed and fused."""
    return SearchSettings(
        k=settings.search_k,
        fts_weight=settings.search_fts_weight,
        entity_weight=settings.search_entity_weight,
        graph_weight=settings.search_graph_weight,
        vector_weight=settings.search_vector_weight,
        vector_lead=settings.search_vector_lead,
        beside=settings.search_beside,
        deadline_ms=settings.search_deadline_ms,
        statement_ms=settings.search_statement_ms,
        exact_vectors=settings.exact_candidates,
        embed_ms=settings.embedding_timeout_ms,
        rerank_ms=settings.rerank_deadline_ms,
    )


def _scope_notes(scope: ResolvedScope) -> list[str]:
    """What a search without a named project says of those that it did not cover."""
    if not scope.projects:
        return ["There is no project that this key can read."]
    if not scope.left_out:
        return []
    names = ", ".join(ref.name for ref in scope.left_out[:_NAMED])
    more = f" and {len(scope.left_out) - _NAMED} more" if len(scope.left_out) > _NAMED else ""
    return [f"Searched were the {len(scope.projects)} projects that were written last; not searched: {names}{more}. Name some in scopes."]


async def query_memory_graph(services: Services, caller: Caller, request: QueryMemoryGraph) -> GraphAnswer:
    settings = services.settings
    if not settings.graph:
        raise NotFound("Graph queries are off on this server.", hint="memory_query and find_memory_connections answer without them.")
    project = await services.scopes.one(caller, request.workspace, request.project)
    async with fitting_embedders(services, [project]) as (embed,):
        limits = graph_limits(settings, project)
        return await run_query(services.database, project, request.query, request.params, embed=embed, limits=limits)


def graph_limits(settings: Settings, project: ProjectRef) -> GraphLimits:
    """What one graph query of a project may take, and which forms it may have."""
    return GraphLimits(
        deadline_ms=settings.graph_deadline_ms,
        statement_ms=settings.graph_statement_ms,
        row_budget=settings.graph_row_budget,
        exact_candidates=settings.exact_candidates,
        scoped_match=has_scoped_match(settings, project),
    )


def has_scoped_match(settings: Settings, project: ProjectRef) -> bool:
    """Whether this server, and the project's workspace on it, have all of the graph language."""
    return settings.scoped_match and project.workspace not in settings.scoped_match_off_in


@asynccontextmanager
async def fitting_embedders(services: Services, projects: Sequence[ProjectRef]) -> AsyncGenerator[list[QueryEmbedder | None]]:
    """For each project the embedder of the space that it is in while the call lasts, the same one wherever workspace and space are the
    same: projects that move to another model are searched with the earlier one until they have moved."""
    if services.embedder is None and services.own_embedders is None:
        yield [None] * len(projects)
        return
    async with services.database.pin_spaces(projects) as spaces:
        wanted = [(project.workspace_id, space.id if space else None) for project, space in zip(projects, spaces, strict=True)]
        found = {key: await _fitting(services, key[0], space) for key, space in dict(zip(wanted, spaces, strict=True)).items()}
        yield [found[key] for key in wanted]


async def _fitting(services: Services, workspace_id: int, space: SpaceRef | None) -> QueryEmbedder | None:
    if services.own_embedders is not None:
        return await services.own_embedders.fitting(workspace_id, space, services.embedder)
    return await services.embedder.fitting(space) if services.embedder else None


async def wanted_space(services: Services, workspace_id: int) -> Space | None:
    """The space that a workspace's projects are to be in; None where it has no vectors."""
    if services.own_embedders is not None:
        return await services.own_embedders.space_of(workspace_id, services.embedder)
    return services.embedder.space if services.embedder else None


OPERATIONS = (
    Operation(
        name="memory_query",
        scope="read",
        summary="Search pages and events",
        request=MemoryQuery,
        answer=SearchAnswer,
        run=memory_query,
        lists=("raw_hits", "hits"),
        less="give a smaller limit, or leave out explain.",
        routes=(Route("POST", "/search"), Route("GET", "/search")),
        aliases={"q": "query", "search": "query", "n": "limit", "top_k": "limit"},
        tool=Tool(
            title="Search memory",
            description=(
                "Hybrid search over the memory: full text, names, links and meaning in one ranking. `hits` are pages (curated), `raw_hits` "
                "are events (what happened). Ask in words or in a whole question; open a hit with read_page or get_memory_content."
            ),
        ),
    ),
    Operation(
        name="query_memory_graph",
        scope="read",
        summary="Query the graph of events, entities and tags",
        request=QueryMemoryGraph,
        answer=GraphAnswer,
        run=query_memory_graph,
        lists=("rows",),
        less="give a smaller LIMIT, or return ids and summaries.",
        routes=(Route("POST", "/graph"),),
        tool=Tool(title="Query the memory graph", description=GRAPH_DESCRIPTION),
    ),
)
