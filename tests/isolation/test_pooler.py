"""Calls of two workspaces over the same few connections, with whatever can go wrong in the middle: nobody meets what another left."""

import asyncio
from contextlib import AsyncExitStack, aclosing
from random import Random
from typing import Any

import asyncpg
import pytest

from service.db.budget import Budget, Cut
from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import DatabaseBusy, DatabaseUnavailable, QueryTooSlow, UnsuitableDatabase
from service.memory.export import export_project
from service.memory.pages import read_page
from service.sqltool.rejection import SqlRejection
from service.sqltool.run import SqlLimits, run_query
from service.tenants.migrate import MigrationReport
from service.tenants.owner import owner_connection
from tests.conftest import Memory, Projects
from tests.isolation.conftest import Way, login_of
from tests.isolation.pgbouncer import PgBouncer

_OWN = "SELECT e.summary FROM m_0.event AS e ORDER BY e.id LIMIT 1"
# What PgBouncer itself keeps in step with each client.
_POOLERS_OWN = ("client_encoding", "DateStyle", "TimeZone", "standard_conforming_strings", "application_name")
_LEFT = (
    "SELECT (SELECT array_agg(name) FROM pg_settings WHERE source = 'session' AND name <> ALL ($1::text[])) AS settings, "
    "(SELECT array_agg(pg_listening_channels) FROM pg_listening_channels()) AS channels, "
    "(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks, "
    "(SELECT count(*) FROM pg_prepared_statements WHERE name <> '') AS statements, "
    "(SELECT count(*) FROM pg_cursors WHERE is_holdable) AS cursors, current_user = session_user AS bare, pg_backend_pid() AS pid"
)


class Caller:
    """One workspace's calls, each of which says what it saw."""

    def __init__(self, database: Database, project: ProjectRef) -> None:
        self._database, self._project = database, project

    async def read(self) -> str:
        async with self._database.read(self._project) as tx:
            return await tx.fetchval(_OWN)

    async def write(self) -> str:
        async with self._database.write(self._project) as tx:
            await tx.execute("UPDATE m_0.event SET kind = kind WHERE id = $1", 1)
            return await tx.fetchval(_OWN)

    async def fail(self) -> str:
        async with self._database.write(self._project) as tx:
            await tx.set_local(work_mem="64MB")
            return await tx.fetchval("SELECT e.summary FROM m_0.event AS e WHERE e.id / 0 = 1")

    async def raise_midway(self) -> str:
        async with self._database.read(self._project) as tx:
            await tx.fetchval(_OWN)
            raise RuntimeError("in the middle")

    async def leave(self) -> str:
        async with asyncio.timeout(0.02):
            async with self._database.read(self._project) as tx:
                return await tx.fetchval(f"{_OWN} OFFSET (SELECT 0 FROM pg_sleep(30))")

    async def run_late(self) -> str:
        async with self._database.read(self._project, statement_ms=20) as tx:
            return await tx.fetchval(f"{_OWN} OFFSET (SELECT 0 FROM pg_sleep(30))")

    async def be_cut(self) -> str:
        async with self._database.read(self._project) as tx:
            with pytest.raises(Cut):
                await tx.fetch("SELECT pg_sleep(30)", budget=Budget(30_000, 20))
            return await tx.fetchval(_OWN, budget=Budget(30_000, 10_000))

    async def export_a_part(self) -> str:
        async with self._database.read(self._project) as tx, aclosing(tx.stream("SELECT e.summary FROM m_0.event AS e", rows=1)) as rows:
            return (await anext(rows))["summary"]

    async def export(self) -> str:
        lines = b"".join([piece async for piece in export_project(self._database, self._project)]).splitlines()
        return next(line for line in lines if b'"line":"event"' in line).partition(b'"summary":"')[2].partition(b'"')[0].decode()

    async def ask_sql(self) -> str:
        answer = await run_query(
            self._database, self._project, "SELECT summary FROM events WHERE summary LIKE $1", ["row%"], limits=SqlLimits()
        )
        return answer.rows[0][0]

    async def ask_bad_sql(self) -> str:
        await run_query(self._database, self._project, "SELECT 1 / (length(summary) - length(summary)) FROM events", [], limits=SqlLimits())
        return "an answer"


async def _tell(database: Database, project: ProjectRef, n: int) -> str | None:
    """What the n-th call of a workspace saw; None when it ended in the way that it was meant to."""
    caller = Caller(database, project)
    good = (caller.read, caller.write, caller.be_cut, caller.export_a_part, caller.export, caller.ask_sql)
    bad = (caller.fail, caller.raise_midway, caller.leave, caller.run_late, caller.ask_bad_sql)
    calls = [call for pair in zip(good, (*bad, caller.read), strict=True) for call in pair]
    call = calls[n % len(calls)]
    try:
        seen = await call()
    except (asyncpg.DivisionByZeroError, RuntimeError, TimeoutError, QueryTooSlow, SqlRejection):
        assert call in bad
        return None
    except DatabaseBusy:  # another export is under way
        assert call == caller.export
        return None
    assert call in good
    return seen


async def _pair(memory: Memory, projects: Projects) -> list[ProjectRef]:
    """Two workspaces whose memories differ in their texts alone."""
    pair = [projects.make(), projects.make()]
    for project in pair:
        await memory.save(project, [{"summary": f"row of {project.schema}", "entities": [("Same Name", "name")]}] * 3)
        await memory.page(project, "same.md", "Same", f"page of {project.schema}")
    return pair


async def _left(database: Database, connections: int) -> list[Any]:
    """What each of the connections that calls shared still holds."""
    async with AsyncExitStack() as held:
        rows: list[Any] = []
        for _ in range(connections):
            connection = await held.enter_async_context(database._connection())
            await held.enter_async_context(connection.transaction())  # so that a pooler gives each client one of its own
            rows.append(await connection.fetchrow(_LEFT, _POOLERS_OWN))
        return rows


@pytest.mark.parametrize("clients", [1, 4])
async def test_two_workspaces_alternate_and_meet_nothing_of_each_other(way: Way, memory: Memory, projects: Projects, clients: int) -> None:
    pair = await _pair(memory, projects)
    databases = [await way.open(max_size=1) for _ in range(clients)]
    try:
        for first in range(0, 96, 24):
            seen = await asyncio.gather(
                *(_tell(databases[n % clients], pair[(n // clients) % 2], n // 2) for n in range(first, first + 24))
            )
            expected = [f"row of {pair[(n // clients) % 2].schema}" for n in range(first, first + 24)]
            assert [text for text in seen if text] == [text for text, given in zip(expected, seen, strict=True) if given]
            assert sum(text is not None for text in seen) >= 12
        for project in pair:
            assert (await read_page(databases[0], project, "same.md")).body == f"page of {project.schema}"
    finally:
        for database in databases:
            await database.close()


async def test_a_connection_that_served_keeps_nothing(way: Way, memory: Memory, projects: Projects) -> None:
    pair = await _pair(memory, projects)
    connections = way.pooler.pool_size if way.pooler else 1
    database = await way.open(max_size=connections)
    try:
        for n in range(24):
            await _tell(database, pair[n % 2], n // 2)
        found = await _left(database, connections)
    finally:
        await database.close()
    assert len({row["pid"] for row in found}) == connections
    for row in found:
        assert (row["settings"], row["channels"], row["locks"], row["cursors"], row["bare"]) == (None, None, 0, 0, True)
        assert row["statements"] == 0 or way.pooler is None  # straight, a connection's statements are its client's own


async def test_callers_who_leave_at_any_moment_take_no_connection_along(
    way: Way, memory: Memory, projects: Projects, server: EmbeddedServer
) -> None:
    pair = await _pair(memory, projects)
    database = await way.open(max_size=3)
    chance = Random(5)

    async def call(n: int) -> str | None:
        try:
            async with asyncio.timeout(chance.uniform(0, 0.05)):
                return await Caller(database, pair[n % 2]).read()
        except TimeoutError:
            return None

    try:
        seen = await asyncio.gather(*(call(n) for n in range(300)))
        assert {text for n, text in enumerate(seen) if text and text != f"row of {pair[n % 2].schema}"} == set()
        async with AsyncExitStack() as held:
            opened = [
                await held.enter_async_context(database.read(pair[0])) for _ in range(min(3, way.pooler.pool_size if way.pooler else 3))
            ]
            processes = {await tx.fetchval("SELECT pg_backend_pid()") for tx in opened}
            waiting = "SELECT pid FROM pg_stat_activity WHERE usename = $1 AND state LIKE 'idle in transaction%' AND pid <> ALL ($2::int[])"
            with owner_connection(server.owner_url) as owner:
                assert owner.execute(waiting, (login_of(way.url), list(processes))).fetchall() == []
        assert len(processes) == len(opened)
    finally:
        await database.close()


async def test_no_statement_has_a_name_that_another_client_could_choose(way: Way, memory: Memory, projects: Projects) -> None:
    (project, _) = await _pair(memory, projects)
    database = await way.open(max_size=1)
    named = "SELECT s.name FROM pg_prepared_statements AS s WHERE s.name <> ''"
    try:
        async with database.read(project) as tx, aclosing(tx.stream("SELECT e.id FROM m_0.event AS e", rows=1)) as rows:
            await anext(rows)
            await tx.describe("SELECT 1 AS one")
            found = await tx.fetch(named)
            assert [row["id"] async for row in rows] == [2, 3]
    finally:
        await database.close()
    assert all(way.pooler is None and "asyncpg_stmt" in row["name"] for row in found)


async def test_a_client_that_is_killed_in_a_statement_leaves_nothing_to_the_next(
    way: Way, memory: Memory, projects: Projects, server: EmbeddedServer
) -> None:
    pair = await _pair(memory, projects)
    killed = await way.open(max_size=1)
    running = asyncio.create_task(Caller(killed, pair[0]).read())
    await running
    running = asyncio.create_task(_sleep(killed, pair[0]))
    with owner_connection(server.owner_url) as owner:
        sleeping = "SELECT pid FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)' AND state = 'active'"
        async with asyncio.timeout(30):
            while not (found := owner.execute(sleeping).fetchall()):  # noqa: ASYNC110  (Postgres has no event for it)
                await asyncio.sleep(0)
        killed._pool.terminate()
        with pytest.raises(DatabaseUnavailable):
            await running
        database = await way.open(max_size=1)
        try:
            for project in (pair[1], pair[0]):
                assert await Caller(database, project).read() == f"row of {project.schema}"
        finally:
            await database.close()
            owner.execute("SELECT pg_terminate_backend($1)", (found[0]["pid"],))


async def _sleep(database: Database, project: ProjectRef) -> None:
    async with database.write(project) as tx:
        await tx.fetch("SELECT pg_sleep(600)")


async def test_a_pooler_that_cannot_keep_statements_is_refused_unless_that_is_set(way: Way) -> None:
    if way.pooler is None:
        opened = await Database.open(way.url, max_size=1)
        await opened.close()
        return
    with pytest.raises(UnsuitableDatabase) as refused:
        await Database.open(way.url, max_size=1)
    assert "MUNIMENT_DATABASE_PREPARED=false" in (refused.value.hint or "")


@pytest.mark.parametrize(("mode", "taken"), [("transaction", False), ("session", True)])
def test_the_owner_needs_a_session(server: EmbeddedServer, migrated: MigrationReport, mode: str, taken: bool) -> None:
    pooler = PgBouncer(server, login_of(migrated.api_url), 3, mode)
    try:
        url = pooler.url(server.database, server.owner)
        if taken:
            with owner_connection(url) as owner:
                assert owner.execute("SELECT 1 AS one").fetchone() == {"one": 1}
        else:
            with pytest.raises(UnsuitableDatabase, match="pooler"), owner_connection(url):
                pass
    finally:
        pooler.stop()
