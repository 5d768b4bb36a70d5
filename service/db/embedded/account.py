"""The account that the server runs as.

In: the data folder, the payload and our own account. Out: an `Account`, and the payload that this account can run.

Postgres refuses to run as root, so root hands it to an id without a name, a group or any other file. A normal user runs it as itself.
"""

import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from service.db.embedded.errors import EmbeddedPostgresError
from service.db.embedded.payload import Payload, copy_payload

# Below 61184 (systemd's dynamic users begin there) and 65536 (rootless containers map no more), above what tools hand to people.
SERVER_ID = 60732
_LAUNCH = Path(__file__).with_name("launch.py")
_READ, _SEARCH = 4, 1
_CAP_DAC_READ_SEARCH = 2


class Account(msgspec.Struct, frozen=True):
    """`uid` is None when the server runs as we do; `reads_all` gives it the right to read and search every folder."""

    uid: int | None = None
    gid: int | None = None
    reads_all: bool = False

    def own(self, path: Path) -> None:
        """Gives one file or folder to the account."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def own_tree(self, folder: Path) -> None:
        """Gives a folder and all in it to the account."""
        if self.uid is not None:
            for path in (folder, *folder.rglob("*")):
                self.own(path)

    def command(self, program: Sequence[str | Path]) -> list[str]:
        """The command line that runs the program under this account and ends it when we end."""
        uid, gid = (-1 if value is None else value for value in (self.uid, self.gid))
        launch = (sys.executable, "-I", "-S", _LAUNCH, os.getpid(), uid, gid, int(self.reads_all))
        return [str(part) for part in (*launch, *program)]


def environment() -> dict[str, str]:
    """The variables for programs of Postgres: none of our `PG…` ones, which would change what they do."""
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


def run_program(account: Account, program: Sequence[str | Path]) -> tuple[int, str]:
    """Runs a program of Postgres to its end: exit code and all its output."""
    done = subprocess.run(
        account.command(program), cwd="/", env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout.decode(errors="replace")


def choose_account(data: Path, cluster: Path, payload: Payload) -> tuple[Account, Payload]:
    """The account for the cluster folder, and a payload that it can read: the given one, or a copy in the data folder."""
    owner = cluster.stat() if cluster.exists() else None
    if os.geteuid() != 0:
        if owner is not None and owner.st_uid != os.geteuid():
            raise EmbeddedPostgresError(
                f"{cluster} belongs to user id {owner.st_uid}, Muniment runs as {os.geteuid()}.",
                hint="Start it as root or as that user, or give the whole data folder to this user with `chown -R`.",
            )
        return Account(), payload
    uid, gid = (owner.st_uid, owner.st_gid) if owner is not None else (SERVER_ID, SERVER_ID)
    if uid == 0:
        raise EmbeddedPostgresError(
            f"{cluster} belongs to root, and Postgres does not run as root.", hint=f"Run `chown -R {SERVER_ID}:{SERVER_ID} {cluster}`."
        )
    return _account_of_root(data, cluster, payload, uid, gid)


def _account_of_root(data: Path, cluster: Path, payload: Payload, uid: int, gid: int) -> tuple[Account, Payload]:
    may_read_all = holds_read_search()
    closed = _first_closed(cluster, uid, gid)
    if closed is not None and not may_read_all:
        raise EmbeddedPostgresError(
            f"The server runs as user id {uid}, which cannot enter {closed}.",
            hint=f"Run `chmod o+x {closed}`, choose another data folder, or start Muniment as a normal user.",
        )
    runnable = _allows(payload.program("postgres"), uid, gid, _READ | _SEARCH) and _allows(payload.sample, uid, gid, _READ)
    if not runnable or (_first_closed(payload.sample, uid, gid) is not None and not may_read_all):
        payload = copy_payload(payload, data)
    reads_all = closed is not None or _first_closed(payload.sample, uid, gid) is not None
    return Account(uid, gid, reads_all), payload


def named_account(account: Account) -> Account:
    """An unprivileged account that has a name, for initdb, which looks its own up: this one, or as root another."""
    named = {entry.pw_uid: entry for entry in pwd.getpwall() if entry.pw_uid != 0}
    uid = os.geteuid() if account.uid is None else account.uid
    if uid in named:
        return account
    if account.uid is None or not named:
        raise EmbeddedPostgresError(
            f"User id {uid} has no name, and a new Postgres cluster can only be made by a user with one.",
            hint="Add a line for it to /etc/passwd, or for the first start run Muniment as another user.",
        )
    maker = next((entry for entry in named.values() if entry.pw_name == "nobody"), next(iter(named.values())))
    return Account(maker.pw_uid, maker.pw_gid, account.reads_all)


def holds_read_search() -> bool:
    """Whether we may hand on the right to read and search every folder: root has it, unless its container took it away."""
    try:
        status = Path("/proc/self/status").read_text()
    except FileNotFoundError:
        return False
    held = next(line.split()[1] for line in status.splitlines() if line.startswith("CapPrm:"))
    return bool(int(held, 16) >> _CAP_DAC_READ_SEARCH & 1)


def _allows(path: Path, uid: int, gid: int, bits: int) -> bool:
    facts = path.stat()
    shift = 6 if facts.st_uid == uid else 3 if facts.st_gid == gid else 0
    return facts.st_mode >> shift & bits == bits


def _first_closed(path: Path, uid: int, gid: int) -> Path | None:
    """The outermost folder above the path that the account cannot enter."""
    return next((folder for folder in reversed(path.parents) if not _allows(folder, uid, gid, _SEARCH)), None)
