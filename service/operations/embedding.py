"""Operations on vectors: what a workspace sets for its own, making a project's anew, and how far that is.

The provider's key goes in and never comes out: it is kept encrypted, and an answer says only whether there is one.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from service.access.granting import require_all_projects
from service.access.keys import Caller
from service.embed.own import OwnSettings, check_host, read_settings
from service.embed.progress import Progress, ask_again, read_progress
from service.embed.provider import ProviderOptions
from service.embed.sealed import Seal
from service.embed.trial import try_out
from service.errors import InvalidRequest
from service.operations.operation import Operation, Route, Services
from service.operations.searching import wanted_space
from service.operations.writing import Project, Workspace
from service.remote import Secret

Short = Annotated[str, Meta(max_length=200)]
Address = Annotated[str, Meta(max_length=2000)]
Key = Annotated[str, Meta(max_length=4000)]
Size = Annotated[int, Meta(ge=1, le=16_000)]
Tokens = Annotated[int, Meta(ge=16, le=1_000_000)]


class SetEmbedding(msgspec.Struct, frozen=True, kw_only=True):
    """Where the vectors of a workspace's projects come from, in the place of the server's settings."""

    provider: Annotated[
        Literal["local", "openai", "ollama", "none"],
        Meta(description="openai: OpenAI and servers that speak like it; local: the model in the server's process; none: no vectors."),
    ]
    model: Annotated[Short | None, Meta(description="The model's name; left out, the provider's usual one.")] = None
    url: Annotated[Address | None, Meta(description="The address before /embeddings or /api/embed.")] = None
    key: Annotated[Key | None, Meta(description="The provider's key; left out, the one that is kept for this address.")] = None
    dim: Annotated[Size | None, Meta(description="The size of the vectors; left out, it is asked for.")] = None
    window: Annotated[Tokens | None, Meta(description="Tokens that the model reads of one text.")] = None
    query_prefix: Annotated[Short, Meta(description="What goes before each query.")] = ""
    document_prefix: Annotated[Short, Meta(description="What goes before each document.")] = ""
    workspace: Workspace = None


class WorkspaceOnly(msgspec.Struct, frozen=True, kw_only=True):
    """Which workspace."""

    workspace: Workspace = None


class EmbedProject(msgspec.Struct, frozen=True, kw_only=True):
    """Which project, and whether all its vectors are made anew or only what lacks one."""

    reembed: Annotated[bool, Meta(description="Make all vectors anew, not only those that are missing or were given up.")] = False
    workspace: Workspace = None
    project: Project = None


class EmbeddingProgressOf(msgspec.Struct, frozen=True, kw_only=True):
    """Which project."""

    workspace: Workspace = None
    project: Project = None


class EmbeddingSettings(msgspec.Struct, frozen=True):
    """What holds for a workspace. `own` is false where the server's settings do; the rest is then the server's, without its address."""

    workspace: str
    own: bool
    provider: str
    model: str | None
    dim: int | None
    url: str | None = None
    has_key: bool = False
    window: int | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    set_at: datetime | None = None


class EmbeddingProgress(msgspec.Struct, frozen=True):
    """How far a project's vectors are in the space that it is to be in.

    `done` of `passages` are there and new enough, `left` are to be made, `failed` were given up. `current`: queries use them.
    `anew_from`: vectors from before that time are being made again. `working`: a worker has something to do here. `held`: the provider
    gave nothing when it was last asked, and is asked again in some seconds.
    """

    workspace: str
    project: str
    provider: str | None
    model: str | None
    dim: int | None
    current: bool
    working: bool
    passages: int
    done: int
    left: int
    failed: int
    anew_from: datetime | None
    held: bool = False


async def set_embedding(services: Services, caller: Caller, request: SetEmbedding) -> EmbeddingSettings:
    services.scopes.require_workspace(caller, request.workspace)
    require_all_projects(caller, "set a workspace's embeddings")
    if request.provider in ("none", "local"):
        given = (request.model, request.url, request.key, request.dim, request.window, request.query_prefix, request.document_prefix)
        if any(given):
            raise InvalidRequest(
                f"provider: {request.provider} takes nothing else.",
                hint="Leave model, url, key, dim, window and the prefixes out, or name the provider that they are for.",
            )
    check_host(services.settings, request.provider, request.url)
    sealed, key = _key_of(services, caller, request, await _current(services, caller))
    options = ProviderOptions(
        model=request.model,
        query_prefix=request.query_prefix,
        document_prefix=request.document_prefix,
        url=request.url,
        key=key,
        dim=request.dim,
        window=request.window,
    )
    space = await try_out(request.provider, options)
    triple = (space.provider, space.model, space.dim) if space else (None, None, None)
    prefixes = (request.query_prefix, request.document_prefix)
    await services.database.control("set_embedding", caller.workspace_id, *triple, request.url, sealed, *prefixes, request.window)
    return await read_embedding(services, caller, WorkspaceOnly())


async def clear_embedding(services: Services, caller: Caller, request: WorkspaceOnly) -> EmbeddingSettings:
    services.scopes.require_workspace(caller, request.workspace)
    require_all_projects(caller, "set a workspace's embeddings")
    await services.database.control("clear_embedding", caller.workspace_id)
    return await read_embedding(services, caller, WorkspaceOnly())


async def read_embedding(services: Services, caller: Caller, request: WorkspaceOnly) -> EmbeddingSettings:
    services.scopes.require_workspace(caller, request.workspace)
    own = await _current(services, caller)
    if own is None:
        space = services.embedder.space if services.embedder else None
        told = (space.provider, space.model, space.dim) if space else ("none", None, None)
        return EmbeddingSettings(caller.workspace, False, *told)
    return EmbeddingSettings(
        workspace=caller.workspace,
        own=True,
        provider=own.space.provider if own.space else "none",
        model=own.space.model if own.space else None,
        dim=own.space.dim if own.space else None,
        url=own.url,
        has_key=own.sealed_key is not None,
        window=own.window,
        query_prefix=own.query_prefix,
        document_prefix=own.document_prefix,
        set_at=own.set_at,
    )


async def embed_project(services: Services, caller: Caller, request: EmbedProject) -> EmbeddingProgress:
    project = await services.scopes.one(caller, request.workspace, request.project)
    await ask_again(services.database, project, await wanted_space(services, caller.workspace_id), anew=request.reembed)
    return await embedding_progress(services, caller, EmbeddingProgressOf(workspace=request.workspace, project=request.project))


async def embedding_progress(services: Services, caller: Caller, request: EmbeddingProgressOf) -> EmbeddingProgress:
    project = await services.scopes.one(caller, request.workspace, request.project)
    space = await wanted_space(services, project.workspace_id)
    found: Progress = await read_progress(services.database, project, space)
    return EmbeddingProgress(
        workspace=project.workspace,
        project=project.name,
        provider=space.provider if space else None,
        model=space.model if space else None,
        dim=space.dim if space else None,
        **msgspec.structs.asdict(found),
    )


async def _current(services: Services, caller: Caller) -> OwnSettings | None:
    """The workspace's own settings as they are at this moment; the queries of this process go by them from now on."""
    if services.own_embedders is not None:
        rows = await services.own_embedders.providers.settings_of(caller.workspace_id, fresh=True)
    else:
        rows = [read_settings(row) for row in await services.database.control("find_embedding", caller.workspace_id)]
    return rows[0] if rows and rows[0].current else None


def _key_of(services: Services, caller: Caller, request: SetEmbedding, own: OwnSettings | None) -> tuple[str | None, Secret | None]:
    """The key, sealed and open: what was given, else what is kept, which goes nowhere but to the address that it was given for."""
    seal = Seal(services.pepper)
    if request.key:
        key = Secret(request.key)
        return seal.seal(key, caller.workspace_id), key
    if own is None or own.sealed_key is None or own.space is None or (own.space.provider, own.url) != (request.provider, request.url):
        return None, None
    key = seal.open(own.sealed_key, caller.workspace_id)
    return (own.sealed_key, key) if key else (None, None)


_PLACE = "/workspaces/{workspace}/embedding"
_PROJECT = "/workspaces/{workspace}/projects/{project}/embedding"

OPERATIONS = (
    Operation(
        name="read_embedding",
        scope="admin",
        summary="Where a workspace's vectors come from",
        request=WorkspaceOnly,
        answer=EmbeddingSettings,
        run=read_embedding,
        routes=(Route("GET", _PLACE),),
    ),
    Operation(
        name="set_embedding",
        scope="admin",
        summary="Give a workspace an embedding provider of its own",
        request=SetEmbedding,
        answer=EmbeddingSettings,
        run=set_embedding,
        routes=(Route("PUT", _PLACE),),
    ),
    Operation(
        name="clear_embedding",
        scope="admin",
        summary="Let a workspace go by the server's embedding settings",
        request=WorkspaceOnly,
        answer=EmbeddingSettings,
        run=clear_embedding,
        routes=(Route("DELETE", _PLACE),),
    ),
    Operation(
        name="embed_project",
        scope="admin",
        summary="Have a project's missing vectors made, or all of them anew",
        request=EmbedProject,
        answer=EmbeddingProgress,
        run=embed_project,
        routes=(Route("POST", _PROJECT, lambda answer: 202 if answer.working else 200),),
    ),
    Operation(
        name="embedding_progress",
        scope="read",
        summary="How far a project's vectors are",
        request=EmbeddingProgressOf,
        answer=EmbeddingProgress,
        run=embedding_progress,
        routes=(Route("GET", _PROJECT),),
    ),
)
