"""The `vector` stream: the query's vectors.

In: each project's embedder and a text; a project's space. Out: `QueryVector`s or the reasons why there are none; the values of the
statements.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, Protocol

import msgspec

from service.db.abreast import do_abreast
from service.errors import MunimentError, reason_of
from service.search.parse import SearchSettings

MAX_TEXT: Final = 8_000  # characters of a query that are embedded
_NAMED: Final = 10  # projects in a note


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
    """The vector of a query as pgvector text and its space, or what is the matter that there is none."""

    text: str | None = None
    space: Space | None = None
    matter: str | None = None


async def embed_query(embedders: Sequence[QueryEmbedder | None], text: str, settings: SearchSettings) -> list[QueryVector]:
    """The query's vector for each project by its embedder; each embedder is asked once, side by side, those of most projects first."""
    if not text:
        return [QueryVector()] * len(embedders)
    most = settings.max_embedders
    asked = [embed for embed, _ in Counter(filter(None, embedders)).most_common(most)]
    made = dict(zip(asked, await do_abreast(asked, lambda embed: _ask(embed, text, settings), most), strict=True))
    vectors: list[QueryVector] = []
    for embed in embedders:
        if embed is None:
            vectors.append(QueryVector(matter="No embedder is set up"))
        elif embed in made:
            vectors.append(made[embed])
        else:
            matter = f"One search asks {most} embedders at most, and {_name(embed)} was not among them"
            vectors.append(QueryVector(None, embed.space, matter))
    return vectors


async def _ask(embed: QueryEmbedder, text: str, settings: SearchSettings) -> QueryVector:
    """Asks the embedder within its own time and checks what it says; never raises."""
    try:
        async with asyncio.timeout(settings.embed_ms / 1000):
            vector = await embed(text[:MAX_TEXT])
    except TimeoutError:
        return QueryVector(None, embed.space, f"The embedder {_name(embed)} gave no vector in time")
    except (MunimentError, OSError, ValueError, RuntimeError) as error:
        why = f" ({reason})" if (reason := reason_of(error)) else ""
        return QueryVector(None, embed.space, f"The embedder {_name(embed)} failed{why}")
    if not _is_usable(vector, embed.space.dim):
        return QueryVector(None, embed.space, f"The embedder {_name(embed)} gave a vector that cannot be used")
    return QueryVector(vector, embed.space)


def _name(embed: QueryEmbedder) -> str:
    return f"{embed.space.provider} ({embed.space.model})"


@lru_cache(maxsize=256)
def _is_usable(vector: str, dim: int) -> bool:
    """The right size, all finite, not all zero; looked at once, since embedders remember what they gave."""
    try:
        values = msgspec.json.decode(vector, type=list[float])
    except (msgspec.DecodeError, TypeError):
        return False
    return len(values) == dim and all(map(math.isfinite, values)) and any(values)


def note_missing(vectors: Sequence[QueryVector], projects: Sequence[str]) -> list[str]:
    """What is said of projects without a vector of the query, given side by side: they are named where others have one."""
    concerned: dict[str, list[str]] = {}
    for vector, project in zip(vectors, projects, strict=True):
        if vector.matter:
            concerned.setdefault(vector.matter, []).append(project)
    notes: list[str] = []
    for matter, names in concerned.items():
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        where = f" in {', '.join(names[:_NAMED])}{more}" if len(names) < len(projects) else ""
        notes.append(f"{matter}, so the vector stream is absent{where}.")
    return notes


def explain_absence(space: Space | None, of_query: Space | None, project: str) -> str | None:
    """Why a vector of the query cannot be compared with a project's; None when it can, or when there is no embedder for it."""
    if of_query is None:
        return None
    if space is None:
        return f"Project {project} has no vectors yet, so the vector stream is absent."
    mine = (of_query.provider, of_query.model, of_query.dim)
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
