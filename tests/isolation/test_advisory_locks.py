"""Locks by number: their keys can be told by whoever knows a project's number, so no workspace may take one, in whatever words."""

from collections.abc import Iterator

import pytest

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.graph.parse import parse
from service.graph.rejection import GraphRejection
from service.sqltool.rejection import SqlRejection
from service.sqltool.rules.allowed_functions import FUNCTIONS
from service.sqltool.run import SqlLimits, run_query
from service.tenants.owner import Owner, owner_connection
from tests.conftest import Projects

FORMS = [
    "SELECT {call}",
    "SELECT pg_catalog.{call}",
    "SELECT 1 FROM {call}",
    "SELECT 1 FROM events, LATERAL {call} AS x",
    "SELECT count(*) FILTER (WHERE {call} IS NULL) FROM events",
    "WITH taken AS MATERIALIZED (SELECT {call}) SELECT 1",
    "SELECT 1 ORDER BY {call}",
    "VALUES ({call})",
]


@pytest.fixture
def owner(server: EmbeddedServer) -> Iterator[Owner]:
    with owner_connection(server.owner_url) as opened:
        yield opened


def _calls(owner: Owner, key: int) -> Iterator[str]:
    """Every function of Postgres's on such locks, with a key or its two halves, plain and quoted."""
    rows = owner.execute(b"SELECT proname, pronargs FROM pg_proc WHERE proname ~ 'advisory'").fetchall()
    assert {"pg_advisory_lock", "pg_try_advisory_xact_lock_shared", "pg_advisory_unlock_all"} <= {row["proname"] for row in rows}
    for row in rows:
        arguments = ["", f"{key}", f"{key >> 32}, {key & 0xFFFF}"][row["pronargs"]]
        for name in (row["proname"], f'"{row["proname"]}"', row["proname"].upper(), f"{row['proname']} /**/ "):
            yield f"{name}({arguments})"


async def test_free_sql_takes_no_lock(owner: Owner, database: Database, projects: Projects) -> None:
    own, other = projects.make(), projects.make()
    (key,) = owner.execute(b"SELECT hashtextextended('muniment embed ' || $1::bigint, 0) AS key", (other.project_id,)).fetchall()
    assert not [name for name in FUNCTIONS if "lock" in name]
    for call in _calls(owner, key["key"]):
        for form in FORMS:
            with pytest.raises(SqlRejection) as refusal:
                await run_query(database, own, form.format(call=call), [], limits=SqlLimits())
            assert refusal.value.blocked_by in ("function", "table"), form.format(call=call)


def test_a_graph_query_names_no_such_function(owner: Owner) -> None:
    start = "START a = events(entity: 'x') MATCH (a)-[:SHARES]->(b)"
    assert parse(f"{start} RETURN count(b)")
    for call in _calls(owner, 4711):
        for rest in (f"WHERE {call} > 1 RETURN b", f"RETURN {call}", f"RETURN b ORDER BY {call}"):
            with pytest.raises(GraphRejection):
                parse(f"{start} {rest}")
