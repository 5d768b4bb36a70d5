"""A PgBouncer of the tests' own, in front of the tests' Postgres: transactions of many clients share a few connections.

The program is Debian's package; `make test` installs it where it can.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg.rows import dict_row

from service.db.embedded import EmbeddedServer
from service.db.embedded.account import Account

_PORT = 6432


def find_program() -> str:
    """Where PgBouncer is; fails the test that needs it where there is none."""
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin")
    if found is None:
        pytest.fail("PgBouncer is not installed. Install it (Debian, Ubuntu: apt-get install pgbouncer) and run the tests again.")
    return found


class PgBouncer:
    """Runs until it is stopped; listens on a socket in a folder of its own. Its console is the owner's."""

    def __init__(self, server: EmbeddedServer, login: str, pool_size: int, mode: str = "transaction") -> None:
        self._login, self._owner, self.pool_size = login, server.owner, pool_size
        program = find_program()
        owner = (server.data / "postgres").stat()
        # The account of the server, which alone may open its socket; PgBouncer does not run as root.
        self._account = Account(owner.st_uid, owner.st_gid, reads_all=True) if owner.st_uid != os.geteuid() else Account()
        self._folder = Path(tempfile.mkdtemp(prefix="muniment-pgbouncer-", dir="/tmp"))
        config = self._folder / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n* = host={server.socket_folder} port={server.port} pool_size={pool_size}\n"
            f"[pgbouncer]\npool_mode = {mode}\nlisten_addr =\nlisten_port = {_PORT}\nunix_socket_dir = {self._folder}\n"
            f"auth_type = trust\nauth_file = {self._folder / 'users'}\nadmin_users = {server.owner}\nmax_client_conn = 200\nlog_connections = 0\nlog_disconnections = 0\nlog_stats = 0\n\n"
        )
        (self._folder / "users").write_text(f'"{login}" ""\n"{server.owner}" ""\n')
        self._account.own_tree(self._folder)
        self._process = subprocess.Popen(
            self._account.command((program, config)), cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        said: list[str] = []
        for line in self._process.stderr:
            said.append(line)
            if "process up" in line:
                return
        pytest.fail(f"PgBouncer did not start: {''.join(said)}")

    def url(self, database: str, login: str | None = None) -> str:
        return f"postgresql://{quote(login or self._login)}@/{database}?host={quote(str(self._folder), safe='')}&port={_PORT}"

    def show(self, what: str) -> list[dict[str, Any]]:
        """What its console tells: SERVERS, CLIENTS, POOLS."""
        with psycopg.connect(self.url("pgbouncer", self._owner), autocommit=True, row_factory=dict_row) as console:
            return console.execute(f"SHOW {what}".encode()).fetchall()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)
        if self._process.stderr is not None:
            self._process.stderr.close()
        shutil.rmtree(self._folder)
