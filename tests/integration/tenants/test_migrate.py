"""The migration runner on real databases: a superuser's, and one whose owner is none."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import asyncpg
import psycopg
import pytest

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.queries import load, read_sql
from service.errors import UnsuitableDatabase
from service.tenants import workspaces
from service.tenants.migrate import MigrationReport, apply_area, migrate, migrations
from service.tenants.owner import Owner, owner_connection
from tests.conftest import Projects

CATALOGUE = """
    SELECT 'column' AS what, c.relname || '.' || a.attname AS name,
        concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attgenerated, a.attstattarget)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = $1::text::regnamespace AND c.relkind = 'r'
    UNION ALL SELECT 'index', c.relname, replace(pg_get_indexdef(c.oid), $1::text || '.', '') FROM pg_class c
    WHERE c.relnamespace = $1::text::regnamespace AND c.relkind = 'i'
    UNION ALL SELECT 'constraint', conrelid::regclass::text || '.' || conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = $1::text::regnamespace
    UNION ALL SELECT 'function', replace(p.proname, $1::text, 'm'), replace(pg_get_functiondef(p.oid), $1::text, '') FROM pg_proc p WHERE p.pronamespace = $1::text::regnamespace
    UNION ALL SELECT 'trigger', t.tgname, replace(pg_get_triggerdef(t.oid), $1::text, '') FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = $1::text::regnamespace AND NOT t.tgisinternal
    UNION ALL SELECT 'grant', c.relname, regexp_replace(array_to_string(c.relacl, ' '), '_r[0-9]+', '_r') FROM pg_class c
    WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'v')
    UNION ALL SELECT 'view', c.relname, replace(pg_get_viewdef(c.oid), $1::text || '.', '') FROM pg_class c
    WHERE c.relnamespace = $1::text::regnamespace AND c.relkind = 'v'
    UNION ALL SELECT 'owner', replace(p.proname, $1::text, 'm'), regexp_replace(p.proowner::regrole::text || ' ' || array_to_string(p.proacl, ' '), '_r[0-9]+', '_r', 'g')
    FROM pg_proc p WHERE p.pronamespace = $1::text::regnamespace
    ORDER BY 1, 2, 3
"""


def _catalogue(owner: Owner, schema: str) -> list[tuple[str, ...]]:
    owner.execute("SELECT set_config('search_path', $1, false)", (schema,))
    rows = owner.execute(CATALOGUE, (schema,)).fetchall()
    return [tuple(str(value) for value in row.values()) for row in rows if not row["name"].startswith("vector_")]


@pytest.fixture
def plain(server: EmbeddedServer) -> Iterator[str]:
    """A database of its own whose owner is no superuser, with the extension made for it beforehand."""
    password = "p%40@s/s:w#rd?&+ ü"
    with owner_connection(server.owner_url) as owner:
        owner.execute("CREATE ROLE plain_owner LOGIN CREATEROLE PASSWORD 'p%40@s/s:w#rd?&+ ü'")
        owner.execute("CREATE DATABASE plain OWNER plain_owner")
    admin = server.owner_url.replace("/muniment?", "/plain?")
    with owner_connection(admin) as owner:
        owner.execute("CREATE SCHEMA extensions")
        owner.execute("CREATE EXTENSION vector SCHEMA extensions")
        owner.execute("GRANT USAGE ON SCHEMA extensions TO plain_owner WITH GRANT OPTION")
    yield admin.replace("muniment_owner@", f"plain_owner:{quote(password, safe='')}@")
    with owner_connection(server.owner_url) as owner:
        owner.execute("DROP DATABASE plain WITH (FORCE)")
        for row in owner.execute(
            "SELECT r.rolname FROM pg_roles r JOIN pg_auth_members m ON m.roleid = r.oid JOIN pg_roles g ON g.oid = m.member "
            "WHERE g.rolname = 'plain_owner' OR r.rolname = 'plain_owner'"
        ).fetchall():
            owner.execute(f"DROP ROLE IF EXISTS {row['rolname']}")
        owner.execute("DROP ROLE plain_owner")


def test_the_migrations_end_in_the_schema(server: EmbeddedServer, projects: Projects) -> None:
    made = projects.make()
    with owner_connection(server.owner_url) as owner:
        owner.execute("CREATE SCHEMA m_999999")
        with owner.transaction():
            apply_area(owner, "project", "m_999999", "ext", "all", role=made.role)
        assert _catalogue(owner, "m_999999") == _catalogue(owner, made.schema)
        names = [row["name"] for row in owner.execute(f"SELECT name FROM {made.schema}.migration ORDER BY name").fetchall()]
        assert names == [row["name"] for row in owner.execute("SELECT name FROM m_999999.migration ORDER BY name").fetchall()]
        owner.execute("DROP SCHEMA m_999999 CASCADE")


def test_the_migrations_of_control_end_in_its_schema(server: EmbeddedServer, migrated: MigrationReport) -> None:
    ways = {"control_steps": [text for _, text in migrations("control")], "control_at_once": [read_sql("control", "schema.sql")]}
    with owner_connection(server.owner_url) as owner:
        for schema, texts in ways.items():
            owner.execute(f"CREATE SCHEMA {schema}")
            owner.execute("SELECT set_config('search_path', $1, false)", (schema,))
            for text in texts:
                owner.execute(text.encode())
        made = [_catalogue(owner, schema) for schema in ways]
        for schema in ways:
            owner.execute(f"DROP SCHEMA {schema} CASCADE")
    assert made[0] == made[1]
    assert any("reading_grant" in row[1] for row in made[0])


def test_no_function_of_a_project_has_the_name_of_another_project_s(server: EmbeddedServer, projects: Projects) -> None:
    """Postgres looks through all functions of a name, those of other schemas too."""
    projects.make()
    projects.make()
    with owner_connection(server.owner_url) as owner:
        shared = owner.execute(
            "SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname ~ '^m_[0-9]+$' "
            "GROUP BY 1 HAVING count(DISTINCT n.nspname) > 1"
        ).fetchall()
    assert shared == []


def test_functions_and_triggers_of_earlier_names_are_replaced(server: EmbeddedServer, projects: Projects) -> None:
    made, like = projects.make("renamed"), projects.make("renamed")
    with owner_connection(server.owner_url) as owner:
        for row in owner.execute(
            "SELECT p.proname AS name, p.oid::regprocedure::text AS function FROM pg_proc p WHERE p.pronamespace = $1::text::regnamespace",
            (made.schema,),
        ).fetchall():
            owner.execute(f"ALTER FUNCTION {row['function']} RENAME TO {row['name'].removeprefix(made.schema + '_')}")
        owner.execute(f"DELETE FROM {made.schema}.migration WHERE name ~ '^(functions:|0006)'")
        owner.execute(f"INSERT INTO {made.schema}.migration (name) VALUES ('functions:before')")
    before = migrate(server.owner_url, phase="before", superuser_allowed=True)
    assert (list(before.applied), before.failed) == ([made.schema], {})
    with owner_connection(server.owner_url) as owner:  # the code of before still finds its functions
        assert owner.execute(f"SELECT to_regproc('{made.schema}.save_events') IS NOT NULL AS old").fetchone() == {"old": True}
    assert migrate(server.owner_url, superuser_allowed=True).applied == {made.schema: ["0006_function_names"]}
    with owner_connection(server.owner_url) as owner:
        assert _catalogue(owner, made.schema) == _catalogue(owner, like.schema)


def test_every_migration_says_when_it_is_safe() -> None:
    for area in ("control", "project"):
        for name, text in migrations(area):
            assert text.startswith(("-- deploy: before\n", "-- deploy: after\n")), name


def test_a_second_run_has_nothing_to_do(server: EmbeddedServer, migrated: MigrationReport) -> None:
    again = migrate(server.owner_url, superuser_allowed=True)
    assert (again.applied, again.failed) == ({}, {})
    assert again.api_url == migrated.api_url


def test_a_project_that_fails_does_not_stop_the_others(server: EmbeddedServer, projects: Projects) -> None:
    broken, whole, gone = projects.make(), projects.make(), projects.make()
    with owner_connection(server.owner_url) as owner:
        for each in (broken, whole):
            owner.execute(f"DELETE FROM {each.schema}.migration WHERE name LIKE 'functions:%'")
        owner.execute(f"ALTER TABLE {broken.schema}.page_tag RENAME TO mislaid")
        owner.execute(f"DROP SCHEMA {gone.schema} CASCADE")
    report = migrate(server.owner_url, superuser_allowed=True)
    assert set(report.failed) == {broken.schema, gone.schema}
    assert whole.schema in report.applied
    with owner_connection(server.owner_url) as owner:
        owner.execute(f"ALTER TABLE {broken.schema}.mislaid RENAME TO page_tag")
        owner.execute("DELETE FROM control.project WHERE id = $1", (gone.project_id,))
    again = migrate(server.owner_url, superuser_allowed=True)
    assert again.failed == {}
    assert set(again.applied) == {broken.schema}


def test_a_run_with_nothing_to_do_waits_for_no_project(server: EmbeddedServer, projects: Projects) -> None:
    """Ledgers are read many at a time: a start does not go through all projects one by one."""
    made = projects.make()
    with owner_connection(server.owner_url) as other, other.transaction():
        other.execute(load("control", "migrate")["lock_schema"].sql, (made.schema,))
        report = migrate(server.owner_url, superuser_allowed=True)
    assert (report.applied, report.failed) == ({}, {})


def test_projects_are_migrated_on_several_connections(server: EmbeddedServer, projects: Projects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.tenants.migrate.PROJECTS_A_CONNECTION", 2)
    made = {projects.make().schema for _ in range(5)}
    with owner_connection(server.owner_url) as owner:
        for schema in made:
            owner.execute(f"DELETE FROM {schema}.migration WHERE name LIKE 'functions:%'")
    report = migrate(server.owner_url, superuser_allowed=True)
    assert (set(report.applied), report.failed) == (made, {})


async def test_a_role_that_the_login_lost_is_given_back(server: EmbeddedServer, migrated: MigrationReport, projects: Projects) -> None:
    made = projects.make()
    with owner_connection(server.owner_url) as owner:
        login = owner.execute("SELECT api_login FROM control.instance").fetchall()[0]["api_login"]
        owner.execute(f"REVOKE {made.role} FROM {login}")
        migrate(server.owner_url, superuser_allowed=True)
        held = owner.execute("SELECT pg_has_role($1, $2, 'MEMBER') AS held", (login, made.role)).fetchone()
    assert held == {"held": True}


def test_two_runs_at_once_do_the_work_once(server: EmbeddedServer, projects: Projects) -> None:
    made = projects.make()
    with owner_connection(server.owner_url) as owner:
        owner.execute(f"DELETE FROM {made.schema}.migration WHERE name LIKE 'functions:%'")
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda _: migrate(server.owner_url, superuser_allowed=True), range(2)))
    assert sorted(len(report.applied) for report in reports) == [0, 1]


async def test_twenty_projects_at_once(server: EmbeddedServer, database: Database, projects: Projects) -> None:
    first = projects.make("crowd")
    made = await asyncio.gather(*(database.control("create_project", first.workspace_id, f"c{n % 15}", "C", None) for n in range(20)))
    assert len({rows[0]["id"] for rows in made}) == 15
    assert sum(rows[0]["created"] for rows in made) == 15


async def test_an_owner_without_superuser_rights_is_enough(plain: str) -> None:
    report = migrate(plain)
    assert set(report.applied) == {"control"}
    with owner_connection(plain) as owner:
        workspace = workspaces.create_workspace(owner, "main")
        workspaces.create_workspace(owner, "other")
        workspaces.create_project(owner, workspace, "one", None, ("test", "m", 3))
    database = await Database.open(report.api_url)
    assert [row["slug"] for row in await database.control("find_projects", workspace.id)] == ["one"]
    made = await database.control("create_project", workspace.id, "two", "Two", None)
    assert made[0]["created"]
    await _check_walls(report.api_url, plain, made[0]["id"])
    dropped = await database.control("drop_project", workspace.id, made[0]["id"])
    assert dropped[0]["counts"] is not None
    await database.close()
    with owner_connection(plain) as owner:
        assert set(workspaces.delete_workspace(owner, workspace)) == {"one"}
        assert owner.execute("SELECT nspname FROM pg_namespace WHERE nspname ~ '^m_'").fetchall() == []


async def _check_walls(api_url: str, owner_url: str, project_id: int) -> None:
    """The API's login, and one workspace's role, meet Postgres's own refusal everywhere else."""
    with owner_connection(owner_url) as owner:
        roles = [row["role"] for row in owner.execute("SELECT role FROM control.workspace WHERE role IS NOT NULL ORDER BY id").fetchall()]
    connection = await asyncpg.connect(api_url)
    for statement in (
        "SELECT 1 FROM control.api_key",
        "SELECT control.create_key('a', '', 1, '', '{read}', NULL, NULL, NULL)",
        "SELECT control.create_workspace('x', 'x')",
        f"SELECT 1 FROM m_{project_id}.event",
        "CREATE TABLE public.x ()",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    await connection.execute(f"BEGIN; SET LOCAL ROLE {roles[0]}")
    assert await connection.fetchval(f"SELECT count(*) FROM m_{project_id}.event") == 0
    await connection.execute("COMMIT")
    for statement in (f"SELECT 1 FROM m_{project_id}.event", "SELECT control.find_key('x')"):
        await connection.execute(f"BEGIN; SET LOCAL ROLE {roles[1]}")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
        await connection.execute("ROLLBACK")
    await connection.close()


def test_what_cannot_hold_muniment_is_refused_with_advice(server: EmbeddedServer, plain: str) -> None:
    with pytest.raises(UnsuitableDatabase, match="superuser"):
        migrate(server.owner_url)
    with owner_connection(server.owner_url.replace("/muniment?", "/plain?")) as owner:
        owner.execute("DROP EXTENSION vector")
    with pytest.raises(UnsuitableDatabase, match="may not create it") as refusal:
        migrate(plain)
    assert "CREATE EXTENSION vector" in str(refusal.value.hint)
    with owner_connection(server.owner_url.replace("/muniment?", "/plain?")) as owner:
        owner.execute("ALTER ROLE plain_owner NOCREATEROLE")
    with pytest.raises(UnsuitableDatabase, match="cannot create roles"):
        migrate(plain)


async def test_a_superuser_may_not_serve(server: EmbeddedServer, migrated: MigrationReport) -> None:
    assert migrated.applied["control"]
    with pytest.raises(UnsuitableDatabase, match="superuser"):
        await Database.open(server.owner_url)


def test_ascii_locale_is_refused(server: EmbeddedServer) -> None:
    with owner_connection(server.owner_url) as owner:
        owner.execute("CREATE DATABASE ascii TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C' ENCODING 'UTF8'")
        owner.execute("CREATE DATABASE latin TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C' ENCODING 'LATIN1'")
    for name, message in (("ascii", "LC_CTYPE"), ("latin", "LATIN1")):
        with pytest.raises(UnsuitableDatabase, match=message):
            migrate(server.owner_url.replace("/muniment?", f"/{name}?"), superuser_allowed=True)


def test_numbers_of_rows_are_not_left_to_chance(server: EmbeddedServer, projects: Projects) -> None:
    """Text columns keep no samples: what was deleted must not live on in the planner's statistics."""
    made = projects.make()
    kept: list[Any] = []
    with psycopg.connect(server.owner_url) as connection:
        query = (
            "SELECT attrelid::regclass::text, attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid "
            "WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r' AND attnum > 0 AND atttypid IN ('text'::regtype, 'tsvector'::regtype, "
            "'text[]'::regtype) AND attstattarget IS DISTINCT FROM 0"
        )
        kept = connection.execute(query, (made.schema,)).fetchall()
    allowed = {"kind", "source", "relation", "provider", "model", "reason"}
    assert {(table, column) for table, column in kept if column not in allowed and not table.endswith("migration")} == set()
