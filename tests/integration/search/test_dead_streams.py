"""A stream that fails or waits in the database costs itself and is named; the others answer. What is wrong stands in the log, in no one's words."""

import asyncpg
import pytest
from structlog.testing import capture_logs

from service.db.embedded import EmbeddedServer
from service.db.scope import ProjectRef
from service.errors import NotFound
from service.search.parse import SearchSettings
from tests.conftest import Memory, Projects
from tests.integration.search.conftest import Ask, FixedEmbedder, events

ALL = ("fts", "entity", "graph", "vector")
# Each as a restore or a migration that has yet to run may leave it.
BROKEN = {
    "passage RENAME COLUMN words TO words_": ("fts",),
    "participation RENAME COLUMN entity_id TO entity": ("entity", "graph"),
    "entity RENAME COLUMN folded TO folded_": ("fts", "entity"),
    "next_link RENAME COLUMN to_id TO to_": ("graph",),
    "{vectors} RENAME COLUMN vector TO vector_": ("vector",),
}


@pytest.fixture
async def marsh(projects: Projects, memory: Memory) -> ProjectRef:
    project = projects.make(dim=2)
    saved = await memory.save(
        project,
        [{"summary": "bittern", "entities": [("Reedbed", "place")]}, {"summary": "Reedbed at dawn", "entities": [("Reedbed", "place")]}],
    )
    await memory.vectors(project, {saved[0]: [1.0, 0.0], saved[1]: [0.8, 0.6]})
    return project


async def named(memory: Memory, project: ProjectRef, text: str) -> str:
    """The text with the name of the project's table of vectors."""
    async with memory.database.read(project) as tx:
        assert tx.space
        return text.format(vectors=f"vector_{tx.space.id}")


async def change(server: EmbeddedServer, memory: Memory, project: ProjectRef, statement: str) -> None:
    table = await named(memory, project, statement)
    owner = await asyncpg.connect(server.owner_url)
    await owner.execute(f"ALTER TABLE {project.schema}.{table}")
    await owner.close()


@pytest.mark.parametrize(("statement", "dead"), BROKEN.items(), ids=[" ".join(dead) for dead in BROKEN.values()])
@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
async def test_the_others_answer_and_a_note_names_it(
    server: EmbeddedServer,
    projects: Projects,
    memory: Memory,
    marsh: ProjectRef,
    ask: Ask,
    statement: str,
    dead: tuple[str, ...],
    several: bool,
) -> None:
    beside = [projects.make(marsh.workspace, dim=2)] if several else []
    await change(server, memory, marsh, statement)
    with capture_logs() as logs:
        answer = await ask([marsh, *beside], "bittern in the Reedbed", embed=FixedEmbedder([1.0, 0.0]), explain=True)
    assert set(events(answer)) == {"evt_1", "evt_2"}
    where = f" in {marsh.name}" if several else ""
    said = [f"The {name} stream failed in the database and is absent{where}; the server's log has the kind of error." for name in dead]
    assert [note for note in answer.notes if "stream failed" in note] == said
    if not several:  # the other project's streams answered
        assert answer.streams_active == [name for name in ALL if name not in dead]
    told = [line for line in logs if line["event"] == "stream failed"]
    assert {name for line in told for name in line["streams"]} == set(dead)
    assert {(line["error"], line["sqlstate"]) for line in told} == {("UndefinedColumnError", "42703")}
    assert "bittern" not in str(logs)


HELD = {"lexeme": ("fts", "entity"), "participation": ("entity", "graph"), "next_link": ("graph",), "{vectors}": ("vector",)}


@pytest.mark.parametrize(("table", "dead"), HELD.items(), ids=[" ".join(dead) for dead in HELD.values()])
async def test_a_stream_that_waits_too_long_is_cut_and_the_others_answer(
    server: EmbeddedServer, memory: Memory, marsh: ProjectRef, ask: Ask, table: str, dead: tuple[str, ...]
) -> None:
    name = await named(memory, marsh, table)
    owner = await asyncpg.connect(server.owner_url)
    async with owner.transaction():
        await owner.execute(f"LOCK TABLE {marsh.schema}.{name}")
        settings = SearchSettings(statement_ms=300, deadline_ms=60_000)
        answer = await ask(marsh, "bittern in the Reedbed", embed=FixedEmbedder([1.0, 0.0]), settings=settings)
    await owner.close()
    assert set(events(answer)) == {"evt_1", "evt_2"}
    assert answer.streams_active == [stream for stream in ALL if stream not in dead]
    assert answer.partial
    assert [(cut.where, cut.reason) for cut in answer.truncated] == [(stream, "statement_timeout") for stream in dead]


async def test_a_project_that_is_gone_is_no_stream_that_failed(projects: Projects, ask: Ask) -> None:
    here = projects.make()
    gone = ProjectRef(here.workspace_id, here.workspace, here.role, 10**9, "gone")
    with pytest.raises(NotFound):
        await ask(gone, "bittern")
