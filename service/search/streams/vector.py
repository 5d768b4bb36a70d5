"""The `vector` stream: the query's vector.

In: an embedder and a text; a project's space. Out: `QueryVector` or the reason why there is none; the values of the statements.
"""

import asyncio
import math
from typing import Any, Final, Protocol

import msgspec

from service.errors import MunimentError
from service.search.parse import SearchSettings

MAX_TEXT: Final = 8_000  # characters of a query that are embedded


class Space(Protocol):
    """What makes vectors comparable."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def dim(self) -> int: ...


class QueryEmbedder(Protocol):
    """Makes the vector of a query in one space."""

    @property
    def space(self) -> Space: ...

    async def __call__(self, text: str) -> str:
        """The vector as pgvector text; raises `MunimentError`."""
        ...


class QueryVector(msgspec.Struct, frozen=True):
    """The vector of a query as pgvector text, or the note that says why there is none."""

    text: str | None
    note: str | None = None


async def embed_query(embed: QueryEmbedder | None, text: str, settings: SearchSettings) -> QueryVector:
    """Asks the embedder within its own time and checks what it says; never raises."""
    if not text:
        return QueryVector(None)
    if embed is None:
        return QueryVector(None, "No embedder is set up, so the vector stream is absent.")
    name = f"{embed.space.provider} ({embed.space.model})"
    try:
        async with asyncio.timeout(settings.embed_ms / 1000):
            vector = await embed(text[:MAX_TEXT])
    except TimeoutError:
        return QueryVector(None, f"The embedder {name} gave no vector in time, so the vector stream is absent.")
    except (MunimentError, OSError, ValueError, RuntimeError) as error:
        reason = error.members.get("reason") if isinstance(error, MunimentError) else None
        why = f" ({reason})" if reason else ""
        return QueryVector(None, f"The embedder {name} failed{why}, so the vector stream is absent.")
    if not _is_usable(vector, embed.space.dim):
        return QueryVector(None, f"The embedder {name} gave a vector that cannot be used, so the vector stream is absent.")
    return QueryVector(vector)


def _is_usable(vector: str, dim: int) -> bool:
    """The right size, all finite, not all zero."""
    try:
        values = msgspec.json.decode(vector, type=list[float])
    except (msgspec.DecodeError, TypeError):
        return False
    return len(values) == dim and all(map(math.isfinite, values)) and any(values)


def explain_absence(space: Space | None, embed: QueryEmbedder | None, project: str) -> str | None:
    """Why the query's vector cannot be compared with a project's; None when it can."""
    if space is None:
        return f"Project {project} has no embedding space yet, so the vector stream is absent."
    if embed is None:
        return None
    mine = (embed.space.provider, embed.space.model, embed.space.dim)
    if (space.provider, space.model, space.dim) == mine:
        return None
    return (
        f"Project {project} holds vectors of {space.provider} ({space.model}, {space.dim}), the query's is of "
        f"{mine[0]} ({mine[1]}, {mine[2]}), so the vector stream is absent."
    )


def vector_values(vector: str, settings: SearchSettings, times: int | None = 1) -> dict[str, Any]:
    """What the statements take: passages enough that owners with several leave room for others, `times` as many, or all."""
    size = settings.stream_size
    return {
        "vector": vector,
        "stream_size": size,
        "each": None if times is None else times * size,
        "nearest": None if times is None else 2 * times * size,
    }
