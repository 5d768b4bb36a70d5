"""What is written while a project moves to another model is found all the while."""

import asyncio
from collections.abc import Sequence

from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.backfill import Backfill, Reach
from service.embed.provider import Embedded
from service.memory.lookup import read_status
from tests.conftest import Memory, Projects
from tests.integration.spaces.asking import SMALL, TWIN, Asking, fill, find_model
from tests.integration.spaces.conftest import LIMITS, Model, drain


class Writing(Model):
    """While it embeds for the project's move, and no other's, somebody writes, and looks for what was written last."""

    def __init__(self, memory: Memory, project: ProjectRef, asking: "Asking") -> None:
        super().__init__("twin", 384)
        self.memory, self.project, self.own_asking = memory, project, asking
        self.written: list[str] = []
        self.found: list[bool] = []

    async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
        if not any(text.endswith("of the quay") or text in self.written for text in texts):
            return await super().embed_documents(texts)
        if self.written:
            self.found.append(await self.own_asking.is_near(self.written[-1]))
        if len(self.written) < 6:
            self.written.append(f"meanwhile number {len(self.written)}")
            await self.memory.save(self.project, [{"summary": self.written[-1]}])
            assert await self.own_asking.is_found(self.written[-1])
        return await super().embed_documents(texts)


async def test_what_is_written_during_a_move_is_found_by_its_words_at_once_and_by_its_meaning_before_the_move_goes_on(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database
) -> None:
    project = projects.make(dim=384)
    await fill(memory, project, 150, "quay")
    await drain(Backfill(owner, SMALL, LIMITS), owner)
    model = Writing(memory, project, Asking(database, project, TWIN))
    await drain(Backfill(owner, model, LIMITS, reach=Reach(make_earlier=find_model)), owner)
    assert len(model.written) == 6
    assert model.found
    assert all(model.found)
    async with asyncio.timeout(60):
        while not all([await model.own_asking.is_near(text) for text in model.written]):
            continue
    state = (await read_status(database, project)).embedding
    assert {s.model: (s.current, s.vectors) for s in state.spaces if s.current} == {"twin": (True, 156)}


async def test_an_earlier_model_that_is_gone_stops_no_move_and_is_said(
    memory: Memory, projects: Projects, owner: OwnerDatabase, database: Database
) -> None:
    project = projects.make(dim=384)
    await fill(memory, project, 70, "mole")
    await drain(Backfill(owner, SMALL, LIMITS), owner)
    gone = Model("vectors", 384)
    gone.away = True
    said: list[list[str]] = []

    class Telling(Model):
        async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
            if not said:
                await memory.save(project, [{"summary": "unseen so far"}])
                said.append(await asking.notes("unseen so far"))
            return await super().embed_documents(texts)

    asking = Asking(database, project, TWIN)
    await drain(Backfill(owner, Telling("twin", 384), LIMITS, reach=Reach(make_earlier=lambda _: gone)), owner)
    assert any("1 passages have no vector yet" in note for note in said[0])
    async with asyncio.timeout(60):
        while not await asking.is_near("unseen so far"):
            continue
