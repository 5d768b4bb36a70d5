"""Free SQL with the checker out of the way: Postgres itself holds the reader to its own views, on a superuser's database and on a plain owner's."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.errors import NotFound, QueryTooSlow
from service.sqltool import run
from service.sqltool.parse import parse
from service.sqltool.rejection import SqlRejection
from service.sqltool.run import SqlLimits, run_query
from service.sqltool.views import VIEWS
from service.tenants import workspaces
from service.tenants.migrate import MigrationReport, migrate
from service.tenants.owner import owner_connection
from tests.conftest import Memory
from tests.integration.tenants.test_migrate import plain
from tests.isolation.conftest import Way, login_of
from tests.isolation.pgbouncer import PgBouncer

__all__ = ["plain"]
CANARY = "xylocarpus"
_COUNT = itertools.count(1)


@dataclass(frozen=True)
class World:
    """A project, another of its workspace, one of another workspace; each holds one event, the others' with the canary."""

    database: Database
    owner_url: str
    login: str
    own: ProjectRef
    sibling: ProjectRef
    foreign: ProjectRef


def _make(owner_url: str, workspace: str, project: str) -> ProjectRef:
    with owner_connection(owner_url) as owner:
        home = workspaces.create_workspace(owner, workspace)
        made = workspaces.create_project(owner, home, project)
        row = owner.execute("SELECT role FROM control.workspace WHERE id = $1", (home.id,)).fetchone()
    assert row is not None
    return ProjectRef(home.id, workspace, row["role"], made.id, project)


@pytest_asyncio.fixture(params=["superuser", "plain", "pgbouncer-1"])
async def world(request: pytest.FixtureRequest, server: EmbeddedServer, migrated: MigrationReport) -> AsyncIterator[World]:
    owner_url = server.owner_url if request.param != "plain" else request.getfixturevalue("plain")
    report = migrate(owner_url, superuser_allowed=request.param != "plain")
    number = next(_COUNT)
    home, elsewhere = f"home-{number}", f"elsewhere-{number}"
    projects = [_make(owner_url, *names) for names in ((home, "own"), (home, "sibling"), (elsewhere, "foreign"))]
    login = login_of(report.api_url)
    pooler = PgBouncer(server, login, 1) if request.param == "pgbouncer-1" else None
    way = Way(pooler.url(server.database) if pooler else report.api_url, pooler)
    database = await way.open(max_size=1)
    memory = Memory(database)
    for project, text in zip(projects, ("my own", f"{CANARY} of a sibling", f"{CANARY} of a stranger"), strict=True):
        await memory.save(project, [{"summary": text}])
    yield World(database, owner_url, login, *projects)
    await database.close()
    if pooler:
        pooler.stop()


HOSTILE = [
    # rows of others, by name and by functions that run SQL text
    "SELECT summary FROM {foreign}.events",
    "SELECT summary FROM {foreign}.event",
    "SELECT summary FROM {sibling}.events",
    "SELECT summary FROM {sibling}.event",
    "SELECT null::{sibling}.event",
    "SELECT line FROM {sibling}.{sibling}_read_rows('SELECT summary FROM events', '{{}}', 1, 9, 999) AS r (line)",
    "SELECT query_to_xml('SELECT summary FROM {sibling}.event', true, false, '')",
    "SELECT query_to_xml('SELECT summary FROM {foreign}.events', true, false, '')",
    "SELECT table_to_xml('{sibling}.event', true, false, '')",
    "SELECT word FROM ts_stat('SELECT words FROM {sibling}.passage')",
    "SELECT ts_rewrite('a'::tsquery, 'SELECT words::text::tsquery, words::text::tsquery FROM {foreign}.passage')",
    # tables behind the views, and control
    "SELECT summary FROM event",
    "SELECT words FROM passage",
    "SELECT one FROM counter",
    "SELECT id FROM control.api_key",
    "SELECT control.find_key('x')",
    "SELECT control.describe_instance()",
    "SELECT (control.create_project(1, 'made', 'made', NULL)).id",
    "SELECT nextval('control.workspace_id_seq')",
    # another role
    "SELECT set_config('role', '{owner}', true)",
    "SELECT set_config('role', '{role}', true)",
    "SELECT set_config('role', '{login}', false)",
    "SELECT set_config('role', 'none', true)",
    "SELECT set_config('session_authorization', '{owner}', true)",
    "SELECT set_config('role', '{role}', true), query_to_xml('SELECT summary FROM {sibling}.event', true, false, '')",
    "SELECT query_to_xml('SET ROLE {role}', true, false, '')",
    "SELECT query_to_xml('RESET ROLE', true, false, '')",
    # another path
    "SELECT set_config('search_path', '{sibling}', true)",
    "SELECT set_config('search_path', '{sibling}', false)",
    "SELECT query_to_xml('SET search_path = {sibling}', true, false, '')",
    "SELECT set_config('search_path', '{sibling}', true), query_to_xml('SELECT summary FROM events', true, false, '')",
    # writes, and other statements
    "WITH d AS (DELETE FROM events RETURNING id) SELECT id FROM d",
    "WITH d AS (DELETE FROM {own}.event RETURNING id) SELECT id FROM d",
    "DELETE FROM {own}.event RETURNING id",
    "SELECT 1) AS q (c1); DELETE FROM {own}.event; SELECT row_to_json(q) FROM (SELECT 1",
    "SELECT query_to_xml('DELETE FROM {own}.event', true, false, '')",
    "SELECT query_to_xml('CREATE TABLE {own}.extra ()', true, false, '')",
    "SELECT query_to_xml('COMMIT', true, false, '')",
    "SELECT {own}.{own}_save_events('[]'::jsonb)",
    "SELECT {own}.{own}_delete_events('{{1}}')",
    "SELECT summary FROM events FOR UPDATE",
    "SELECT set_config('transaction_read_only', 'off', true)",
    "SELECT lo_create(4711)",
    # the server and its other sessions
    "SELECT pg_read_file('/etc/hostname')",
    "SELECT pg_ls_dir('/')",
    "SELECT lo_import('/etc/hostname')",
    "SELECT pg_reload_conf()",
    "SELECT pg_cancel_backend(pg_backend_pid())",
    "SELECT query_to_xml('LISTEN channel', true, false, '')",
]


def _fill(world: World, text: str) -> str:
    with owner_connection(world.owner_url) as owner:
        name = owner.execute("SELECT current_user::text AS name").fetchone()
    assert name is not None
    return text.format(
        own=world.own.schema,
        sibling=world.sibling.schema,
        foreign=world.foreign.schema,
        role=world.own.role,
        login=world.login,
        owner=name["name"],
    )


async def _read(world: World, text: str) -> list[Any]:
    async with world.database.read(world.own) as tx:
        return await tx.fetch(load("project", "sqltool")["read_rows"].sql, text, ["x"], 1, 100, 100_000)


async def state_of(world: World) -> list[Any]:
    """Everything a query could have changed: rows, tables, roles, and what the one connection holds."""
    with owner_connection(world.owner_url) as owner:
        rows = [
            owner.execute(f"SELECT count(*) AS n FROM {ref.schema}.event").fetchone() for ref in (world.own, world.sibling, world.foreign)
        ]
        rows.append(owner.execute("SELECT count(*) AS n FROM pg_class WHERE relnamespace::regnamespace::text LIKE 'm\\_%'").fetchone())
        rows.append(owner.execute("SELECT count(*) AS n FROM pg_largeobject_metadata").fetchone())
    async with world.database.read(world.own) as tx:
        names = "current_user::text, session_user::text, current_setting('search_path'), current_setting('statement_timeout')"
        return [*rows, tuple((await tx.fetch(f"SELECT {names}"))[0])]


async def test_the_reader_reads_its_own_views(world: World) -> None:
    rows = await _read(world, "SELECT summary FROM events")
    assert [row["line"] for row in rows] == ['{"c1":"my own"}']
    for view in VIEWS:
        assert await _read(world, f"SELECT count(*) FROM {view}"), view


async def _outcome(world: World, text: str) -> str:
    """What Postgres says against it, and nothing when it ran."""
    try:
        await _read(world, _fill(world, text))
    except NotFound as error:  # with a path into a closed schema no name is found
        return f"{type(error.__cause__).__name__}: {error.__cause__}"
    except asyncpg.PostgresError as error:
        return f"{type(error).__name__}: {error}"
    return ""


async def test_postgres_refuses_the_reader_everything_else(world: World) -> None:
    before = await state_of(world)
    for text in HOSTILE:
        outcome = await _outcome(world, text)
        assert outcome, text
        assert CANARY not in outcome, text
        # Refused, not misspelt: a name is not found only where the path was set to a closed schema.
        assert not outcome.startswith("Undefined") or "search_path" in text, f"{text}: {outcome}"
    assert await state_of(world) == before


async def test_what_a_query_could_set_ends_with_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings, notices and locks of the transaction cannot be denied by rights: they are rolled back."""
    monkeypatch.setattr(run, "check", lambda text, params: parse(text))
    before = await state_of(world)
    for text in (
        "SELECT set_config('statement_timeout', '1h', false)",
        "SELECT set_config('work_mem', '1GB', false)",
        "SELECT set_config('search_path', 'ext', false)",
        "SELECT pg_advisory_xact_lock(4711)",
        "SELECT pg_notify('channel', 'text')",
    ):
        with suppress(SqlRejection):
            await run_query(world.database, world.own, text, [], limits=SqlLimits())
    assert await state_of(world) == before
    async with world.database.read(world.own) as tx:
        assert await tx.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0
        assert await tx.fetchval("SELECT current_setting('work_mem')") != "1GB"


def _locks(world: World) -> int:
    with owner_connection(world.owner_url) as owner:
        row = owner.execute("SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711").fetchone()
    assert row is not None
    return row["n"]


async def test_a_lock_that_outlives_transactions_ends_with_the_query(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """No right keeps a role from it, so it is given back: after an answer, an error, the time limit and a caller who leaves."""
    monkeypatch.setattr(run, "check", lambda text, params: parse(text))

    async def ask(text: str, statement_ms: int = 5_000) -> Any:
        return await run_query(world.database, world.own, text, [], limits=SqlLimits(statement_ms=statement_ms))

    for lock in ("pg_advisory_lock", "pg_advisory_lock_shared", "pg_try_advisory_lock"):
        taken = "(SELECT count(*) FROM pg_locks AS p WHERE p.objid = 4711 AND p.pid = pg_backend_pid())"
        assert (await ask(f"SELECT {lock}(4711)::text, {taken}")).rows[0][1] == 1
        assert _locks(world) == 0
        with pytest.raises(SqlRejection):
            await ask(f"SELECT {lock}(4711), 1 / (count(*) - count(*)) FROM events")
        assert _locks(world) == 0
        with pytest.raises(QueryTooSlow):
            await ask(f"SELECT {lock}(4711), pg_sleep(30)", statement_ms=50)
        assert _locks(world) == 0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await ask(f"SELECT {lock}(4711), pg_sleep(30)")
        assert _locks(world) == 0
    assert [row["line"] for row in await _read(world, "SELECT summary FROM events")] == ['{"c1":"my own"}']


async def test_the_reader_has_rights_on_its_views_alone_and_nobody_becomes_it(world: World) -> None:
    with owner_connection(world.owner_url) as owner:
        tag = owner.execute("SELECT tag FROM control.instance").fetchone()
        assert tag is not None
        reader = f"mun_{tag['tag']}_r{world.own.project_id}"
        seen = owner.execute(
            "SELECT c.relname, c.relnamespace::regnamespace::text AS schema FROM pg_class c WHERE c.relkind IN ('r', 'v', 'p', 'm') AND "
            "c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) "
            "AND has_table_privilege($1, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')",
            (reader,),
        ).fetchall()
        assert {(row["schema"], row["relname"]) for row in seen} == {(world.own.schema, view) for view in VIEWS}
        row = owner.execute(
            "SELECT r.rolcanlogin OR r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolbypassrls AS strong, "
            "has_schema_privilege($1, $2, 'CREATE') AS makes, has_schema_privilege($1, $3, 'USAGE') AS roams, "
            "has_schema_privilege($1, 'control', 'USAGE') AS controls, pg_has_role($4, $1, 'MEMBER') OR pg_has_role($5, $1, 'MEMBER') AS lent, "
            "EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid) AS member "
            "FROM pg_roles r WHERE r.rolname = $1",
            (reader, world.own.schema, world.sibling.schema, world.login, world.own.role),
        ).fetchone()
        assert row is not None
        assert not any(row.values()), row
        held = owner.execute(
            "SELECT count(*) AS n FROM pg_auth_members m WHERE m.roleid = $1::text::regrole AND (m.inherit_option OR m.set_option)",
            (reader,),
        ).fetchone()
        assert held == {"n": 0}


async def test_the_function_is_for_the_workspaces_role_alone(world: World) -> None:
    own, foreign = (f"{s}.{s}_read_rows(text, text[], integer, integer, bigint)" for s in (world.own.schema, world.foreign.schema))
    with owner_connection(world.owner_url) as owner:
        row = owner.execute(
            "SELECT has_function_privilege($1, $3, 'EXECUTE') AS own, has_function_privilege($2, $3, 'EXECUTE') AS login, "
            "has_function_privilege($1, $4, 'EXECUTE') AS foreign",
            (world.own.role, world.login, own, foreign),
        ).fetchone()
    assert row == {"own": True, "login": False, "foreign": False}


async def test_a_project_that_is_renewed_keeps_its_walls(world: World) -> None:
    """A migration makes the function again, although the owner does not own it."""
    with owner_connection(world.owner_url) as owner:
        owner.execute(f"DELETE FROM {world.own.schema}.migration WHERE name LIKE 'functions:%'")
    report = migrate(world.owner_url, superuser_allowed=True)
    assert world.own.schema in report.applied
    assert [row["line"] for row in await _read(world, "SELECT summary FROM events")] == ['{"c1":"my own"}']
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await _read(world, f"SELECT summary FROM {world.sibling.schema}.event")
