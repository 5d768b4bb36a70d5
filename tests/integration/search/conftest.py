"""Asking the memory of a test's project."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import msgspec
import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef, SpaceRef
from service.search.answer import SearchAnswer
from service.search.parse import SearchRequest, SearchSettings, read_moment
from service.search.run import memory_query
from service.search.streams.vector import QueryEmbedder


def as_request(arguments: dict[str, Any]) -> SearchRequest:
    """A request with its times as text."""
    times = {name: read_moment(name, arguments[name]) for name in ("since", "until", "as_of") if isinstance(arguments.get(name), str)}
    return msgspec.convert({**arguments, **times}, SearchRequest)


Embed: TypeAlias = QueryEmbedder | Sequence[QueryEmbedder | None] | None


class Ask(Protocol):
    """memory_query with the arguments of a call; one embedder for all projects, or one for each."""

    async def __call__(
        self, projects: ProjectRef | Sequence[ProjectRef], query: str, *, embed: Embed = None, **arguments: Any
    ) -> SearchAnswer: ...


class FixedEmbedder:
    """Gives one vector whatever is asked."""

    def __init__(self, vector: Sequence[float] | str, dim: int | None = None) -> None:
        self._text = vector if isinstance(vector, str) else "[" + ",".join(map(repr, vector)) + "]"
        self.space = SpaceRef(0, "test", "vectors", dim or len(vector))
        self.asked: list[str] = []

    async def __call__(self, text: str) -> str:
        self.asked.append(text)
        return self._text


@pytest.fixture
def ask(database: Database) -> Ask:
    async def run(
        projects: ProjectRef | Sequence[ProjectRef],
        query: str,
        *,
        embed: Embed = None,
        settings: SearchSettings | None = None,
        named: bool = True,
        **arguments: Any,
    ) -> SearchAnswer:
        request = as_request({"query": query, **arguments})
        wanted = [projects] if isinstance(projects, ProjectRef) else projects
        embedders = embed if isinstance(embed, Sequence) else [embed] * len(wanted)
        return await memory_query(database, wanted, request, embedders=embedders, settings=settings or SearchSettings(), named=named)

    return run


def paths(answer: SearchAnswer) -> list[str]:
    return [hit.path for hit in answer.hits]


def events(answer: SearchAnswer) -> list[str]:
    return [hit.id for hit in answer.raw_hits]
