"""One search over many projects asks a few of them at once, holds no more connections than that, and keeps its deadline."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.db.transaction import Tx
from service.errors import NotFound
from service.search.answer import SearchAnswer
from service.search.parse import SearchSettings
from service.tenants.projects import drop_project
from tests.conftest import Memory, Projects
from tests.integration.search.conftest import Ask, FixedEmbedder

HELD = 9


class Counted:
    """How many transactions were open, and at once."""

    def __init__(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened = self.there = self.most = 0
        read = database.read

        @asynccontextmanager
        async def counting(project: ProjectRef, **limits: Any) -> AsyncIterator[Tx]:
            self.opened += 1
            self.there += 1
            self.most = max(self.most, self.there)
            try:
                async with read(project, **limits) as tx:
                    yield tx
            finally:
                self.there -= 1

        monkeypatch.setattr(database, "read", counting)


@pytest.fixture
def counted(database: Database, monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(database, monkeypatch)


@pytest.fixture
async def held(projects: Projects, memory: Memory) -> list[ProjectRef]:
    """Projects of one workspace, in each of which an event says the same word as often as the project's number, and others follow it."""
    made = [projects.make("held", dim=2) for _ in range(HELD)]
    for number, project in enumerate(made, 1):
        first, *_ = await memory.save(
            project, [{"summary": "kelp " * number}, {"summary": "driftwood", "entities": [("Sandbank", "place")]}]
        )
        await memory.save(project, [{"summary": "tide", "previous": first}])
        await memory.vectors(project, {first: [1.0, number / 10]})
        await memory.page(project, "shore.md", "Shore", "Much kelp on it.")
    return made


def seen(answer: SearchAnswer) -> list[tuple[str, str, float]]:
    return [(hit.project, hit.id if hasattr(hit, "id") else hit.path, hit.rank) for hit in (*answer.hits, *answer.raw_hits)]


async def test_a_few_at_once_give_what_one_after_the_other_gives(
    held: list[ProjectRef], database: Database, ask: Ask, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"embed": FixedEmbedder([1.0, 0.0]), "limit": 100, "explain": True}
    abreast = await ask(held, "kelp at the Sandbank", **asked)
    assert counted.most == database.few == 2
    monkeypatch.setattr(database, "few", 1)
    counted.most = 0
    in_turn = await ask(held, "kelp at the Sandbank", **asked)
    assert counted.most == 1
    assert seen(abreast) == seen(in_turn)
    assert (abreast.notes, abreast.truncated, abreast.streams_active) == (in_turn.notes, in_turn.truncated, in_turn.streams_active)
    assert {project for project, _, _ in seen(abreast)} == {project.name for project in held}


async def test_projects_whose_turn_does_not_come_in_time_are_named_and_not_asked(
    held: list[ProjectRef], ask: Ask, counted: Counted
) -> None:
    answer = await ask(held, "kelp", embed=FixedEmbedder([1.0, 0.0]), settings=SearchSettings(deadline_ms=0))
    assert counted.opened == 0
    assert (answer.hits, answer.raw_hits, answer.streams_active, answer.partial) == ([], [], [], True)
    expected = {
        (stream, "deadline", f"The {stream} stream was stopped by the deadline in {project.name}.")
        for stream in ("fts", "entity", "vector")
        for project in held
    }
    assert {(cut.where, cut.reason, cut.detail) for cut in answer.truncated} == expected
    assert len(answer.truncated) == len(expected)


async def test_a_project_that_is_gone_ends_the_call_and_gives_all_back(
    held: list[ProjectRef], projects: Projects, database: Database, ask: Ask, counted: Counted
) -> None:
    missing = ProjectRef(held[0].workspace_id, held[0].workspace, held[0].role, 10**9, "gone")
    with pytest.raises(Exception, match="no project 'gone'"):
        await ask([*held[:4], missing, *held[4:]], "kelp")
    assert counted.there == 0
    assert database._pool.get_idle_size() == database._pool.get_size()


@pytest.mark.parametrize("place", [0, 4, HELD - 1])
async def test_a_project_deleted_meanwhile_that_nobody_named_is_left_out(
    held: list[ProjectRef], database: Database, ask: Ask, place: int
) -> None:
    """It was still listed when the call began."""
    assert await drop_project(database, held[place].workspace_id, held[place].project_id) is not None
    answer = await ask(held, "kelp", limit=100, named=False)
    rest = [project for project in held if project is not held[place]]
    assert {project for project, _, _ in seen(answer)} == {project.name for project in rest}
    assert [note for note in answer.notes if "deleted" in note] == [f"{held[place].name} was deleted while it was searched."]
    alone = await ask(rest, "kelp", limit=100)
    assert [each[:2] for each in seen(answer)] == [each[:2] for each in seen(alone)]
    with pytest.raises(NotFound):
        await ask(held, "kelp")


async def test_when_all_are_deleted_nothing_is_found(held: list[ProjectRef], database: Database, ask: Ask) -> None:
    for project in held:
        await drop_project(database, project.workspace_id, project.project_id)
    answer = await ask(held, "kelp", named=False)
    assert (answer.hits, answer.raw_hits) == ([], [])
    assert len([note for note in answer.notes if "deleted" in note]) == HELD
