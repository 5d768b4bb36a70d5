"""Asking a project's graph in one line."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.provider import Space
from service.graph.answer import GraphAnswer
from service.graph.limits import GraphLimits
from service.graph.run import run_query

Ask = Callable[..., Awaitable[GraphAnswer]]
TEST_SPACE = Space("test", "vectors", 3)


class Spelled:
    """Gives the vector that the text spells out, such as `1,0,0`, in the space of the tests' projects."""

    def __init__(self, space: Space = TEST_SPACE) -> None:
        self.space = space

    async def __call__(self, text: str, /) -> str:
        return f"[{text}]"


SPELLED = Spelled()


@pytest.fixture
def small(projects: Any) -> ProjectRef:
    """A fresh project whose vectors have three numbers."""
    return projects.make(dim=3)


@pytest.fixture
def ask(database: Database, small: ProjectRef) -> Ask:
    """Runs a query in `small`: params by keyword; `limits`, `embed` and `project` where they differ."""

    async def run(
        query: str, *, limits: GraphLimits | None = None, embed: Any = SPELLED, project: ProjectRef = small, **params: Any
    ) -> GraphAnswer:
        return await run_query(database, project, query, params, embed=embed, limits=limits or GraphLimits())

    return run
