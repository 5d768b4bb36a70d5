"""What every role may do, read from the catalogue, so that whatever is added later is held to the same."""

from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import UnsuitableDatabase
from service.tenants.migrate import MigrationReport, migrate
from service.tenants.owner import Owner, owner_connection
from tests.conftest import Projects
from tests.integration.tenants.test_migrate import plain
from tests.isolation.conftest import login_of

__all__ = ["plain"]
_OURS = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
_RELATION = "'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER'"
# Trigger functions cannot be called, and whoever may make no table can fire none.
_FUNCTIONS = f"pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE {_OURS} AND p.prorettype <> 'trigger'::regtype"


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


def test_no_function_of_control_is_open_to_all(owner: Owner) -> None:
    public = "EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a WHERE a.grantee = 0)"
    assert _names(owner, f"SELECT p.oid::regprocedure::text AS name FROM {_FUNCTIONS} AND n.nspname = 'control' AND {public}") == set()


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
    called = f"SELECT p.proname AS name FROM {_FUNCTIONS} AND n.nspname = 'control' AND has_function_privilege($1::text, p.oid, 'EXECUTE')"
    assert _names(owner, called, own.role) == {"mark_due"}


def test_the_apis_login_reads_and_owns_nothing(owner: Owner, migrated: MigrationReport, project: ProjectRef) -> None:
    login = login_of(migrated.api_url)
    assert _relations(owner, login) == set()
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
