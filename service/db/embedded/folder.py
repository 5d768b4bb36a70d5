"""The data folder: who holds it, and where its socket lies.

In: a path. Out: locks that end with the process that holds them, and the folder of the socket.

    muniment.lock    held by the one Muniment process, with its pid and start time
    server.lock      held by every server process, so that one left over is noticed whatever became of its parent
    postgres/        the cluster                     postgres.new/   a cluster being made
    run/             the socket, or a link to the short folder that holds it
    postgres.log     what the server says            binaries-*/     a copy of the programs, only where one is needed
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from service.db.embedded.account import Account
from service.db.embedded.errors import DataFolderInUse, EmbeddedPostgresError
from service.db.embedded.payload import Payload

_LOCK = "muniment.lock"
# A socket's address takes 108 bytes on Linux and 104 on macOS; the folder is what remains beside the longest name Postgres puts there.
_LONGEST_SOCKET_PATH = 100
_SOCKET = ".s.PGSQL.5432"


def open_folder(data: Path) -> None:
    """Makes the data folder when it is missing; refuses a file, and a folder with something else in it."""
    if data.exists() and not data.is_dir():
        raise EmbeddedPostgresError(f"The data folder {data} is a file.", hint="Name a folder, new or empty.")
    if not data.exists():
        data.mkdir(parents=True)
        # The server's account has to pass through root's folder; what lies in it is closed to others by itself.
        data.chmod(0o711 if os.geteuid() == 0 else 0o700)
    names = {path.name for path in data.iterdir()} - {"lost+found"}
    if names and _LOCK not in names:
        raise EmbeddedPostgresError(
            f"The folder {data} is not empty and was not made by Muniment.", hint="Name a new or empty folder as the data folder."
        )


@contextmanager
def hold(data: Path) -> Generator[None]:
    """Holds the data folder for this process; an error says who holds it already and since when."""
    lock = os.open(data / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if not try_lock(lock):
            pid, _, since = os.pread(lock, 200, 0).decode().strip().partition("\n")
            raise DataFolderInUse(f"The data folder {data} is in use by process {pid or '?'} since {since or '?'}.")
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n{datetime.now(UTC).isoformat(timespec='seconds')}\n".encode(), 0)
        yield
        os.ftruncate(lock, 0)
    finally:
        os.close(lock)


@contextmanager
def server_lock(data: Path) -> Generator[int]:
    """Opens the lock that the server processes inherit and then hold without us; it is not yet taken."""
    lock = os.open(data / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield lock
    finally:
        os.close(lock)


def try_lock(lock: int) -> bool:
    """Takes the lock unless another open file holds it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def check_version(cluster: Path, payload: Payload) -> None:
    """Refuses a cluster of another major version: its files cannot be read, and are never changed in place."""
    found = (cluster / "PG_VERSION").read_text().strip()
    if found != payload.major:
        raise EmbeddedPostgresError(
            f"The cluster in {cluster} was made by Postgres {found}, and the installed embedded Postgres is {payload.version}.",
            hint=f"Dump it with a Muniment that brings Postgres {found} and restore the dump into a new data folder.",
        )


@contextmanager
def socket_folder(data: Path, account: Account) -> Generator[Path]:
    """A private folder for the socket: `run` in the data folder, or one elsewhere when that path is too long or holds a comma."""
    run = data / "run"
    _remove(run)
    # A comma divides hosts in a Postgres address, and cannot be escaped there.
    if len(os.fsencode(run / _SOCKET)) > _LONGEST_SOCKET_PATH or "," in str(run):
        folder = Path(tempfile.mkdtemp(prefix="muniment-", dir=_short_parent()))
        run.symlink_to(folder)
    else:
        folder = run
        folder.mkdir(mode=0o700)
    try:
        account.own(folder)
        yield folder
    finally:
        _remove(run)


def _short_parent() -> str:
    """The session's own folder, or /tmp: TMPDIR can be as long as what is to be avoided."""
    session = os.environ.get("XDG_RUNTIME_DIR", "")
    usable = os.geteuid() != 0 and 0 < len(os.fsencode(session)) < _LONGEST_SOCKET_PATH // 2 and os.access(session, os.W_OK | os.X_OK)
    return session if usable else "/tmp"  # noqa: S108 – mkdtemp makes a folder of ours, closed to others


def _remove(run: Path) -> None:
    """Removes the socket's folder, also one that a killed process left behind."""
    if run.is_symlink():
        shutil.rmtree(run.readlink(), ignore_errors=True)
        run.unlink()
    elif run.exists():
        shutil.rmtree(run)
