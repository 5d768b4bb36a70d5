"""Asking a project's graph in one line."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.graph.answer import GraphAnswer
from service.graph.limits import GraphLimits
from service.graph.run import run_query

Ask = Callable[..., Awaitable[GraphAnswer]]


async def spelled(text: str) -> str:
    """The vector that the text spells out, such as `1,0,0`."""
    return f"[{text}]"


@pytest.fixture
def small(projects: Any) -> ProjectRef:
    """A fresh project whose vectors have three numbers."""
    return projects.make(dim=3)


@pytest.fixture
def ask(database: Database, small: ProjectRef) -> Ask:
    """Runs a query in `small`: params by keyword; `limits`, `embed` and `project` where they differ."""

    async def run(
        query: str, *, limits: GraphLimits | None = None, embed: Any = spelled, project: ProjectRef = small, **params: Any
    ) -> GraphAnswer:
        return await run_query(database, project, query, params, embed=embed, limits=limits or GraphLimits())

    return run


def ids(answer: GraphAnswer) -> list[str]:
    """The ids of the first column's nodes."""
    return [row[0]["id"] for row in answer.rows]
