import asyncio
from typing import Any

import pytest
import pytest_asyncio

from service.access.keys import ALL_SCOPES, Caller
from service.access.scope import Scopes
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import InvalidRequest, NotFound
from service.memory.links import AliasInput, save_aliases
from service.memory.names import EntityInput
from service.operations.linking import LinkMemories, link_memories
from service.operations.operation import Services
from service.settings import Settings
from tests.conftest import Memory

READ = {
    "NEXT": "SELECT from_id, to_id, source FROM m_0.next_link",
    "RESOLVED_BY": "SELECT plan_id, evidence_id, asserted_at, asserted_by, revoked_at FROM m_0.resolution",
    "SAME_AS": "SELECT a_id, b_id, confidence, asserted_by FROM m_0.alias",
}


class Linker:
    """Links in one project as one caller."""

    def __init__(self, database: Database, project: ProjectRef, memory: Memory) -> None:
        self.services = Services(database=database, scopes=Scopes(database), settings=Settings(), embedder=None)
        self.caller = Caller("me", project.workspace_id, project.workspace, project.role, frozenset(ALL_SCOPES), None, project.project_id)
        self.memory, self.project = memory, project

    async def link(self, relation: Any, start: str, end: str, **more: Any) -> str:
        return (await link_memories(self.services, self.caller, LinkMemories(relation=relation, start=start, end=end, **more))).outcome

    async def rows(self, relation: str) -> list[Any]:
        return await self.memory.rows(self.project, READ[relation])


@pytest_asyncio.fixture
async def linker(database: Database, project: ProjectRef, memory: Memory) -> Linker:
    """Two events; entity 1 jo (person), 2 José (person), 3 jo (place)."""
    names = [("jo", "person"), ("José", "person"), ("jo", "place")]
    await memory.save(project, [{"summary": "the plan", "entities": names}, {"summary": "the proof"}])
    return Linker(database, project, memory)


async def test_what_follows_is_linked_once_per_source_and_taken_back(linker: Linker) -> None:
    assert [await linker.link("NEXT", "evt_1", "evt_2") for _ in range(2)] == ["created", "unchanged"]
    assert await linker.link("NEXT", "evt_1", "evt_2", source="user_manual") == "created"
    assert sorted(row["source"] for row in await linker.rows("NEXT")) == ["thread", "user_manual"]
    assert [await linker.link("NEXT", "evt_1", "evt_2", revoke=True) for _ in range(2)] == ["revoked", "unchanged"]
    assert [row["source"] for row in await linker.rows("NEXT")] == ["user_manual"]


async def test_a_revoked_resolution_is_kept_and_revives_with_a_new_date(linker: Linker) -> None:
    assert [await linker.link("RESOLVED_BY", "evt_1", "evt_2") for _ in range(2)] == ["created", "unchanged"]
    (first,) = await linker.rows("RESOLVED_BY")
    assert (first["asserted_by"], first["revoked_at"]) == ("me", None)
    assert [await linker.link("RESOLVED_BY", "evt_1", "evt_2", revoke=True) for _ in range(2)] == ["revoked", "unchanged"]
    (revoked,) = await linker.rows("RESOLVED_BY")
    assert revoked["revoked_at"] > first["asserted_at"]
    assert await linker.link("RESOLVED_BY", "evt_1", "evt_2") == "revived"
    (revived,) = await linker.rows("RESOLVED_BY")
    assert revived["revoked_at"] is None
    assert revived["asserted_at"] > revoked["revoked_at"]


async def test_names_are_one_thing_by_name_or_id_in_either_order(linker: Linker) -> None:
    assert await linker.link("SAME_AS", "ent_1", "Jose\u0301", confidence=0.5) == "created"
    assert await linker.link("SAME_AS", "ent_2", "ent_1", confidence=0.5) == "unchanged"
    assert await linker.link("SAME_AS", "ent_2", "ent_1", confidence=0.75) == "changed"
    assert [tuple(row) for row in await linker.rows("SAME_AS")] == [(1, 2, 0.75, "me")]
    assert [await linker.link("SAME_AS", "José", "ent_1", revoke=True) for _ in range(2)] == ["revoked", "unchanged"]
    assert await linker.rows("SAME_AS") == []


@pytest.mark.parametrize(
    ("relation", "start", "end", "more", "error"),
    [
        ("NEXT", "evt_1", "evt_9", {}, NotFound),
        ("NEXT", "evt_9", "evt_1", {"revoke": True}, NotFound),
        ("RESOLVED_BY", "evt_9", "evt_1", {}, NotFound),
        ("NEXT", "evt_1", "evt_1", {}, InvalidRequest),
        ("RESOLVED_BY", "evt_2", "evt_2", {}, InvalidRequest),
        ("RESOLVED_BY", "ent_1", "evt_2", {}, InvalidRequest),
        ("RESOLVED_BY", "evt_1", "evt_2", {"source": "thread"}, InvalidRequest),
        ("NEXT", "evt_1", "evt_2", {"confidence": 0.5}, InvalidRequest),
        ("SAME_AS", "José", "ent_2", {}, InvalidRequest),
        ("SAME_AS", "José", "nobody", {}, NotFound),
        ("SAME_AS", "José", "ent_9", {}, NotFound),
        ("SAME_AS", "José", "jo", {}, InvalidRequest),
        ("SAME_AS", "José", "ent_1", {"confidence": 1.5}, InvalidRequest),
    ],
)
async def test_what_cannot_be_linked_stores_nothing(
    linker: Linker, relation: str, start: str, end: str, more: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await linker.link(relation, start, end, **more)
    assert [await linker.rows(each) for each in READ] == [[], [], []]


async def test_a_name_of_several_entities_is_told_apart_by_the_hint(linker: Linker) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        await linker.link("SAME_AS", "José", "jo")
    assert refusal.value.hint == "Give the id of one: ent_1 (person), ent_3 (place)."


async def test_many_at_once_make_one_link(linker: Linker) -> None:
    outcomes = await asyncio.gather(*(linker.link("RESOLVED_BY", "evt_1", "evt_2") for _ in range(10)))
    assert sorted(outcomes) == ["created", *["unchanged"] * 9]


async def test_links_and_imported_aliases_are_the_same(linker: Linker) -> None:
    pair = AliasInput(EntityInput("José", "person"), EntityInput("jo", "person"))
    assert await save_aliases(linker.memory.database, linker.project, [pair]) == 1
    assert await linker.link("SAME_AS", "ent_1", "ent_2") == "unchanged"
