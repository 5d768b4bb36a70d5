"""The owner's commands without a server: on a data folder as a stopped or killed one left it, and on folders that are none."""

import os
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Server, run, served
from tests.integration.cli.own_database import own_database

NO_VECTORS = {"MUNIMENT_EMBEDDING_PROVIDER": "none"}


@pytest.fixture
def killed(tmp_path: Path) -> Server:
    """A server that was killed; the number of its process is another's by now."""
    with served(tmp_path / "data") as (server, process):
        process.kill()
    (server.data / "muniment.lock").write_text(f"{os.getpid()}\n")
    assert (server.data / "connection.json").exists()
    return server


def test_commands_work_after_a_server_was_killed(killed: Server) -> None:
    named = {"MUNIMENT_DATA": str(killed.data)}
    listed = run("workspace", "list", "--json", **named)
    assert (listed.code, [row["workspace"] for row in listed.json]) == (0, ["main"]), listed.err
    assert run("embed", "--dry-run", **named).code == 0
    assert run("migrate", **named).out == "nothing to do\n"
    assert run("key", "create", **named).code == 0
    away = run("status", **named)
    assert (away.code, "muniment serve" in away.err) == (3, True)
    with served(killed.data, **NO_VECTORS) as (server, _):
        assert run("workspace", "list", **named).code == 0
        assert run("status", **named).code == 0
        assert server.url != killed.url


def test_what_a_killed_server_on_another_database_said_holds_no_more(tmp_path: Path) -> None:
    with own_database(tmp_path / "postgres") as postgres:
        with served(tmp_path / "data", DATABASE_URL=postgres.url, **NO_VECTORS) as (_, process):
            assert run("project", "list", MUNIMENT_DATA=str(tmp_path / "data")).code == 0
            refused = run("migrate", "--data", str(tmp_path / "data"))
            assert (refused.code, "MUNIMENT_OWNER_URL" in refused.err) == (1, True)
            process.kill()
        after = run("project", "list", "--json", MUNIMENT_DATA=str(tmp_path / "data"))
        assert (after.code, after.json["code"]) == (1, "invalid_setting")
        assert run("project", "list", DATABASE_URL=postgres.url).code == 0


def test_only_a_server_makes_a_cluster(tmp_path: Path) -> None:
    wrong = tmp_path / "mistyped"
    for words in (
        ["project", "create", "app"],
        ["workspace", "list"],
        ["key", "create"],
        ["migrate"],
        ["worker"],
        ["embed", "--dry-run"],
    ):
        done = run(*words, "--data", str(wrong))
        assert (done.code, str(wrong) in done.err, "Traceback" in done.err) == (1, True, False), words
        assert "--data" in done.err
    assert not wrong.exists()


def test_a_worker_finds_the_server_of_its_data_folder(tmp_path: Path) -> None:
    with served(tmp_path / "data", "--no-worker") as (server, _):
        assert run("worker", "--data", str(server.data), MUNIMENT_KEY_PEPPER="another").code == 1
        assert run("migrate", "--data", str(server.data)).code == 0
