"""Data folders for the embedded Postgres, and other processes that own one."""

import json
import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psycopg
import pytest

from service.db.embedded import EmbeddedServer, start_embedded
from service.db.embedded.account import Account, holds_read_search

ROOT = Path(__file__).parents[3]
OWNER = Path(__file__).with_name("owner.py")


class Owner:
    """Another process that owns the server of a data folder."""

    def __init__(self, data: Path, account: Account | None = None, wrapper: Sequence[str] = ()) -> None:
        program = [sys.executable, str(OWNER), str(data)]
        self.process = subprocess.Popen(
            [*wrapper, *(account.command(program) if account else program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        assert self.process.stdout is not None
        self.answer: dict[str, str] = json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder with a short path that every account can enter."""
    with tempfile.TemporaryDirectory(prefix="m-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="session")
def template() -> Iterator[Path]:
    """A stopped data folder with a cluster in it."""
    with tempfile.TemporaryDirectory(prefix="m-") as folder:
        Path(folder).chmod(0o711)
        start_embedded(Path(folder)).stop()
        yield Path(folder)


@pytest.fixture
def copy(template: Path) -> Callable[[Path], Path]:
    """Makes a data folder with a cluster in it, on which no server runs yet."""

    def make(data: Path) -> Path:
        subprocess.run(["cp", "-a", template, data], check=True)
        data.chmod(0o711)
        return data

    return make


@pytest.fixture
def data(place: Path, copy: Callable[[Path], Path]) -> Path:
    return copy(place / "data")


@pytest.fixture
def own() -> type[Owner]:
    return Owner


@pytest.fixture
def running() -> Callable[[Path], AbstractContextManager[EmbeddedServer]]:
    """Runs a server for the length of a block."""

    @contextmanager
    def run(data: Path) -> Iterator[EmbeddedServer]:
        server = start_embedded(data)
        try:
            yield server
        finally:
            server.stop()

    return run


@pytest.fixture
def read_search() -> None:
    if not holds_read_search():
        pytest.skip("needs the right to read and search every folder")


@pytest.fixture
def user(read_search: None) -> Account:
    """`nobody`, allowed to read everything, since the interpreter may lie in a closed home; to write only what is its own."""
    entry = pwd.getpwnam("nobody")
    return Account(entry.pw_uid, entry.pw_gid, reads_all=True)


@pytest.fixture
def add_row() -> Callable[[str, str], None]:
    def add(url: str, note: str) -> None:
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS kept (note text)")
            connection.execute("INSERT INTO kept VALUES (%s)", (note,))

    return add


@pytest.fixture
def rows() -> Callable[[str], list[str]]:
    def read(url: str) -> list[str]:
        with psycopg.connect(url) as connection:
            return [row[0] for row in connection.execute("SELECT note FROM kept ORDER BY note").fetchall()]

    return read


@pytest.fixture
def postmaster_pid() -> Callable[[Path], int]:
    def read(data: Path) -> int:
        return int((data / "postgres/postmaster.pid").read_text().partition("\n")[0])

    return read
