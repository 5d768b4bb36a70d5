"""Asking a project's graph in one line."""

from collections.abc import Awaitable, Callable, Sequence
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


async def link(database: Database, project: ProjectRef, sql: str, rows: Sequence[Sequence[Any]]) -> None:
    async with database.write(project) as tx:
        for row in rows:
            await tx.fetch(sql, *row)


@pytest.fixture
async def thread(memory: Any, small: ProjectRef, database: Database) -> list[str]:
    """Five events with shared names, a chain of NEXT, a resolution, an alias."""
    saved = await memory.save(
        small,
        [
            {"summary": "plan", "entities": [("inventory", "area"), ("save format", "area"), ("bug 7", "bug")], "tags": ["balance"]},
            {"summary": "try", "entities": [("inventory", "area"), ("save format", "area")], "tags": [("balance", "refers")]},
            {"summary": "fix", "entities": [("save format", "area"), ("Ümlaut Bug", "bug")], "timestamp": "2026-02-01T10:00:00Z"},
            {"summary": "talk", "entities": [("health", "area")], "timestamp": "2026-02-02T10:00:00Z"},
            {"summary": "done", "entities": [("inventory", "area"), ("health", "area")]},
        ],
    )
    await memory.vectors(small, dict(zip(saved, [(1, 0, 0), (1, 1, 0), (0, 1, 0), (-1, 0, 0)], strict=False)))
    links = [(1, 2, "thread"), (2, 3, "thread"), (3, 4, "thread"), (1, 3, "file_name"), (4, 1, "thread")]
    await link(database, small, "INSERT INTO m_0.next_link VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", links)
    await link(database, small, "INSERT INTO m_0.resolution (plan_id, evidence_id) VALUES ($1, $2)", [(1, 5), (1, 3)])
    await link(database, small, "UPDATE m_0.resolution SET revoked_at = now() WHERE evidence_id = $1", [(3,)])
    await link(
        database,
        small,
        "INSERT INTO m_0.alias (a_id, b_id, confidence) SELECT min(id), max(id), 0.9 FROM m_0.entity WHERE name = ANY($1)",
        [(["bug 7", "Ümlaut Bug"],)],
    )
    return saved
