"""What cannot be used is refused in two lines that say which variable or right is wrong, never with a traceback."""

from pathlib import Path

import pytest

from service.tenants.owner import owner_connection
from tests.integration.cli.conftest import Done, run, served
from tests.integration.cli.own_database import own_database

COMMANDS = (
    ["serve", "--port", "0"],
    ["workspace", "list"],
    ["key", "create"],
    ["migrate"],
    ["worker"],
    ["embed", "--dry-run"],
    ["backup", "file"],
)


def check_refused(done: Done, *words: str) -> None:
    assert (done.code, "Traceback" in done.err) == (1, False), done.err
    assert done.err.startswith("error: ")
    for word in words:
        assert word in done.err


@pytest.mark.parametrize("words", COMMANDS, ids=[words[0] for words in COMMANDS])
@pytest.mark.parametrize("value", ["mysql://x", "nonsense"])
def test_what_names_no_database_is_refused(words: list[str], value: str, tmp_path: Path) -> None:
    done = run(*words, DATABASE_URL=value, MUNIMENT_DATA=str(tmp_path / "data"))
    check_refused(done, "DATABASE_URL: not the address of a Postgres database")
    assert not (tmp_path / "data").exists()


def test_a_database_that_does_not_answer_is_refused(tmp_path: Path) -> None:
    for words in COMMANDS:
        if words != ["worker"]:  # it waits
            named = {"DATABASE_URL": "postgresql://keeper@127.0.0.1:1/memory", "MUNIMENT_DATA": str(tmp_path / "data")}
            check_refused(run(*words, **named), "does not answer")
    check_refused(run("workspace", "list", MUNIMENT_REDIS_URL="localhost", MUNIMENT_DATA=str(tmp_path)), "MUNIMENT_REDIS_URL")


def test_rights_that_a_login_lacks_are_told(tmp_path: Path) -> None:
    with own_database(tmp_path / "postgres") as postgres:
        named = {"DATABASE_URL": postgres.url}
        for words in (["workspace", "list"], ["key", "create"], ["embed", "--dry-run"], ["worker"]):
            check_refused(run(*words, **named), "muniment migrate")
        api = {"DATABASE_URL": postgres.admin_url.replace("muniment_owner@", "caller@")}
        assert run("migrate", **api, MUNIMENT_OWNER_URL=postgres.url).code == 0
        assert run("workspace", "create", "main", **named).code == 0
        for words in (["workspace", "list"], ["project", "create", "app"], ["embed", "--dry-run"], ["worker"]):
            check_refused(run(*words, **api), "MUNIMENT_OWNER_URL")
        with owner_connection(postgres.admin_url) as admin:
            admin.execute("ALTER DATABASE memory OWNER TO muniment_owner")
        check_refused(run("project", "create", "app", **named), "permission denied for database memory")
        with owner_connection(postgres.admin_url) as admin:
            admin.execute("ALTER DATABASE memory OWNER TO keeper")
        assert run("project", "create", "app", **named).code == 0


def test_a_misspelled_variable_is_told(tmp_path: Path) -> None:
    misspelled = {"MUNIMENT_EMBEDING_PROVIDER": "none", "MUNIMENT_EMBEDDING_PROVIDER": "none", "MUNIMENT_OTHER_THING": "x"}
    with served(tmp_path / "data", **misspelled) as (server, _):
        listed = run("workspace", "list", "--json", MUNIMENT_DATA=str(server.data), **misspelled)
        assert listed.json[0]["workspace"] == "main"
    warned = [line for line in (tmp_path / "data.log").read_text().splitlines() if "MUNIMENT_EMBEDING_PROVIDER" in line]
    assert len(warned) == 1
    assert "MUNIMENT_EMBEDDING_PROVIDER" in warned[0]
    assert listed.err == "warning: MUNIMENT_EMBEDING_PROVIDER is no setting and has no effect; MUNIMENT_EMBEDDING_PROVIDER is one.\n"
