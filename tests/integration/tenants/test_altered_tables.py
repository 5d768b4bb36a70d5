"""A migration under running servers: what their connections remember of tables that have changed does not fail a call."""

from typing import Any

import psycopg
import pytest

from service.access.keys import ALL_SCOPES, Caller
from service.access.scope import Scopes
from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.query import QueryEmbedder
from service.embed.query_cache import QueryCache
from service.errors import MunimentError
from service.operations.operation import Services
from service.operations.perform import perform
from service.settings import Settings
from service.tenants.migrate import MigrationReport
from service.tenants.owner import owner_connection
from tests.conftest import Memory, Projects
from tests.integration.operations.conftest import Orchard
from tests.isolation.test_unchecked import ASKED, IN_CONTROL, IN_PROJECTS, filled, request_with

# Their own kinds of failure: what a call that finds nothing any more says.
ANSWERS = {"ok", "not_found", "conflict", "invalid_request", "sql_rejected"}


async def _outcomes(database: Database, project: ProjectRef) -> dict[str, str]:
    """How each operation in a project ends."""
    services = Services(database, Scopes(database), Settings(), QueryEmbedder(Orchard(), QueryCache(), 5.0))
    caller = Caller("me", project.workspace_id, project.workspace, project.role, frozenset(ALL_SCOPES), None, project.project_id)
    outcomes: dict[str, str] = {}
    for operation in IN_PROJECTS:
        if operation.name not in IN_CONTROL:
            try:
                await perform(services, caller, operation, request_with(operation, **ASKED.get(operation.name, {})))
                outcomes[operation.name] = "ok"
            except MunimentError as error:
                outcomes[operation.name] = error.code
    return outcomes


def _alter(server: EmbeddedServer, project: ProjectRef) -> tuple[int, int]:
    """A column more in every table, and unique indexes made anew: how many of each."""
    with owner_connection(server.owner_url) as owner:
        tables = owner.execute(
            "SELECT oid::regclass::text AS name FROM pg_class WHERE relnamespace = $1::text::regnamespace AND relkind = 'r'",
            (project.schema,),
        ).fetchall()
        for table in tables:
            owner.execute(f"ALTER TABLE {table['name']} ADD COLUMN added_later integer NOT NULL DEFAULT 7".encode())
        indexes: list[Any] = owner.execute(
            "SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS made, c.conrelid::regclass::text AS of, "
            "quote_ident(c.conname) AS kept, pg_get_constraintdef(c.oid) AS rule FROM pg_index AS i "
            "LEFT JOIN pg_constraint AS c ON c.conindid = i.indexrelid AND c.contype = 'u' JOIN pg_class AS t ON t.oid = i.indrelid "
            "WHERE t.relnamespace = $1::text::regnamespace AND i.indisunique AND NOT i.indisprimary",
            (project.schema,),
        ).fetchall()
        done = 0
        for index in indexes:
            if index["kept"]:
                again = f"ALTER TABLE {index['of']} DROP CONSTRAINT {index['kept']}, ADD CONSTRAINT {index['kept']} {index['rule']}"
            else:
                again = f"DROP INDEX {index['name']}; {index['made']}"
            try:
                owner.execute(again.encode())
            except psycopg.errors.DependentObjectsStillExist:
                continue
            done += 1
    return len(tables), done


@pytest.mark.parametrize("connections", [1, 3])
async def test_calls_go_on_after_their_tables_have_changed(
    server: EmbeddedServer, migrated: MigrationReport, database: Database, memory: Memory, projects: Projects, connections: int
) -> None:
    project = await filled(database, memory, projects.make(dim=3))
    serving = await Database.open(migrated.api_url, max_size=connections)
    try:
        before = await _outcomes(serving, project)
        tables, indexes = _alter(server, project)
        after = await _outcomes(serving, project)
    finally:
        await serving.close()
    assert tables > 15
    assert indexes >= 2
    assert set(before.values()) | set(after.values()) <= ANSWERS, (before, after)
    assert {name for name, outcome in after.items() if outcome == "ok"} >= {"memory_query", "save_memory", "write_page", "export_project"}
