"""Where a project's vectors come from at this moment, beside those that it has: for `memory_status`.

In: services, a project, how far its vectors are. Out: `EmbeddingSource`, and notes on what keeps meaning out of searches.
"""

from typing import Final

import msgspec

from service.db.scope import ProjectRef
from service.embed.progress import Progress, read_progress
from service.embed.provider import Space
from service.memory.lookup import Embedding
from service.operations.operation import Services
from service.operations.searching import fitting_embedders, wanted_space

_COUNTING_MS: Final = 30_000


class EmbeddingSource(msgspec.Struct, frozen=True):
    """The provider that is set, for the server or as the workspace's `own`: `none` where no vectors are made. Without `answers` it gives
    none now."""

    provider: str
    model: str | None = None
    dim: int | None = None
    own: bool = False
    answers: bool = True


async def read_source(services: Services, project: ProjectRef, held: Embedding, passages: int) -> tuple[EmbeddingSource, list[str]]:
    """The source, and in words where it differs from the vectors that are `held`, or does not answer."""
    current = Space(held.provider, held.model, held.dim) if held.provider and held.model and held.dim else None
    own = services.own_embedders is not None and await services.own_embedders.providers.current(project.workspace_id) is not None
    wanted = await wanted_space(services, project.workspace_id)
    if wanted is None:
        return _nothing_made(services.settings.embedding_provider, current, own=own)
    notes: list[str] = []
    found = None
    if passages and (wanted != current or held.pending):
        found = await read_progress(services.database, project, wanted, statement_ms=_COUNTING_MS)
        notes += _left(found, wanted, current, own=own)
    async with fitting_embedders(services, [project]) as (embed,):
        asked = embed is not None and (current is None or embed.space == current)
        answering = embed is not None and embed.is_available
    if current is not None and not asked:
        notes.append(f"Searches go without meaning: nothing leads to {_named(current)} any more, until the project has moved.")
    elif embed is not None and not answering:
        notes.append(f"{_named(embed.space)} does not answer queries now: searches go without meaning until it does.")
    answers = answering and not (found is not None and found.held)
    return EmbeddingSource(wanted.provider, wanted.model, wanted.dim, own, answers), notes


def _nothing_made(setting: str, current: Space | None, *, own: bool) -> tuple[EmbeddingSource, list[str]]:
    """There is no provider: one that is set could not be had when the server started."""
    left = f", and searches go without the vectors of {_named(current)} that are there" if current else ""
    if own or setting == "none":
        whose = "workspace" if own else "server"
        return EmbeddingSource("none", own=own), [f"The {whose} is set to make no vectors{left}."]
    note = f"The server is set to the provider {setting}, which could not be had when it started (its log says why){left}."
    return EmbeddingSource(setting, answers=False), [note]


def _left(found: Progress, wanted: Space, current: Space | None, *, own: bool) -> list[str]:
    notes: list[str] = []
    moving = not found.current
    if moving and current is None:
        notes.append(f"{found.done} of {found.passages} passages have their vector of {_named(wanted)}; until all have, searches use none.")
    elif moving and current is not None:
        whose = "workspace" if own else "server"
        notes.append(
            f"The {whose} is set to {_named(wanted)}, and the project moves to it: {found.done} of {found.passages} passages have its"
            f" vector; until all have, searches use {_named(current)}."
        )
    if found.held:
        notes.append(f"{_named(wanted)} gave the worker no vectors when it was last asked, and is asked again in some seconds.")
    return notes


def _named(space: Space) -> str:
    return f"{space.provider} {space.model} ({space.dim})"
