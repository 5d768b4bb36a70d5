"""A Postgres that hangs: its processes are stopped, so that connections stand and nothing answers."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
import pytest_asyncio

from service.db import silence
from service.db.embedded import EmbeddedServer, start_embedded
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.db.silence import GRACE_S
from service.errors import DatabaseBusy, DatabaseUnavailable
from service.settings import Settings
from service.sqltool import run
from service.sqltool.parse import parse
from service.sqltool.run import SqlLimits, run_query
from service.tenants.migrate import migrate
from service.tenants.owner import owner_connection
from tests.conftest import Projects
from tests.integration.surface.conftest import MakeKey, Running, run_app
from tests.mcp.conftest import post

MCP = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_status", "arguments": {}}}


@pytest.fixture(scope="module", autouse=True)
def impatience() -> Iterator[None]:
    """What servers wait for a database that is silent, and not what tests do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(silence, "GRACE_S", GRACE_S)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("silent")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[EmbeddedServer]:
    """A server of this file's own, in the place of the one that all share."""
    started = start_embedded(folder)
    yield started
    started.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def own(server: EmbeddedServer) -> AsyncIterator[Database]:
    api_url = migrate(server.owner_url, superuser_allowed=True).api_url
    opened = await Database.open(api_url, max_size=10, statement_ms=2000)
    yield opened
    await opened.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def serving(own: Database) -> AsyncIterator[Running]:
    settings = Settings(embedding_provider="none", search_statement_ms=1000, graph_statement_ms=1000, sql_statement_ms=2000)
    async with run_app(own, settings) as served:
        yield served


@pytest.fixture
def project(server: EmbeddedServer, own: Database) -> ProjectRef:
    return Projects(server.owner_url).make()


@pytest_asyncio.fixture
async def client(serving: Running, project: ProjectRef, make_api_key: MakeKey) -> AsyncIterator[httpx2.AsyncClient]:
    """A client whose key is known by now."""
    async with serving.client(make_api_key(project, "read", "write")) as opened:
        assert (await opened.get(f"{_base(project)}/status")).status_code == 200
        yield opened


def _base(project: ProjectRef) -> str:
    return f"/api/v1/workspaces/{project.workspace}/projects/{project.project}"


def _postmaster(folder: Path) -> psutil.Process:
    return psutil.Process(int((folder / "postgres/postmaster.pid").read_text().partition("\n")[0]))


@contextmanager
def _stopped(*processes: psutil.Process) -> Iterator[None]:
    """These, and the server's children when it is one of them, answer nothing within; a child may end by itself before."""
    signalled: list[psutil.Process] = []
    for process in processes:
        process.send_signal(signal.SIGSTOP)
        signalled.append(process)
        for child in process.children():
            with suppress(psutil.NoSuchProcess):
                child.send_signal(signal.SIGSTOP)
                signalled.append(child)
    try:
        yield
    finally:
        for process in signalled:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)


def _calls(client: httpx2.AsyncClient, base: str) -> list[Awaitable[httpx2.Response]]:
    """One of each kind."""
    return [
        client.post(f"{base}/events", json={"summary": "A plan.", "ingest_key": "once"}),
        client.get(f"{base}/timeline"),
        client.get(f"{base}/status"),
        client.post("/api/v1/search", json={"query": "plan"}),
        client.post("/api/v1/graph", json={"query": "START a = events(entity: 'x', k: 5) RETURN a.id"}),
        client.post("/api/v1/sql", json={"sql": "SELECT 1"}),
        client.get(f"{base}/export"),
    ]


async def _until_ready(client: httpx2.AsyncClient) -> None:
    async with asyncio.timeout(60):
        while (await client.get("/readyz")).status_code != 200:
            pass


async def test_every_call_ends_and_all_goes_on_afterwards(
    client: httpx2.AsyncClient, serving: Running, project: ProjectRef, folder: Path
) -> None:
    base = _base(project)
    with _stopped(_postmaster(folder)):
        async with asyncio.timeout(60):
            replies = await asyncio.gather(*_calls(client, base))
            over_mcp = await post(client, MCP)
            ready, alive = await client.get("/readyz"), await client.get("/livez")
            again = await asyncio.gather(*_calls(client, base))
    assert {(reply.status_code, reply.json()["code"]) for reply in [*replies, *again]} == {(503, "database_unavailable")}
    assert {reply.headers["retry-after"] for reply in replies} == {"2"}
    assert (over_mcp.status_code, over_mcp.json()["code"]) == (503, "database_unavailable")
    assert (ready.status_code, ready.json()["degraded"], alive.status_code) == (503, ["database"], 200)
    await _until_ready(client)
    for _ in range(3):  # more calls than there are connections
        answers = await asyncio.gather(*_calls(client, base))
        assert {reply.status_code for reply in answers} == {200}, [reply.text[:200] for reply in answers]
    # A write whose answer was lost can be sent again.
    assert (await client.get(f"{base}/status")).json()["counts"]["events"] == 1


async def test_a_single_connection_that_hangs_is_given_up(own: Database, project: ProjectRef) -> None:
    pids: list[int] = []

    async def hang() -> None:
        async with asyncio.timeout(30), own.write(project) as tx:
            pids.append(await tx.fetchval("SELECT pg_backend_pid()"))
            with _stopped(psutil.Process(pids[0])):
                await tx.fetch("SELECT 1")

    with pytest.raises(DatabaseUnavailable):
        await hang()
    async with own.read(project) as tx:
        assert await tx.fetchval("SELECT pg_backend_pid()") not in pids


async def test_a_commit_that_hangs_is_given_up(own: Database, project: ProjectRef) -> None:
    async def hang(hanging: ExitStack) -> None:
        async with asyncio.timeout(30), own.write(project) as tx:
            hanging.enter_context(_stopped(psutil.Process(await tx.fetchval("SELECT pg_backend_pid()"))))

    with ExitStack() as hanging, pytest.raises(DatabaseUnavailable):
        await hang(hanging)
    async with own.read(project) as tx:
        assert await tx.fetchval("SELECT 1") == 1


async def test_free_queries_that_nothing_ends_let_no_others_in(
    own: Database, server: EmbeddedServer, project: ProjectRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a query outlives its limit and its connection: as many as may run at once, and no more, however often they are asked."""
    monkeypatch.setattr(run, "check", lambda text, params: parse(text))

    async def ask(text: str) -> Any:
        return await run_query(own, project, text, [], limits=SqlLimits(statement_ms=5_000))

    def running() -> list[psutil.Process]:
        with owner_connection(server.owner_url) as owner:
            asked = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%\\_read\\_rows(%' AND pid <> pg_backend_pid()"
            return [psutil.Process(row["pid"]) for row in owner.execute(asked).fetchall()]

    asking = [asyncio.ensure_future(ask("SELECT pg_sleep(60)")) for _ in range(2)]
    async with asyncio.timeout(30):
        while len(found := await asyncio.to_thread(running)) < 2:
            pass
    with _stopped(*found):
        ended = await asyncio.gather(*asking, return_exceptions=True)
        assert {type(each) for each in ended} == {DatabaseUnavailable}
        with pytest.raises(DatabaseBusy, match="cannot stop"):
            await ask("SELECT 1")
        async with own.read(project) as tx:  # others are served
            assert await tx.fetchval("SELECT 1") == 1
    async with asyncio.timeout(30):
        while await asyncio.to_thread(running):
            pass
    assert (await ask("SELECT 1")).rows == [[1]]


async def test_more_free_queries_than_may_run_wait_for_their_turn(own: Database, project: ProjectRef) -> None:
    answers = await asyncio.gather(*(run_query(own, project, f"SELECT {n}", [], limits=SqlLimits()) for n in range(20)))
    assert [answer.rows for answer in answers] == [[[n]] for n in range(20)]


async def test_callers_that_leave_while_it_hangs_hold_nothing(own: Database, project: ProjectRef, folder: Path) -> None:
    with _stopped(_postmaster(folder)):
        asking = [asyncio.ensure_future(_one(own, project)) for _ in range(20)]
        await asyncio.wait(asking, timeout=0.1)
        for each in asking:
            each.cancel()
        async with asyncio.timeout(30):
            ended = await asyncio.gather(*asking, return_exceptions=True)
    assert {type(each) for each in ended} == {asyncio.CancelledError}
    async with asyncio.timeout(30):
        await asyncio.gather(*(_one(own, project) for _ in range(20)))


async def _one(database: Database, project: ProjectRef) -> None:
    async with database.read(project) as tx:
        assert await tx.fetchval("SELECT 1") == 1
