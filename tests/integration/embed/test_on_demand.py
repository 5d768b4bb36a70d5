"""Vectors made by hand over REST, and how far they are."""

import pytest

from service.db.owner import OwnerDatabase
from service.db.scope import ProjectRef
from service.errors import Forbidden
from tests.conftest import Memory
from tests.integration.embed.house import House


def asked(house: House, project: ProjectRef) -> list[str]:
    """What the provider was asked of one project; what other tests left may be tried again at any moment."""
    return [text for text in house.letters.asked if text.startswith(f"{project.schema} ")]


async def test_vectors_made_anew_on_demand_and_asked_twice_made_once(house: House, mine: ProjectRef, memory: Memory) -> None:
    await memory.save(mine, [{"summary": f"{mine.schema} one"}, {"summary": f"{mine.schema} two"}])
    await house.work()
    house.letters.asked.clear()
    done = await house.ask(mine, "embed_project")
    assert (done.passages, done.done, done.left, done.working) == (2, 2, 0, True)
    await house.work()
    assert asked(house, mine) == []
    first = await house.ask(mine, "embed_project", reembed=True)
    again = await house.ask(mine, "embed_project", reembed=True)
    assert (first.done, first.left, first.anew_from) == (0, 2, again.anew_from)
    await house.work()
    assert len(asked(house, mine)) == 2
    over = await house.ask(mine, "embedding_progress", "read")
    assert (over.done, over.left, over.working, over.anew_from) == (2, 0, False, None)
    await house.work()
    assert len(asked(house, mine)) == 2
    with pytest.raises(Forbidden):
        await house.ask(mine, "embed_project", "read", "write", reembed=True)


async def test_what_was_given_up_is_tried_again_on_demand(house: House, mine: ProjectRef, memory: Memory, owner: OwnerDatabase) -> None:
    await memory.save(mine, [{"summary": f"{mine.schema} poison"}])
    for _ in range(5):
        await owner.fetch("UPDATE m_0.embed_failure SET retry_at = now()", project=mine.project_id)
        await house.work()
    assert (await house.ask(mine, "embedding_progress")).failed == 1
    before = len(asked(house, mine))
    await house.ask(mine, "embed_project")
    await house.work()
    assert len(asked(house, mine)) == before + 1
