"""The embedded Postgres as a whole.

In: a data folder. Out: an `EmbeddedServer` that takes connections on a Unix socket in a private folder, until `stop()`.
"""

import os
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import psycopg

from service.db.embedded.account import Account, choose_account, named_account, run_program
from service.db.embedded.errors import EmbeddedPostgresError, explained, failed
from service.db.embedded.folder import check_version, hold, open_folder, server_lock, socket_folder
from service.db.embedded.payload import Payload, find_payload
from service.db.embedded.postmaster import Postmaster, ServerLog, drop_stale_pid, end_left_over, says_ready, spawn

DATABASE = "muniment"
OWNER = "muniment_owner"
PORT = 5432

_SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # A laptop's share of memory, and of connections.
    "shared_buffers": "128MB",
    "max_connections": "60",
    "max_wal_size": "1GB",
    "min_wal_size": "80MB",
    # Every project has its own tables, and a dump locks them all at once.
    "max_locks_per_transaction": "256",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_destination": "stderr",
    "logging_collector": "off",
    # Failed statements are the caller's to report: here they would leave people's words in a file.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_checkpoints": "off",
}
# After a crash every file is synchronised, and a project has a hundred: Linux can do them all at once.
if sys.platform == "linux":
    _SETTINGS["recovery_init_sync_method"] = "syncfs"
# How often a server that says it is ready may refuse before we believe the refusal: its last step takes a moment.
_PATIENCE = 50


class PostgresServer(Protocol):
    """A Postgres that Muniment runs by itself, whatever payload its programs come from."""

    @property
    def socket_folder(self) -> Path: ...

    @property
    def port(self) -> int: ...

    @property
    def owner_url(self) -> str: ...

    @property
    def running(self) -> bool: ...

    def stop(self) -> None: ...


class EmbeddedServer:
    """A running embedded Postgres; `start_embedded` makes it."""

    def __init__(self, data: Path, socket_folder: Path, postmaster: Postmaster, closing: ExitStack) -> None:
        self.data = data
        self.socket_folder = socket_folder
        self.port = PORT
        self.database = DATABASE
        self.owner = OWNER
        self._postmaster = postmaster
        self._closing = closing

    @property
    def owner_url(self) -> str:
        """The address of the database for its owner, a superuser; psql, psycopg and asyncpg read it alike."""
        return _owner_url(self.socket_folder, self.database)

    @property
    def running(self) -> bool:
        """Whether the server process lives; false for a moment after it was killed, and for good when it keeps ending."""
        return self._postmaster.running

    def stop(self) -> None:
        """Shuts the server down, cutting off its sessions, and frees the data folder; a second call does nothing."""
        with explained(self.data):
            self._closing.close()


def start_embedded(data: Path) -> EmbeddedServer:
    """Starts Postgres on a data folder, making the cluster and the database when they are missing; blocks until it answers.

    A server left over from a killed process is ended first. Nothing half made stays behind an error.
    Raises `DataFolderInUse` when another process runs this folder, else `EmbeddedPostgresError`.
    """
    payload = find_payload()
    with explained(data), ExitStack() as closing:
        data = data.expanduser().resolve()
        cluster = data / "postgres"
        open_folder(data)
        closing.enter_context(hold(data))
        if cluster.exists():
            check_version(cluster, payload)
        account, payload = choose_account(data, cluster, payload)
        if not cluster.exists():
            _make_cluster(data, cluster, payload, account)
        folder = closing.enter_context(socket_folder(data, account))
        postmaster = Postmaster(partial(_launch, data, cluster, payload, account, folder), ServerLog(data / "postgres.log"))
        closing.callback(postmaster.stop)
        _await_database(postmaster, payload, cluster, folder)
        postmaster.keep()
        return EmbeddedServer(data, folder, postmaster, closing.pop_all())


def _make_cluster(data: Path, cluster: Path, payload: Payload, account: Account) -> None:
    """Makes the cluster beside its place and moves it there when it is whole."""
    unfinished = data / "postgres.new"
    if unfinished.exists():
        shutil.rmtree(unfinished)
    maker = named_account(account)
    try:
        unfinished.mkdir(mode=0o700)
        maker.own(unfinished)
        options = ("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C.UTF-8")
        access = ("--auth-local=trust", "--auth-host=reject", "--data-checksums", "--no-instructions")
        program = (payload.program("initdb"), "-D", unfinished, f"--username={OWNER}", *options, *access)
        code, output = run_program(maker, program)
        if code != 0:
            raise failed("Making the Postgres cluster", data, output.strip())
        account.own_tree(unfinished)
        unfinished.rename(cluster)
        # Were the new name lost with the power, the next start would take the cluster for a half-made one.
        for folder in (data, data.parent):
            _write_out(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write_out(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _launch(data: Path, cluster: Path, payload: Payload, account: Account, folder: Path) -> subprocess.Popen[bytes]:
    """Starts the server processes when none from before is left."""
    # The same for every path that leads to the cluster, and in the title of every server process.
    facts = cluster.stat()
    marker = f"muniment-{facts.st_dev:x}-{facts.st_ino:x}"
    # The setting is a list of folders: quotes keep a comma or a space in the path from dividing it.
    quoted = '"' + str(folder).replace('"', '""') + '"'
    settings = {**_SETTINGS, "unix_socket_directories": quoted, "cluster_name": marker}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with server_lock(data) as lock:
        end_left_over(cluster, marker, lock)
        drop_stale_pid(cluster)
        return spawn(account.command((payload.program("postgres"), "-D", cluster, *options)), lock)


def _await_database(postmaster: Postmaster, payload: Payload, cluster: Path, folder: Path) -> None:
    """Waits as long as the server lives, for recovery takes what it takes, and makes the database when there is none."""
    refusals = 0
    pause = 0.01
    while True:
        try:
            psycopg.connect(_owner_url(folder, DATABASE)).close()
            return
        except psycopg.OperationalError as error:
            if not postmaster.running:
                raise failed("Starting Postgres", cluster.parent, postmaster.last_words()) from error
            if says_ready(cluster, postmaster.process.pid):
                if f'database "{DATABASE}" does not exist' in str(error):
                    _make_database(payload, folder)
                    continue
                refusals += 1
            if refusals > _PATIENCE:
                raise EmbeddedPostgresError(f"The embedded Postgres in {cluster.parent} refuses connections: {error}") from error
        time.sleep(pause)
        pause = min(pause * 1.3, 0.2)


def _make_database(payload: Payload, folder: Path) -> None:
    options = (f"--host={folder}", f"--port={PORT}", f"--username={OWNER}", "--maintenance-db=postgres", "--no-password")
    code, output = run_program(Account(), (payload.program("createdb"), *options, DATABASE))
    if code != 0:
        raise failed("Making the database", folder, output.strip())


def _owner_url(folder: Path, database: str) -> str:
    return f"postgresql://{OWNER}@/{database}?host={quote(str(folder), safe='')}&port={PORT}"
