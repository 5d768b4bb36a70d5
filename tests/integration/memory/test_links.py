import pytest

from service.db.scope import ProjectRef
from service.errors import InvalidRequest, NotFound
from service.memory.links import AliasInput, save_aliases
from service.memory.names import EntityInput
from tests.conftest import Memory

READ = (
    "SELECT a.name AS a, b.name AS b, s.confidence, s.asserted_by, s.asserted_at FROM m_0.alias AS s "
    "JOIN m_0.entity AS a ON a.id = s.a_id JOIN m_0.entity AS b ON b.id = s.b_id ORDER BY s.a_id, s.b_id"
)


def alias(a: str, b: str, confidence: float = 1.0) -> AliasInput:
    return AliasInput(EntityInput(a, "person"), EntityInput(b, "person"), confidence)


async def people(memory: Memory, project: ProjectRef) -> None:
    await memory.save(project, [{"summary": "they met", "entities": [("José", "person"), ("jo", "person"), ("Pepe", "person")]}])


async def test_a_pair_is_stored_once_whichever_name_comes_first(memory: Memory, project: ProjectRef) -> None:
    await people(memory, project)
    assert await save_aliases(memory.database, project, [alias("jo", "Jose\u0301", 0.5), alias("José", "Pepe")], "me") == 2
    before = await memory.rows(project, READ)
    assert await save_aliases(memory.database, project, [alias("José", "jo", 0.5), alias(" Pepe ", "José")], "you") == 0
    assert await memory.rows(project, READ) == before
    found = [(row["a"], row["b"], row["confidence"], row["asserted_by"]) for row in before]
    assert found == [("José", "jo", 0.5, "me"), ("José", "Pepe", 1, "me")]


async def test_another_confidence_replaces_the_first(memory: Memory, project: ProjectRef) -> None:
    await people(memory, project)
    await save_aliases(memory.database, project, [alias("jo", "José", 0.5)], "me")
    assert await save_aliases(memory.database, project, [alias("jo", "José", 0.25), alias("José", "jo", 0.75)], "you") == 1
    assert [(row["confidence"], row["asserted_by"]) for row in await memory.rows(project, READ)] == [(0.75, "you")]


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (alias("jo", "nobody"), NotFound),
        (AliasInput(EntityInput("jo", "place"), EntityInput("José", "person")), NotFound),
        (alias("jo", "jo"), InvalidRequest),
        (alias("jo", "Pepe", 1.5), InvalidRequest),
        (alias("jo", "Pepe", float("nan")), InvalidRequest),
    ],
)
async def test_a_bad_pair_stores_nothing(memory: Memory, project: ProjectRef, bad: AliasInput, error: type[Exception]) -> None:
    await people(memory, project)
    with pytest.raises(error):
        await save_aliases(memory.database, project, [alias("jo", "José"), bad])
    assert await memory.rows(project, READ) == []


async def test_no_pairs_are_no_work(memory: Memory, project: ProjectRef) -> None:
    assert await save_aliases(memory.database, project, []) == 0
