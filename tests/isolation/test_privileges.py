"""What every role may do, read from the catalogue, so that whatever is added later is held to the same."""

from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest
from psycopg import Rollback

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import UnsuitableDatabase
from service.tenants import migrate as runner
from service.tenants.migrate import Area, MigrationReport, apply_area, functions_of, migrate, migrations
from service.tenants.owner import Owner, owner_connection
from tests.conftest import Projects
from tests.integration.tenants.test_migrate import plain
from tests.isolation.conftest import login_of

__all__ = ["plain"]
_OURS = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
_RELATION = "'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER'"
_PLACES = "^(control|m_[0-9]+)$"
_PREFIX = {"control": "control.", "project": "m_0_"}
_FUNCTIONS = f"pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE {_OURS}"
_CALLED = f"SELECT p.oid::regproc::text AS name FROM {_FUNCTIONS} AND n.nspname ~ '{_PLACES}' AND has_function_privilege($1::text, p.oid, 'EXECUTE')"
_OPEN = (
    "SELECT p.oid::regprocedure::text AS name FROM pg_proc AS p WHERE p.pronamespace::regnamespace::text ~ $1 "
    "AND EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a WHERE a.grantee = 0)"
)


@pytest.fixture
def owner(server: EmbeddedServer) -> Iterator[Owner]:
    with owner_connection(server.owner_url) as opened:
        yield opened


def _names(owner: Owner, query: str, *args: Any) -> set[str]:
    return {row["name"] for row in owner.execute(query.encode(), args or None).fetchall()}


def _relations(owner: Owner, role: str) -> set[str]:
    """The schemas of ours in which a role may do anything at all to a table, a view or a sequence."""
    return _names(
        owner,
        f"SELECT n.nspname AS name FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE {_OURS} AND ("
        f"c.relkind IN ('r', 'p', 'v', 'm') AND has_table_privilege($1::text, c.oid, {_RELATION}) "
        "OR c.relkind = 'S' AND has_sequence_privilege($1::text, c.oid, 'USAGE, SELECT, UPDATE'))",
        role,
    )


def test_no_function_is_open_to_all(owner: Owner, project: ProjectRef) -> None:
    assert project.schema
    assert _names(owner, _OPEN, _PLACES) == set()


def test_a_function_of_a_later_version_is_not_open_to_all(owner: Owner, projects: Projects, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made by a migration or among the functions, in a project that stands, in a new one, and in control."""
    stands, fresh = projects.make(), "m_999998"

    def made(area: Area, argument: str) -> str:
        return f"CREATE FUNCTION {_PREFIX[area]}later({argument}) RETURNS text LANGUAGE sql AS 'SELECT current_user::text';"

    def later_migrations(area: Area) -> list[tuple[str, str]]:
        return [*migrations(area), ("9999", f"-- deploy: before\n{made(area, 'text')}")]

    def later_functions(area: Area) -> str:
        return f"{functions_of(area)}\n{made(area, 'integer')}"

    def later_mark(area: Area) -> str:
        return f"functions:later {area}"

    monkeypatch.setattr(runner, "migrations", later_migrations)
    monkeypatch.setattr(runner, "functions_of", later_functions)
    monkeypatch.setattr(runner, "functions_mark", later_mark)
    with owner.transaction():
        owner.execute(f"CREATE SCHEMA {fresh}".encode())
        apply_area(owner, "control", "control", "ext", "all")
        for schema in (stands.schema, fresh):
            apply_area(owner, "project", schema, "ext", "all", role=stands.role)
        assert len(_names(owner, f"SELECT p.oid::regprocedure::text AS name FROM {_FUNCTIONS} AND p.proname ~ 'later$'")) == 6
        assert _names(owner, _OPEN, _PLACES) == set()
        raise Rollback


def test_functions_that_earlier_versions_left_open_are_closed(owner: Owner, server: EmbeddedServer, projects: Projects) -> None:
    """As what is made anew, down to each right."""
    project, like = projects.make(), projects.make()
    rights = "SELECT replace(p.oid::regprocedure::text, $1, '') || regexp_replace(p.proacl::text, '_[rw][0-9]+', '', 'g') AS name "
    rights += "FROM pg_proc AS p WHERE p.pronamespace = $1::text::regnamespace"
    for schema in (project.schema, "control"):
        owned = "SELECT p.oid::regprocedure::text AS name FROM pg_proc AS p WHERE p.proowner = current_user::regrole AND p.pronamespace = $1::text::regnamespace"
        for name in _names(owner, owned, schema):
            owner.execute(f"GRANT EXECUTE ON FUNCTION {name} TO PUBLIC".encode())
            if schema != "control":
                owner.execute(f"REVOKE EXECUTE ON FUNCTION {name} FROM {project.role}".encode())
        owner.execute(f"UPDATE {schema}.migration SET name = 'functions:earlier' WHERE name LIKE 'functions:%'".encode())
    assert len(_names(owner, _OPEN, f"^{project.schema}$")) > 10
    migrate(server.owner_url, superuser_allowed=True)
    assert _names(owner, _OPEN, _PLACES) == set()
    assert _names(owner, rights, project.schema) == _names(owner, rights, like.schema)


def test_a_projects_reader_calls_one_function(owner: Owner, project: ProjectRef) -> None:
    (row,) = owner.execute(b"SELECT tag FROM control.instance").fetchall()
    assert _names(owner, _CALLED, f"mun_{row['tag']}_r{project.project_id}") == {f"{project.schema}.{project.schema}_read_rows"}


def test_what_runs_with_anothers_rights_finds_names_where_they_are_meant(owner: Owner, project: ProjectRef) -> None:
    """A path of the caller's would let it put its own functions in the place of those that are meant."""
    definers = owner.execute(f"SELECT n.nspname, p.proname, p.proconfig FROM {_FUNCTIONS} AND p.prosecdef".encode()).fetchall()
    assert {"control", project.schema} <= {row["nspname"] for row in definers}
    for row in definers:
        place = "pg_catalog" if row["nspname"] == "control" else row["nspname"]
        assert f"search_path={place}, pg_temp" in (row["proconfig"] or []), row


def test_a_workspaces_role_has_its_own_projects_and_nothing_else(owner: Owner, projects: Projects) -> None:
    own, other = projects.make(), projects.make()
    for project in (own, other):
        assert _relations(owner, project.role) == {project.schema}
    schemas = "SELECT n.nspname AS name FROM pg_namespace AS n WHERE n.nspname ~ '^m_[0-9]+$' AND has_schema_privilege($1::text, n.oid, 'USAGE, CREATE')"
    assert _names(owner, schemas, own.role) == {own.schema}
    inside = f"SELECT p.oid::regproc::text AS name FROM {_FUNCTIONS} AND n.nspname = $1 AND p.prorettype <> 'trigger'::regtype"
    assert _names(owner, _CALLED, own.role) == {"control.mark_due"} | _names(owner, inside, own.schema)


def test_the_apis_login_reads_and_owns_nothing(owner: Owner, migrated: MigrationReport, project: ProjectRef) -> None:
    login = login_of(migrated.api_url)
    assert _relations(owner, login) == set()
    called = _names(owner, _CALLED, login)
    assert {name.partition(".")[0] for name in called} == {"control"}
    assert "control.mark_due" not in called, "for workspaces' roles alone"
    owned = "SELECT s.classid::regclass::text AS name FROM pg_shdepend AS s JOIN pg_roles AS r ON r.oid = s.refobjid WHERE r.rolname = $1 AND s.deptype = 'o'"
    assert _names(owner, owned, login) == set()
    (row,) = owner.execute(
        "SELECT rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication OR rolinherit AS strong FROM pg_roles WHERE rolname = $1",
        (login,),
    ).fetchall()
    assert not row["strong"]
    held = "SELECT r.rolname AS name FROM pg_roles AS r JOIN pg_auth_members AS m ON m.roleid = r.oid WHERE m.member = $1::text::regrole"
    assert project.role in _names(owner, held, login)
    assert all("_w" in name for name in _names(owner, held, login)), "a member of nothing but workspaces' roles"


@pytest.mark.parametrize("statement", ["CREATE TEMP TABLE kept (a int)", "CREATE TABLE public.kept (a int)", "CREATE SCHEMA kept"])
async def test_nobody_makes_a_table_of_its_own(database: Database, project: ProjectRef, statement: str) -> None:
    """A temporary one would outlive the transaction, and wait for the next workspace on its connection."""

    async def run(*before: str) -> None:
        async with database.write(project) as tx:
            for text in (*before, statement):
                await tx.execute(text)

    for before in ((), ("RESET ROLE",)):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await run(*before)


def test_what_all_may_do_is_ended_or_refused(server: EmbeddedServer, plain: str) -> None:
    admin = server.owner_url.replace("/muniment?", "/plain?")
    open_to_all = (
        "SELECT has_database_privilege('public', current_database(), 'TEMPORARY') AS temporary, "
        "has_schema_privilege('public', 'public', 'CREATE') AS creating"
    )
    with owner_connection(admin) as owner:
        owner.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
        assert set(owner.execute(open_to_all).fetchall()[0].values()) == {True}
        migrate(plain)
        assert set(owner.execute(open_to_all).fetchall()[0].values()) == {False}
        owner.execute("GRANT TEMPORARY ON DATABASE plain TO PUBLIC")
        owner.execute("ALTER DATABASE plain OWNER TO muniment_owner")
        owner.execute("GRANT CREATE ON DATABASE plain TO plain_owner")
        with pytest.raises(UnsuitableDatabase, match="temporary tables") as refusal:
            migrate(plain)
        assert 'REVOKE TEMPORARY ON DATABASE "plain" FROM PUBLIC' in str(refusal.value.hint)
