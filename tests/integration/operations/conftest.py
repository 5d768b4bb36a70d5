"""Operations as a caller with all rights in one project, whose vectors have three numbers; and an embedder that knows three words."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from service.access.keys import ALL_SCOPES, Caller
from service.access.scope import Scopes
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.provider import Embedded, EmbeddingUnavailable, Failed, Space, Vector, checked
from service.embed.query import QueryEmbedder
from service.embed.query_cache import QueryCache
from service.operations import CATALOGUE
from service.operations.operation import Services
from service.operations.perform import perform
from service.settings import Settings
from tests.conftest import Memory, Projects

VECTORS = {"apples": (1.0, 0.0, 0.0), "pears": (0.8, 0.6, 0.0), "engines": (0.0, 0.0, 1.0)}


class Orchard:
    """Gives a text the vector of the first of these words in it; any other text has none."""

    space = Space("test", "vectors", 3)
    window = 256
    available = True

    async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
        return [await self.embed_query(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        for word, vector in VECTORS.items():
            if word in text and not isinstance(made := checked(vector, 3), Failed):
                return made
        raise EmbeddingUnavailable(self.space, "unavailable")

    async def close(self) -> None:
        """Nothing is held."""


class Desk:
    """Performs operations in one project as a caller who may do all."""

    def __init__(self, database: Database, memory: Memory, project: ProjectRef, settings: Settings, *, embedding: bool) -> None:
        embedder = QueryEmbedder(Orchard(), QueryCache(), 5.0) if embedding else None
        self.services = Services(database=database, scopes=Scopes(database), settings=settings, embedder=embedder)
        self.caller = Caller("me", project.workspace_id, project.workspace, project.role, frozenset(ALL_SCOPES), None, project.project_id)
        self.memory, self.project = memory, project

    async def ask(self, name: str, **arguments: Any) -> Any:
        operation = next(each for each in CATALOGUE if each.name == name)
        return await perform(self.services, self.caller, operation, msgspec.convert(arguments, operation.request))

    async def save(self, *events: dict[str, Any], vectors: bool = True) -> list[str]:
        """Stores events; those whose summary holds a known word get its vector."""
        ids = await self.memory.save(self.project, events)
        if vectors:
            known = {number: word for number, event in zip(ids, events, strict=True) for word in VECTORS if word in event["summary"]}
            await self.memory.vectors(self.project, {number: VECTORS[word] for number, word in known.items()})
        return ids

    def without(self, **settings: Any) -> "Desk":
        """The same desk with other settings, or with `embedding=False`."""
        embedding = settings.pop("embedding", True)
        return Desk(self.services.database, self.memory, self.project, Settings(**settings), embedding=embedding)


@pytest.fixture
def desk(database: Database, memory: Memory, projects: Projects) -> Desk:
    return Desk(database, memory, projects.make(dim=3), Settings(), embedding=True)
