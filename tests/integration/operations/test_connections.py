from typing import Any

import pytest

from service.errors import InvalidRequest, NotFound
from tests.integration.operations.conftest import Desk


def event(summary: str, day: int | None, *names: str, **more: Any) -> dict[str, Any]:
    time = {"timestamp": f"2026-01-{day:02}"} if day else {}
    return {"summary": summary, "entities": [(name, "name") for name in names], **time, **more}


async def fill(desk: Desk) -> None:
    """1 -> 2 -> 3 is a thread; 3, 4 and 5 are one session; 6 and 7 share a rare name with 3; 8 has no time."""
    await desk.save(event("apples planted", 1, "orchard"))
    await desk.save(event("apples watered", 3, "orchard", previous="evt_1"))
    await desk.save(event("apples picked", 5, "ladder", "orchard", previous="evt_2", session="harvest"))
    await desk.save(event("a pause", 5, session="harvest"))
    await desk.save(event("pears picked", 6, session="harvest"))
    await desk.save(event("engines mended", 2, "ladder"))
    await desk.save(event("engines sold", 9, "ladder"))
    await desk.save(event("engines bought", None, "ladder", previous="evt_3"))


def ids(part: list[Any]) -> list[str]:
    return [each.id for each in part]


async def test_before_and_after_an_event(desk: Desk) -> None:
    await fill(desk)
    found = await desk.ask("find_memory_connections", id="evt_3", parts=["before", "after"])
    assert ids(found.around) == ["evt_3"]
    assert [(each.id, each.how, each.names) for each in found.before] == [
        ("evt_2", ["thread", "names"], ["orchard"]),
        ("evt_1", ["thread", "names"], ["orchard"]),
        ("evt_6", ["names"], ["ladder"]),
    ]
    assert [(each.id, each.how) for each in found.after] == [
        ("evt_8", ["thread"]),
        ("evt_4", ["session"]),
        ("evt_5", ["session"]),
        ("evt_7", ["names"]),
    ]
    assert (found.similar, found.evolution) == ([], [])


async def test_what_is_similar_comes_by_meaning(desk: Desk) -> None:
    await fill(desk)
    found = await desk.ask("find_memory_connections", id="evt_5", parts=["similar"], limit=3)
    assert [(each.id, each.how, round(each.score, 2)) for each in found.similar] == [
        ("evt_1", ["meaning"], 0.8),
        ("evt_2", ["meaning"], 0.8),
        ("evt_3", ["meaning"], 0.8),
    ]
    assert found.notes == []


async def test_without_vectors_rare_names_stand_in_and_it_is_said(desk: Desk) -> None:
    await desk.save(event("one", 1, "rare", "common"), event("two", 2, "common"), event("three", 3, "rare"), vectors=False)
    found = await desk.ask("find_memory_connections", id="evt_1", parts=["similar"])
    assert [(each.id, each.names) for each in found.similar] == [("evt_2", ["common"]), ("evt_3", ["rare"])]
    assert any("rare names" in note for note in found.notes)


async def test_an_event_develops_from_the_oldest_on(desk: Desk) -> None:
    await fill(desk)
    found = await desk.ask("find_memory_connections", id="evt_3", parts=["evolution"])
    assert ids(found.evolution) == ["evt_1", "evt_6", "evt_2", "evt_3", "evt_5", "evt_7", "evt_8"]
    shorter = await desk.ask("find_memory_connections", id="evt_3", parts=["evolution"], limit=3)
    assert ids(shorter.evolution) == ["evt_1", "evt_2", "evt_3"]


async def test_around_an_entity(desk: Desk) -> None:
    await fill(desk)
    found = await desk.ask("find_memory_connections", entity="ladder")
    assert ids(found.around) == ["evt_7", "evt_3", "evt_6", "evt_8"]
    assert ids(found.evolution) == ["evt_6", "evt_3", "evt_7", "evt_8"]
    assert ids(found.before)[:2] == ["evt_2", "evt_1"]
    assert ids(found.after) == ["evt_4", "evt_5"]
    newest = await desk.ask("find_memory_connections", entity="ent_2", limit=1, parts=["evolution"])
    assert [each.id for each in newest.evolution] == ["evt_7"]
    assert any("the newest 1 events" in note for note in newest.notes)


async def test_around_a_sentence(desk: Desk) -> None:
    await fill(desk)
    found = await desk.ask("find_memory_connections", query="what became of the apples", limit=3)
    assert set(ids(found.evolution)) == {"evt_1", "evt_2", "evt_3"}
    assert ids(found.evolution) == ["evt_1", "evt_2", "evt_3"]
    assert [round(each.score, 2) for each in found.similar] == [1.0, 1.0, 1.0]
    assert ids(found.around)[0] in {"evt_1", "evt_2", "evt_3"}


async def test_a_sentence_without_an_embedder_goes_by_words(desk: Desk) -> None:
    await fill(desk)
    found = await desk.without(embedding=False).ask("find_memory_connections", query="apples picked")
    assert found.around[0].id == "evt_3"
    assert any("rare names" in note for note in found.notes)
    assert "evt_6" in ids(found.similar)


async def test_a_sentence_about_nothing_finds_nothing_and_says_so(desk: Desk) -> None:
    found = await desk.ask("find_memory_connections", query="zzz")
    assert (found.around, found.before, found.after, found.similar, found.evolution) == ([], [], [], [], [])
    assert "No event was found to start from." in found.notes


async def test_the_parts_of_one_content_are_no_thread(desk: Desk) -> None:
    await desk.save({"summary": "long", "content": "Sentence after sentence. " * 5000})
    found = await desk.ask("find_memory_connections", id="evt_2", parts=["before", "after"])
    assert (found.before, found.after) == ([], [])


async def test_it_works_where_graph_queries_are_off(desk: Desk) -> None:
    await fill(desk)
    found = await desk.without(graph=False, scoped_match=False).ask("find_memory_connections", id="evt_3", parts=["before"])
    assert ids(found.before)[0] == "evt_2"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, InvalidRequest),
        ({"id": "evt_1", "entity": "ladder"}, InvalidRequest),
        ({"id": "evt_99"}, NotFound),
        ({"id": "ladder"}, InvalidRequest),
        ({"entity": "nobody"}, NotFound),
    ],
)
async def test_what_cannot_be_asked(desk: Desk, arguments: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error):
        await desk.ask("find_memory_connections", **arguments)
