import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from service.surface.cli.main import cli

NAMED = ["--url", "http://127.0.0.1:9", "--key", "mun_x", "--workspace", "w", "--project", "p"]


def run(*words: str, data: Path) -> Result:
    """Runs a command with nothing in its environment that names a server."""
    cleared = {name: None for name in os.environ if name.startswith("MUNIMENT_")}
    return CliRunner().invoke(cli, [*words], env={**cleared, "MUNIMENT_DATA": str(data)})


@pytest.mark.parametrize(
    "words",
    [
        ["nothing"],
        ["query"],
        ["query", "a", "--nothing"],
        ["query", "a", "--limit", "many"],
        ["key", "revoke", "mun_secret"],
        ["graph"],
        ["graph", "q", "--params", "{"],
        ["graph", "q", "--params", "[1]"],
        ["import"],
        ["import", "--markdown", "/nothing/there"],
        ["import", "--transcript", "/nothing/there"],
        ["import", "--events", "/"],
        ["status", "--timeout", "0"],
        ["connect", "emacs"],
        ["query", "a", "--url", "nowhere", "--key", "k"],
        ["query", "a", "--url", "http://127.0.0.1:9"],
    ],
)
def test_wrong_usage_is_2_with_an_error_and_a_hint(words: list[str], tmp_path: Path) -> None:
    result = run(*words, data=tmp_path)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.splitlines()[-1].startswith("hint: ")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("words", [["query", "a"], ["graph", "q"], ["status"], ["import", "--sample"], ["connect"]])
def test_without_a_server_it_is_3_and_says_how_to_start_one(words: list[str], tmp_path: Path) -> None:
    result = run(*words, data=tmp_path)
    assert result.exit_code == 3
    assert "muniment serve" in result.stderr
    as_json = run(*words, "--json", data=tmp_path)
    assert as_json.exit_code == 3
    assert json.loads(as_json.stdout)["code"] == "server_unreachable"


@pytest.mark.parametrize("words", [["query", "a"], ["graph", "q"], ["status"], ["status", "--wait"], ["import", "--sample"]])
def test_a_server_that_is_not_there_is_3(words: list[str], tmp_path: Path) -> None:
    result = run(*words, *NAMED, data=tmp_path)
    assert result.exit_code == 3
    assert result.stderr.startswith("error: No server answers at http://127.0.0.1:9")


def test_usage_problems_as_json(tmp_path: Path) -> None:
    result = run("graph", "q", "--json", "--params", "{", data=tmp_path)
    assert result.exit_code == 2
    assert json.loads(result.stdout)["code"] == "wrong_usage"


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["query", "--help"], ["query", "-h"], ["import", "--help"], ["connect", "-h"]])
def test_help(words: list[str], tmp_path: Path) -> None:
    result = run(*words, data=tmp_path)
    assert result.exit_code == 0
    assert "Usage:" in result.stdout


def test_version(tmp_path: Path) -> None:
    result = run("--version", data=tmp_path)
    assert result.exit_code == 0
    assert result.stdout.startswith("muniment ")


def test_connect_for_people_and_programs(tmp_path: Path) -> None:
    named = NAMED[:4]
    shown = run("connect", *named, data=tmp_path)
    assert shown.exit_code == 0
    assert 'claude mcp add --transport http muniment http://127.0.0.1:9/mcp --header "Authorization: Bearer mun_x"\n' in shown.stdout
    parts = json.loads(run("connect", *named, "--json", data=tmp_path).stdout)
    assert parts["cursor"] == {
        "mcpServers": {"muniment": {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer mun_x"}}},
    }
    codex = tomllib.loads(parts["codex"])["mcp_servers"]["muniment"]
    assert codex == {"url": "http://127.0.0.1:9/mcp", "http_headers": {"Authorization": "Bearer mun_x"}}
    one = run("connect", "codex", *named, data=tmp_path)
    assert "claude" not in one.stdout
    assert parts["codex"] in one.stdout


def test_connect_asks_the_server_about_a_project_that_is_named(tmp_path: Path) -> None:
    result = run("connect", *NAMED, data=tmp_path)
    assert (result.exit_code, result.stdout) == (3, "")


@pytest.mark.parametrize("text", ["mun_abc", "mun_ABCDEFGHIJKL_x", "Zq8vT3mLw9xKpZq8vT3mLw9xKpZq8vT3mLw9xKpZq8v", "a_b"])
def test_what_is_no_key_is_not_repeated(text: str, tmp_path: Path) -> None:
    result = run("key", "revoke", text, data=tmp_path)
    assert result.exit_code == 2
    assert text not in result.output
    assert "muniment key list" in result.stderr


def test_asking_a_server_imports_nothing_that_a_server_is_made_of() -> None:
    code = (
        "import sys\n"
        "from service.surface.cli.main import cli\n"
        "try:\n    cli.main(['query', '--help'])\n"
        "except SystemExit:\n    print(sorted({'litestar', 'onnxruntime', 'asyncpg', 'psycopg', 'mcp', 'sqlglot', 'numpy'} & {*sys.modules}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
