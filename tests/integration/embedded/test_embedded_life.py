"""The embedded Postgres from its first start through crashes to its next one."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
import stamina

from service.db.embedded import EmbeddedServer
from service.db.embedded.folder import server_lock, try_lock
from service.db.embedded.payload import find_payload
from service.db.embedded.postmaster import end_left_over

AddRow = Callable[[str, str], None]
Rows = Callable[[str], list[str]]
PostmasterPid = Callable[[Path], int]
Running = Callable[[Path], AbstractContextManager[EmbeddedServer]]
Own = Callable[..., Any]


def setting(url: str, name: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
        assert row is not None
        return row[0]


@stamina.retry(on=psycopg.OperationalError, timeout=30, attempts=None, wait_initial=0.02, wait_max=0.2)
def wait_for_connections(server: EmbeddedServer) -> None:
    psycopg.connect(server.owner_url).close()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_a_new_folder_becomes_a_database(place: Path, running: Running) -> None:
    data = place / "new" / "data"
    with running(data) as server:
        with psycopg.connect(server.owner_url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
            found = connection.execute(
                "SELECT current_user::text, current_database()::text, pg_encoding_to_char(encoding)::text, datlocale, datctype,"
                " lower('ÄÖ'), '[1,2]'::halfvec(2) <-> '[1,2]' FROM pg_database WHERE datname = current_database()"
            ).fetchone()
        assert found == ("muniment_owner", "muniment", "UTF8", "C.UTF-8", "C.UTF-8", "äö", 0.0)
        names = ("listen_addresses", "fsync", "data_checksums", "jit", "TimeZone")
        assert [setting(server.owner_url, name) for name in names] == ["", "on", "on", "off", "UTC"]
        assert setting(server.owner_url, "recovery_init_sync_method") == ("syncfs" if sys.platform == "linux" else "fsync")
        other = await asyncpg.connect(server.owner_url)
        assert await other.fetchval("SELECT current_database()") == "muniment"
        await other.close()
        modes = {path.name: path.stat().st_mode & 0o777 for path in data.iterdir()}
        assert modes == {"postgres": 0o700, "run": 0o700, "muniment.lock": 0o600, "server.lock": 0o600, "postgres.log": 0o600}
    assert not (data / "run").exists()


def test_psql_reads_the_address(data: Path, running: Running) -> None:
    with running(data) as server:
        psql = [find_payload().program("psql"), server.owner_url, "-XAtc", "SELECT 'read'"]
        assert subprocess.run(psql, capture_output=True, check=True).stdout == b"read\n"


def test_a_restart_keeps_the_rows(data: Path, running: Running, add_row: AddRow, rows: Rows) -> None:
    for note in ("first", "second"):
        with running(data) as server:
            add_row(server.owner_url, note)
            assert server.running
        assert not server.running
        server.stop()
    with running(data) as server:
        assert rows(server.owner_url) == ["first", "second"]


def test_a_killed_server_loses_nothing(data: Path, running: Running, add_row: AddRow, rows: Rows, postmaster_pid: PostmasterPid) -> None:
    with running(data) as server:
        add_row(server.owner_url, "committed")
        os.kill(postmaster_pid(data), 9)
    with running(data) as server:
        assert rows(server.owner_url) == ["committed"]


def test_a_killed_server_is_started_again(data: Path, running: Running, add_row: AddRow, rows: Rows, postmaster_pid: PostmasterPid) -> None:
    with running(data) as server:
        add_row(server.owner_url, "committed")
        for _ in range(2):
            former = postmaster_pid(data)
            os.kill(former, 9)
            wait_for_connections(server)
            assert postmaster_pid(data) != former
        assert rows(server.owner_url) == ["committed"]
    assert not server.running


def test_a_killed_owner_loses_nothing_and_leaves_no_server(
    data: Path, running: Running, own: Own, add_row: AddRow, rows: Rows, postmaster_pid: PostmasterPid
) -> None:
    owner = own(data)
    add_row(owner.answer["url"], "committed")
    former = postmaster_pid(data)
    with psycopg.connect(owner.answer["url"]):
        owner.kill()
        with running(data) as server:
            assert rows(server.owner_url) == ["committed"]
            assert not alive(former)


@pytest.mark.skipif(sys.platform != "linux", reason="no other system holds a process to it")
def test_server_processes_have_a_limit_of_memory(data: Path, running: Running) -> None:
    with running(data) as server, closing(psycopg.connect(server.owner_url)) as connection:
        limits = Path(f"/proc/{connection.info.backend_pid}/limits").read_text()
        (line,) = [line for line in limits.splitlines() if line.startswith("Max data size")]
        assert line.split()[3:5] == [str(1536 * 1024 * 1024)] * 2


def test_a_server_that_does_not_react_is_ended(
    data: Path, running: Running, add_row: AddRow, rows: Rows, postmaster_pid: PostmasterPid
) -> None:
    with running(data) as server:
        add_row(server.owner_url, "committed")
        stopped = postmaster_pid(data)
        os.kill(stopped, signal.SIGSTOP)
    assert not alive(stopped)
    with running(data) as server:
        assert rows(server.owner_url) == ["committed"]


def test_a_server_left_over_is_ended(data: Path, running: Running, postmaster_pid: PostmasterPid) -> None:
    with running(data) as server, server_lock(data) as lock:
        assert not try_lock(lock)
        left_over = postmaster_pid(data)
        end_left_over(data / "postgres", setting(server.owner_url, "cluster_name"), lock)
        assert not alive(left_over)  # whoever watches over the server may have started another since


def test_backends_left_over_are_ended(data: Path, running: Running, postmaster_pid: PostmasterPid) -> None:
    with running(data) as server, closing(psycopg.connect(server.owner_url, autocommit=True)) as busy:
        # Computes without ever waiting, and so does not notice that its parent is gone.
        busy.pgconn.send_query(b"DO $$ BEGIN LOOP END LOOP; END $$")
        with psycopg.connect(server.owner_url, autocommit=True) as watch:
            query = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND state = 'active'"
            while watch.execute(query, (busy.info.backend_pid,)).fetchone() is None:
                pass
        os.kill(postmaster_pid(data), 9)
        wait_for_connections(server)
        assert not alive(busy.info.backend_pid)


def test_the_pid_of_a_former_server_can_belong_to_something_else(
    data: Path, running: Running, add_row: AddRow, rows: Rows, postmaster_pid: PostmasterPid
) -> None:
    with running(data) as server:
        add_row(server.owner_url, "committed")
        former = (data / "postgres/postmaster.pid").read_text()
        os.kill(postmaster_pid(data), 9)
    with subprocess.Popen(["sleep", "60"], user=Path(data / "postgres").stat().st_uid) as stranger:
        (data / "postgres/postmaster.pid").write_text(f"{stranger.pid}\n" + former.partition("\n")[2])
        with running(data) as server:
            assert rows(server.owner_url) == ["committed"]
        assert stranger.poll() is None
        stranger.kill()
