"""Connections that callers leave at any moment go back with nothing open on them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import asyncpg
import pytest
import pytest_asyncio
from asyncpg import connect_utils

from service.db import server as described
from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.db.transaction import leave_transaction
from service.tenants.migrate import MigrationReport
from tests.conftest import Projects

TURNS = 60
ACTIVE = (
    "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(600) AS unnoticed' AND pid <> pg_backend_pid()"
)
Call = Callable[[Database, ProjectRef], Coroutine[Any, Any, Any]]


@pytest_asyncio.fixture(loop_scope="session")
async def single(migrated: MigrationReport) -> AsyncIterator[Database]:
    """One connection, which parses each statement anew."""
    opened = await Database.open(migrated.api_url, max_size=1, acquire_s=60, prepared=False)
    yield opened
    await opened.close()


async def _control(database: Database, project: ProjectRef) -> None:
    await database.control("find_projects", project.workspace_id)


async def _read(database: Database, project: ProjectRef) -> None:
    async with database.read(project) as tx:
        await tx.fetchval("SELECT count(*) FROM m_0.event")


async def _fail(database: Database, project: ProjectRef) -> None:
    with pytest.raises(asyncpg.UndefinedColumnError):
        async with database.read(project) as tx:
            await tx.fetchval("SELECT nothing")


@pytest.mark.parametrize("call", [_control, _read, _fail], ids=["control", "read", "fails"])
@pytest.mark.parametrize("times", [1, 2])
async def test_a_caller_may_leave_at_any_moment(single: Database, projects: Projects, call: Call, times: int) -> None:
    """Also twice: whoever asks several projects at once leaves when the call ends, and again when one of them fails."""
    project, said = projects.make(), []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: said.append(context["message"]))
    try:
        for turns in range(TURNS):
            task = asyncio.ensure_future(call(single, project))
            for _ in range(turns):
                await asyncio.sleep(0)
            for _ in range(times):
                task.cancel()
                await asyncio.sleep(0)
            await asyncio.wait((task,))
            async with single.read(project) as tx:
                assert await tx.fetchval("SELECT current_setting('transaction_isolation')") == "repeatable read"
    finally:
        loop.set_exception_handler(None)
    assert said == []


async def test_a_statement_whose_cancelling_was_not_noticed_ends_all_the_same(
    migrated: MigrationReport, server: EmbeddedServer, projects: Projects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when it comes between the statement's being parsed and begun."""
    project, opened = projects.make(), await Database.open(migrated.api_url, max_size=1, statement_ms=600_000)
    owner = await asyncpg.connect(server.owner_url)

    async def sleep() -> None:
        async with opened.read(project) as tx:
            await tx.fetchval("SELECT pg_sleep(600) AS unnoticed")

    async def unnoticed(**_: Any) -> None:
        """The request is sent, and nothing comes of it."""

    monkeypatch.setattr(connect_utils, "_cancel", unnoticed)
    task = asyncio.ensure_future(sleep())
    async with asyncio.timeout(60):
        while not await owner.fetchval(ACTIVE):
            assert not task.done()
        task.cancel()
        await asyncio.wait((task,))
        while await owner.fetchval(ACTIVE):
            pass
        assert task.cancelled()
        async with opened.read(project) as tx:
            assert await tx.fetchval("SELECT 1") == 1
    await owner.close()
    await opened.close()


@pytest.mark.parametrize(("asked", "interval"), [(described.WATCHING, "500ms"), ("SET LOCAL client_connection_check_interval = -1", "0")])
async def test_a_server_watches_for_clients_that_go_where_it_can(
    migrated: MigrationReport, projects: Projects, monkeypatch: pytest.MonkeyPatch, asked: str, interval: str
) -> None:
    """Where its platform does not let it, it refuses the setting, as it does one that is out of range."""
    monkeypatch.setattr(described, "WATCHING", asked)
    opened = await Database.open(migrated.api_url, max_size=1)
    async with opened.read(projects.make()) as tx:
        assert await tx.fetchval("SELECT current_setting('client_connection_check_interval')") == interval
    await opened.close()


async def test_a_statement_that_was_parsed_and_never_run_is_left_behind(migrated: MigrationReport) -> None:
    """The driver has it parsed without an end, so that the database is within a transaction of its own until the next statement ends."""
    begin = "BEGIN ISOLATION LEVEL REPEATABLE READ"
    connection = await asyncpg.connect(migrated.api_url)
    try:
        await connection._get_statement("SELECT 1 AS parsed", None)
        with pytest.raises(asyncpg.ActiveSQLTransactionError):
            await connection.execute(begin)
        await connection._get_statement("SELECT 2 AS parsed", None)
        await leave_transaction(connection)
        await connection.execute(begin)
        assert connection.is_in_transaction()
    finally:
        await connection.close()
