"""What the embedded Postgres refuses, and in which words."""

import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from service.db.embedded import DataFolderInUse, EmbeddedPostgresError, EmbeddedServer, start_embedded
from service.db.embedded.account import Account
from service.db.embedded.payload import find_payload
from service.db.embedded.postmaster import ServerLog
from tests.integration.disk import disk

AddRow = Callable[[str, str], None]
Rows = Callable[[str], list[str]]
Running = Callable[[Path], AbstractContextManager[EmbeddedServer]]
Copy = Callable[[Path], Path]
Own = Callable[..., Any]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def refusal(data: Path) -> EmbeddedPostgresError:
    with pytest.raises(EmbeddedPostgresError) as caught:
        start_embedded(data).stop()
    return caught.value


def test_a_second_start_says_who_holds_the_folder(data: Path, running: Running, own: Own, add_row: AddRow, rows: Rows) -> None:
    with running(data) as server:
        other = own(data)
        other.close()
        assert other.answer["code"] == "data_folder_in_use"
        since = (data / "muniment.lock").read_text().split("\n")[1]
        assert f"in use by process {os.getpid()} since {since}" in other.answer["error"]
        with pytest.raises(DataFolderInUse):
            start_embedded(data)
        add_row(server.owner_url, "undisturbed")
        assert rows(server.owner_url) == ["undisturbed"]


@as_root
def test_closed_parents_are_named_where_that_right_is_missing(place: Path, own: Own) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    owner = own(closed / "data", wrapper=("setpriv", "--bounding-set=-dac_read_search"))
    owner.close()
    assert f"cannot enter {closed}." in owner.answer["error"]
    assert f"chmod o+x {closed}" in owner.answer["hint"]


def test_a_full_disk_is_named(place: Path) -> None:
    with disk(place / "disk", "8m"):
        error = refusal(place / "disk")
        assert "the disk is full" in error.message
        assert {path.name for path in (place / "disk").iterdir()} == {"muniment.lock"}


def test_a_disk_that_filled_up_loses_nothing(place: Path, copy: Copy, running: Running, add_row: AddRow, rows: Rows) -> None:
    with disk(place / "disk", "100m"):
        data = copy(place / "disk/data")
        with running(data) as server:
            add_row(server.owner_url, "committed")
        filler = place / "disk/filler"
        subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=4k"], capture_output=True)
        assert shutil.disk_usage(data).free == 0
        assert "the disk is full" in refusal(data).message
        filler.unlink()
        with running(data) as server:
            assert rows(server.owner_url) == ["committed"]


def test_a_read_only_disk_is_named(place: Path, copy: Copy) -> None:
    with disk(place / "disk", "100m"):
        data = copy(place / "disk/data")
        subprocess.run(["mount", "-o", "remount,ro", place / "disk"], check=True)
        error = refusal(data)
        assert "the disk is read-only" in error.message
        assert error.hint == "Mount it writable, or choose another data folder."


@as_root
def test_a_folder_closed_to_the_user_is_named(place: Path, own: Own, user: Account) -> None:
    owner = own(place / "data", user)
    owner.close()
    assert f"Cannot use the data folder {place / 'data'}: access is denied." in owner.answer["error"]
    assert not (place / "data").exists()


def test_another_major_version_is_refused(data: Path, running: Running) -> None:
    with running(data):
        pass
    (data / "postgres/PG_VERSION").write_text("16\n")
    error = refusal(data)
    assert "made by Postgres 16" in error.message
    assert f"is {find_payload().version}." in error.message
    assert "Dump it" in (error.hint or "")
    assert (data / "postgres/PG_VERSION").read_text() == "16\n"


def test_a_cluster_half_made_is_made_again(place: Path, running: Running, add_row: AddRow, rows: Rows) -> None:
    (place / "muniment.lock").touch()
    (place / "postgres.new").mkdir()
    (place / "postgres.new/PG_VERSION").write_text("18\n")
    with running(place) as server:
        add_row(server.owner_url, "whole")
        assert rows(server.owner_url) == ["whole"]
    assert not (place / "postgres.new").exists()


def test_what_is_not_ours_is_left_alone(place: Path) -> None:
    (place / "letter.txt").write_text("private")
    assert "was not made by Muniment" in refusal(place).message
    assert "is a file" in refusal(place / "letter.txt").message
    assert "Not a directory" in refusal(place / "letter.txt" / "data").message
    assert [path.name for path in place.iterdir()] == ["letter.txt"]


def test_a_missing_payload_names_the_extra(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.db.embedded.payload.find_spec", lambda name: None)
    error = refusal(place)
    assert "muniment[embedded]" in (error.hint or "")
    assert "DATABASE_URL" in (error.hint or "")


def test_the_log_is_bounded(place: Path) -> None:
    log = ServerLog(place / "postgres.log")
    for number in range(500):
        log.write(f"{number:>9999}\n".encode())
    assert sorted(path.name for path in place.iterdir()) == ["postgres.log", "postgres.log.1"]
    assert all(path.stat().st_size <= 1_000_000 for path in place.iterdir())
    assert log.tail().endswith("499")
