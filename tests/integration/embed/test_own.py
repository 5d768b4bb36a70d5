"""A workspace with an embedding provider of its own: tried out when it is set, kept secret, used by worker and queries, shared with nobody."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from service.db.owner import OwnerDatabase
from service.db.queries import load
from service.db.scope import ProjectRef
from service.embed.sealed import Seal
from service.errors import Conflict, Forbidden, InvalidRequest
from service.settings import Settings
from tests.conftest import Memory, Projects
from tests.integration.embed.conftest import Meanings
from tests.integration.embed.house import PEPPER, House, own
from tests.integration.embed.misbehaving import KEY, PROSE, Misbehaving, Reply, assert_discreet, misbehaving, refusal, watch_logs


@pytest.fixture(autouse=True)
def discretion(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield from watch_logs(caplog, capfd)


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
    ("reply", "said"),
    [
        (refusal(401), "it refuses the key"),
        (refusal(402), "it wants to be paid"),
        (refusal(429, retry_after="3600"), "it was asked too often"),
        (refusal(500), ""),
        (PROSE, ""),
        (Reply(body=b"{}"), ""),
        (Reply(body=b'{"data": [{"embedding": [0, 0]}]}'), ""),
    ],
    ids=["401", "402", "429", "500", "prose", "empty", "zeros"],
)
async def test_settings_that_give_no_vector_change_nothing(
    house: House, mine: ProjectRef, embeddings: Misbehaving, reply: Reply, said: str
) -> None:
    embeddings.rule = lambda call: reply
    for dim in ({}, {"dim": 2}):
        with pytest.raises(InvalidRequest) as caught:
            await house.ask(mine, "set_embedding", **own(embeddings, **dim))
        assert_discreet(caught.value)
        assert said in caught.value.message
    assert not (await house.ask(mine, "read_embedding")).own


@pytest.mark.parametrize(
    "wrong",
    [
        {"provider": "openai", "url": "http://169.254.169.254/v1", "key": KEY},
        {"provider": "openai", "url": f"http://user:{KEY}@127.0.0.1/v1"},
        {"provider": "openai", "url": "file:///etc/passwd", "key": KEY},
        {"provider": "openai", "url": f"http://127.0.0.1/v1?api_key={KEY}"},
        {"provider": "openai", "url": f"http://127.0.0.1/v1?api-version=1&Subscription-Key={KEY}"},
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
    async with asyncio.timeout(60):
        while True:  # a process may know the earlier space for two seconds
            found = await house.ask(mine, "memory_query", query="birds of the south pole", explain=True)
            if "vector" in found.streams_active:
                break
    assert found.raw_hits[0].summary.endswith("penguins on the ice")
    assert "birds of the south pole" in embeddings.calls[-1].texts[0]
    assert "birds of the south pole" not in house.letters.asked
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


async def test_a_host_that_is_not_open_here_is_named_and_not_called(
    house: House, mine: ProjectRef, memory: Memory, embeddings: Misbehaving, owner: OwnerDatabase
) -> None:
    """As in a shell, or after a start, that lacks the server's setting."""
    await house.ask(mine, "set_embedding", **own(embeddings))
    await memory.save(mine, [{"summary": "the crab walks sideways"}])
    calls = len(embeddings.calls)
    elsewhere = House(house.database, owner, Settings())
    await owner.fetch("UPDATE control.due SET next_at = now()")
    with capture_logs() as logs:
        unavailable = (await elsewhere.backfill.run_round([mine.project_id])).unavailable
    await elsewhere.close()
    assert unavailable is not None
    assert "MUNIMENT_EMBEDDING_WORKSPACE_HOSTS" in unavailable.message
    assert "'127.0.0.1'" in unavailable.message
    assert "MUNIMENT_EMBEDDING_WORKSPACE_HOSTS" in str(unavailable.hint)
    assert len(embeddings.calls) == calls
    (told,) = [each for each in logs if "cannot be had" in each["event"]]
    assert told["workspace_id"] == mine.workspace_id
    assert "MUNIMENT_EMBEDDING_WORKSPACE_HOSTS" in told["reason"]
    assert "127.0.0.1" in told["reason"]
    await house.work()
    assert len(embeddings.calls) > calls


async def test_a_key_that_was_sealed_with_another_secret_is_told(
    house: House, mine: ProjectRef, memory: Memory, embeddings: Misbehaving, owner: OwnerDatabase
) -> None:
    await house.ask(mine, "set_embedding", **own(embeddings))
    await memory.save(mine, [{"summary": "the crab walks sideways"}])
    elsewhere = House(house.database, owner, pepper="another")
    await owner.fetch("UPDATE control.due SET next_at = now()")
    unavailable = (await elsewhere.backfill.run_round([mine.project_id])).unavailable
    await elsewhere.close()
    assert unavailable is not None
    assert "another secret" in unavailable.message
