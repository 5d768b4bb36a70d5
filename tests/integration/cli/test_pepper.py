"""A key that a command makes is one that the server takes, whatever the shell knows of the secret that keys are hashed with."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.integration.cli.conftest import Done, Server, run, served
from tests.integration.cli.own_database import OwnDatabase, own_database


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnDatabase]:
    with own_database(tmp_path_factory.mktemp("postgres")) as made:
        yield made


def opens(server: Server, made: Done) -> bool:
    """Whether the server takes the key that a command made."""
    assert made.code == 0, made.err
    key = made.json[0]["key"]
    answer = httpx2.get(f"{server.url}/api/v1/workspaces/main/projects", headers={"Authorization": f"Bearer {key}"}, trust_env=False)
    return answer.status_code == 200


def make_key(server: Server, **more: str) -> Done:
    return run("key", "create", "--name", "a", "--json", **{"MUNIMENT_DATA": str(server.data), **more})


def test_a_shell_without_the_secret_makes_no_key_that_no_server_takes(postgres: OwnDatabase, tmp_path: Path) -> None:
    """From an installation without a secret to one that has got one, and one that changes it."""
    named = {"DATABASE_URL": postgres.url, "MUNIMENT_EMBEDDING_PROVIDER": "none"}
    with served(tmp_path / "data", **named) as (server, _):
        assert opens(server, make_key(server))
        assert not (server.data / "pepper").exists()
        other = make_key(server, MUNIMENT_KEY_PEPPER="first secret")
        assert (other.code, other.json["code"]) == (1, "invalid_setting")
        assert "MUNIMENT_KEY_PEPPER" in other.out
        assert run("workspace", "list", MUNIMENT_DATA=str(server.data)).code == 0
    named["MUNIMENT_KEY_PEPPER"] = "first secret"
    refused = run("serve", "--data", str(tmp_path / "data"), "--port", "0", **named)
    assert (refused.code, "change-pepper" in refused.err) == (1, True)
    assert run("worker", **named).code == 1
    assert run("key", "change-pepper", "--yes", **named).code == 0
    with served(tmp_path / "data", **named) as (server, _):
        lacking = make_key(server)
        assert lacking.code == 1
        assert f"MUNIMENT_KEY_PEPPER is not set, and there is none in {server.data / 'pepper'}" in lacking.out
        assert not (server.data / "pepper").exists()
        assert opens(server, make_key(server, MUNIMENT_KEY_PEPPER="first secret"))
        assert opens(server, make_key(server, **named))
        assert run("embed", "--dry-run", MUNIMENT_DATA=str(server.data)).code == 1


def test_a_server_with_the_api_s_login_alone_is_held_to_the_secret(postgres: OwnDatabase, tmp_path: Path) -> None:
    api = postgres.admin_url.replace("muniment_owner@", "caller@")
    assert run("migrate", DATABASE_URL=api, MUNIMENT_OWNER_URL=postgres.url).code == 0
    secret = {"MUNIMENT_KEY_PEPPER": "the same everywhere"}
    assert run("key", "change-pepper", "--yes", MUNIMENT_OWNER_URL=postgres.url, **secret).code == 0
    words = ("serve", "--no-worker", "--data", str(tmp_path / "data"), "--port", "0")
    refused = run(*words, DATABASE_URL=api, MUNIMENT_KEY_PEPPER="another")
    assert (refused.code, "MUNIMENT_KEY_PEPPER is not the secret" in refused.err) == (1, True)
    with served(tmp_path / "data", "--no-worker", DATABASE_URL=api, MUNIMENT_EMBEDDING_PROVIDER="none", **secret) as (server, _):
        assert opens(server, make_key(server, MUNIMENT_OWNER_URL=postgres.url, **secret))


def test_the_secret_of_the_embedded_database_lies_in_its_folder(tmp_path: Path) -> None:
    data = tmp_path / "data"
    none = {"MUNIMENT_EMBEDDING_PROVIDER": "none"}
    with served(data, **none) as (server, _):
        assert opens(server, make_key(server))
        assert make_key(server, MUNIMENT_KEY_PEPPER="another").code == 1
    (data / "pepper").rename(data / "pepper.away")
    lost = run("key", "create", MUNIMENT_DATA=str(data))
    assert (lost.code, (data / "pepper").exists()) == (1, False)
    assert str(data / "pepper") in lost.err
    assert run("key", "change-pepper", MUNIMENT_DATA=str(data)).code == 130
    assert not (data / "pepper").exists()
    assert run("key", "change-pepper", "--yes", MUNIMENT_DATA=str(data)).code == 0
    with served(data, **none) as (server, _):
        assert opens(server, make_key(server))
