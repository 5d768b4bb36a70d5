"""A workspace with an embedding provider of its own: tried out when it is set, kept secret, used by worker and queries, shared with nobody."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from service.access.keys import ALL_SCOPES, Caller
from service.access.scope import Scopes
from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.embed.backfill import Backfill, Reach
from service.embed.own import OwnProviders
from service.embed.query import OwnEmbedders, QueryEmbedder
from service.embed.query_cache import QueryCache
from service.embed.sealed import Seal
from service.errors import Conflict, Forbidden, InvalidRequest
from service.operations import CATALOGUE
from service.operations.operation import Services
from service.operations.perform import perform
from service.settings import Settings
from tests.conftest import Memory, Projects
from tests.integration.embed.conftest import Meanings
from tests.integration.embed.misbehaving import KEY, PROSE, Misbehaving, Reply, assert_discreet, misbehaving, refusal, watch_logs
from tests.integration.embed.test_backfill import Letters

PEPPER = "a pepper for tests"
SETTINGS = Settings(embedding_workspace_hosts=["127.0.0.1"])


@pytest.fixture(autouse=True)
def discretion(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield from watch_logs(caplog, capfd)


class House:
    """A server with a worker; its own provider makes three numbers of a text."""

    def __init__(self, database: Database, owner: OwnerDatabase, settings: Settings = SETTINGS, pepper: str = PEPPER) -> None:
        self.letters = Letters()
        self.database, self.owner = database, owner
        self.providers = OwnProviders(settings, Seal(pepper), self.letters, partial(database.control, "find_embedding"))
        self.embedder = QueryEmbedder(self.letters, QueryCache(), 5.0)
        self.services = Services(
            database=database,
            scopes=Scopes(database),
            settings=settings,
            embedder=self.embedder,
            pepper=pepper,
            own_embedders=OwnEmbedders(self.providers, QueryCache(), 5.0),
        )
        self.read_by_worker = OwnProviders(settings, Seal(pepper), self.letters, self._read)
        self.backfill = Backfill(owner, self.letters, reach=Reach(self.read_by_worker))

    async def _read(self, workspace_id: int) -> Sequence[Any]:
        return await self.owner.fetch(load("control", "worker")["find_embedding"].sql, workspace_id)

    async def ask(self, project: ProjectRef, name: str, *scopes: str, bound: bool = False, **arguments: Any) -> Any:
        only = frozenset({project.project_id}) if bound else None
        caller = Caller(
            "k", project.workspace_id, project.workspace, project.role, frozenset(scopes or ALL_SCOPES), only, project.project_id
        )
        operation = next(each for each in CATALOGUE if each.name == name)
        return await perform(self.services, caller, operation, msgspec.convert(arguments, operation.request))

    async def work(self) -> None:
        await self.owner.fetch("UPDATE control.due SET next_at = now()")
        while (await self.backfill.run_round()).more:
            pass

    async def close(self) -> None:
        await self.providers.close()
        await self.read_by_worker.close()


@pytest_asyncio.fixture(loop_scope="session")
async def house(database: Database, owner: OwnerDatabase) -> AsyncIterator[House]:
    made = House(database, owner)
    yield made
    await made.close()


@pytest.fixture
def mine(projects: Projects) -> ProjectRef:
    return projects.make(dim=3)


def own(server: Misbehaving, **more: Any) -> dict[str, Any]:
    return {"provider": "openai", "model": "m", "url": f"{server.url}/v1", "key": KEY, **more}


async def test_it_is_tried_out_kept_sealed_and_shown_without_the_key(
    house: House, mine: ProjectRef, embeddings: Misbehaving, owner: OwnerDatabase
) -> None:
    before = await house.ask(mine, "read_embedding")
    assert (before.own, before.model, before.url) == (False, "vectors", None)
    shown = await house.ask(mine, "set_embedding", **own(embeddings))
    assert (shown.own, shown.provider, shown.model, shown.dim, shown.has_key) == (True, "openai", "m", 384, True)
    assert KEY not in repr(shown)
    assert embeddings.calls[-1].headers["authorization"] == f"Bearer {KEY}"
    (row,) = await owner.fetch(
        "SELECT w::text AS row, sealed_key FROM control.workspace_embedding AS w WHERE workspace_id = $1", mine.workspace_id
    )
    assert KEY not in row["row"]
    assert Seal(PEPPER).open(row["sealed_key"], mine.workspace_id).reveal() == KEY
    assert Seal(PEPPER).open(row["sealed_key"], mine.workspace_id + 1) is None
    assert Seal("another").open(row["sealed_key"], mine.workspace_id) is None
    assert Seal("").open(row["sealed_key"], mine.workspace_id) is None
    after = await house.ask(mine, "clear_embedding")
    assert (after.own, after.model) == (False, "vectors")
    with pytest.raises(Conflict):
        Seal("").seal(Seal(PEPPER).open(row["sealed_key"], mine.workspace_id), mine.workspace_id)


@pytest.mark.parametrize(
    "reply",
    [
        refusal(401),
        refusal(402),
        refusal(429, retry_after="3600"),
        refusal(500),
        PROSE,
        Reply(body=b"{}"),
        Reply(body=b'{"data": [{"embedding": [0, 0]}]}'),
    ],
    ids=["401", "402", "429", "500", "prose", "empty", "zeros"],
)
async def test_settings_that_give_no_vector_change_nothing(house: House, mine: ProjectRef, embeddings: Misbehaving, reply: Reply) -> None:
    embeddings.rule = lambda call: reply
    for dim in ({}, {"dim": 2}):
        with pytest.raises(InvalidRequest) as caught:
            await house.ask(mine, "set_embedding", **own(embeddings, **dim))
        assert_discreet(caught.value)
    assert not (await house.ask(mine, "read_embedding")).own


@pytest.mark.parametrize(
    "wrong",
    [
        {"provider": "openai", "url": "http://169.254.169.254/v1", "key": KEY},
        {"provider": "openai", "url": f"http://user:{KEY}@127.0.0.1/v1"},
        {"provider": "openai", "url": "file:///etc/passwd", "key": KEY},
        {"provider": "openai"},
        {"provider": "ollama", "url": "http://localhost:11434"},
        {"provider": "openai", "url": "http://127.0.0.1:1/v1", "key": f"{KEY}\r\nx: y", "dim": 3},
        {"provider": "local", "url": "http://127.0.0.1/"},
        {"provider": "local", "model": "/etc"},
        {"provider": "none", "key": KEY},
    ],
)
async def test_what_would_lead_elsewhere_is_refused(house: House, mine: ProjectRef, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await house.ask(mine, "set_embedding", **wrong)
    assert KEY not in f"{caught.value!r} {caught.value.members}"
    assert not (await house.ask(mine, "read_embedding")).own


async def test_only_an_admin_of_the_whole_workspace_may(house: House, mine: ProjectRef, embeddings: Misbehaving) -> None:
    for name, arguments in (("set_embedding", own(embeddings)), ("clear_embedding", {})):
        with pytest.raises(Forbidden):
            await house.ask(mine, name, "read", "write", **arguments)
        with pytest.raises(Forbidden):
            await house.ask(mine, name, bound=True, **arguments)
    assert embeddings.calls == []


async def test_a_key_that_is_kept_goes_to_no_other_address(
    house: House, mine: ProjectRef, embeddings: Misbehaving, meanings: Meanings
) -> None:
    await house.ask(mine, "set_embedding", **own(embeddings))
    same = await house.ask(mine, "set_embedding", **own(embeddings, key=None, query_prefix="query: "))
    assert same.has_key
    async with misbehaving(meanings.well) as other:
        elsewhere = await house.ask(mine, "set_embedding", **own(other, key=None))
        assert not elsewhere.has_key
        assert [call.headers.get("authorization") for call in other.calls] == [None] * len(other.calls)
    await house.ask(mine, "clear_embedding")


async def test_worker_and_queries_use_it_and_the_neighbour_goes_on(
    house: House, mine: ProjectRef, projects: Projects, memory: Memory, embeddings: Misbehaving
) -> None:
    other = projects.make(dim=3)
    for each in (mine, other):
        await memory.save(each, [{"summary": f"{each.schema} the disk was full"}])
    await house.work()
    await house.ask(mine, "set_embedding", **own(embeddings))
    await memory.save(mine, [{"summary": f"{mine.schema} penguins on the ice"}])
    embeddings.calls.clear()
    await house.work()
    await house.work()
    sent = [text for call in embeddings.calls for text in call.texts]
    assert len([text for text in sent if mine.schema in text]) == 2
    assert not any(other.schema in text for text in sent)
    models = await memory.rows(mine, "SELECT model FROM m_0.space WHERE current")
    assert [row["model"] for row in models] == ["m"]
    async with asyncio.timeout(20):
        while True:  # a process may know the earlier space for two seconds
            found = await house.ask(mine, "memory_query", query="birds of the south pole", explain=True)
            if "vector" in found.streams_active:
                break
    assert found.raw_hits[0].summary.endswith("penguins on the ice")
    assert "birds of the south pole" in embeddings.calls[-1].texts[0]
    assert "birds" not in " ".join(house.letters.asked)
    assert {row["model"] for row in await memory.rows(other, "SELECT model FROM m_0.space")} == {"vectors"}
    created = await house.ask(mine, "create_project", slug=f"new-{mine.project_id}")
    assert created.created
    await house.ask(mine, "clear_embedding")
    await house.work()
    assert [row["model"] for row in await memory.rows(mine, "SELECT model FROM m_0.space WHERE current")] == ["vectors"]


async def test_two_workspaces_at_one_model_share_no_answer(
    house: House, mine: ProjectRef, projects: Projects, memory: Memory, embeddings: Misbehaving, meanings: Meanings
) -> None:
    other = projects.make(dim=3)
    async with misbehaving(meanings.well) as second:
        for project, server in ((mine, embeddings), (other, second)):
            await memory.save(project, [{"summary": f"{project.schema} one"}])
            await house.ask(project, "set_embedding", **own(server))
        await house.work()
        for server in (embeddings, second):
            server.calls.clear()
        for project, server in ((mine, embeddings), (other, second)):
            embedder = await house.services.own_embedders.fitting(project.workspace_id, None, house.embedder)
            await embedder("the same question")
            await embedder("the same question")
            assert [call.texts for call in server.calls] == [["the same question"]]
        for project in (mine, other):
            await house.ask(project, "clear_embedding")


async def test_a_provider_that_is_away_keeps_only_its_workspace_waiting(
    house: House, mine: ProjectRef, projects: Projects, memory: Memory, embeddings: Misbehaving
) -> None:
    other = projects.make(dim=3)
    await house.ask(mine, "set_embedding", **own(embeddings))
    embeddings.rule = lambda call: refusal(401)
    embeddings.calls.clear()
    for each in (mine, other):
        await memory.save(each, [{"summary": f"{each.schema} one"}])
    await house.work()
    assert any(other.schema in text for text in house.letters.asked)
    progress = await house.ask(mine, "embedding_progress")
    assert (progress.model, progress.done, progress.left, progress.failed) == ("m", 0, 1, 0)
    embeddings.behave()
    await house.owner.fetch("UPDATE control.due SET next_at = now()")
    await house.work()
    progress = await house.ask(mine, "embedding_progress")
    assert (progress.done, progress.left, progress.current, progress.working) == (1, 0, True, False)
    await house.ask(mine, "clear_embedding")


async def test_a_workspace_may_want_no_vectors(house: House, mine: ProjectRef, memory: Memory) -> None:
    await memory.save(mine, [{"summary": f"{mine.schema} one"}])
    shown = await house.ask(mine, "set_embedding", provider="none")
    assert (shown.own, shown.provider, shown.dim) == (True, "none", None)
    await house.work()
    assert not any(mine.schema in text for text in house.letters.asked)
    found = await house.ask(mine, "memory_query", query=mine.schema)
    assert "vector" not in found.streams_active
    assert any("No embedder" in note for note in found.notes)
    await house.ask(mine, "clear_embedding")
    await house.work()
    assert any(mine.schema in text for text in house.letters.asked)


async def test_what_it_was_before_is_forgotten_once_its_vectors_are(
    house: House, mine: ProjectRef, memory: Memory, embeddings: Misbehaving, owner: OwnerDatabase
) -> None:
    await memory.save(mine, [{"summary": "one"}])
    await house.ask(mine, "set_embedding", **own(embeddings))
    await house.work()
    await house.ask(mine, "set_embedding", provider="local")
    count = "SELECT count(*) AS n FROM control.workspace_embedding WHERE workspace_id = $1 AND sealed_key IS NOT NULL"
    assert (await owner.fetch(count, mine.workspace_id))[0]["n"] == 1
    drop = load("control", "worker")["drop_left_embedding"].sql
    await owner.fetch(drop)
    assert (await owner.fetch(count, mine.workspace_id))[0]["n"] == 1
    await house.work()
    await owner.fetch("DELETE FROM control.due")
    await owner.fetch(drop)
    assert (await owner.fetch(count, mine.workspace_id))[0]["n"] == 0
    await house.ask(mine, "clear_embedding")


async def test_vectors_made_anew_on_demand_and_asked_twice_made_once(house: House, mine: ProjectRef, memory: Memory) -> None:
    await memory.save(mine, [{"summary": f"{mine.schema} one"}, {"summary": f"{mine.schema} two"}])
    await house.work()
    house.letters.asked.clear()
    done = await house.ask(mine, "embed_project")
    assert (done.passages, done.done, done.left, done.working) == (2, 2, 0, True)
    await house.work()
    assert house.letters.asked == []
    first = await house.ask(mine, "embed_project", reembed=True)
    again = await house.ask(mine, "embed_project", reembed=True)
    assert (first.done, first.left, first.anew_from) == (0, 2, again.anew_from)
    await house.work()
    assert len(house.letters.asked) == 2
    over = await house.ask(mine, "embedding_progress", "read")
    assert (over.done, over.left, over.working, over.anew_from) == (2, 0, False, None)
    await house.work()
    assert len(house.letters.asked) == 2
    with pytest.raises(Forbidden):
        await house.ask(mine, "embed_project", "read", "write", reembed=True)


async def test_what_was_given_up_is_tried_again_on_demand(house: House, mine: ProjectRef, memory: Memory, owner: OwnerDatabase) -> None:
    await memory.save(mine, [{"summary": f"{mine.schema} poison"}])
    for _ in range(5):
        await owner.fetch("UPDATE m_0.embed_failure SET retry_at = now()", project=mine.project_id)
        await house.work()
    assert (await house.ask(mine, "embedding_progress")).failed == 1
    asked = len(house.letters.asked)
    await house.ask(mine, "embed_project")
    await house.work()
    assert len(house.letters.asked) == asked + 1
