"""The server process: started, waited for, stopped, and the one of a killed Muniment ended.

In: a way to launch it, the lock its processes inherit, the log. Out: a `Postmaster`.
"""

import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from service.db.embedded.account import environment
from service.db.embedded.errors import EmbeddedPostgresError
from service.db.embedded.folder import try_lock

_LOG_BYTES = 1_000_000
# Whoever stops Muniment is told that it ends within ten seconds or so; what is committed is in the log, however the server ends.
_STOP_SECONDS = 8.0
_ABORT_SECONDS = 3.0
_ENDS = ((signal.SIGINT, _STOP_SECONDS), (signal.SIGQUIT, _ABORT_SECONDS), (signal.SIGKILL, _ABORT_SECONDS))
_PAUSE_SECONDS = 0.05
_LAST_LINES = 12
_READ_SECONDS = 1.0
_REMEMBERED = 8
_RECENT_SECONDS = 300.0
_LONGEST_PAUSE = 30.0


class ServerLog:
    """`postgres.log`, and the one before it: two files of up to a megabyte each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: deque[str] = deque(maxlen=_LAST_LINES)

    def write(self, line: bytes) -> None:
        self._last.append(line.decode(errors="replace").rstrip())
        # A full disk must not stop the reading: the server would wait for its log.
        with suppress(OSError):
            if self._path.exists() and self._path.stat().st_size + len(line) > _LOG_BYTES:
                self._path.replace(self._path.with_suffix(".log.1"))
            with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "ab") as file:
                file.write(line)

    def tail(self) -> str:
        return "\n".join(self._last)


def spawn(command: Sequence[str], lock: int) -> subprocess.Popen[bytes]:
    """Starts the server; its processes inherit the open lock."""
    return subprocess.Popen(
        command,
        cwd="/",
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[lock],
        # Ctrl-C in a terminal is for Muniment, which stops the server when its own work is done.
        start_new_session=True,
    )


class Postmaster:
    """A running server: `process` is its first process, the others are its children. One that is killed is started again."""

    def __init__(self, launch: Callable[[], subprocess.Popen[bytes]], log: ServerLog) -> None:
        self._launch = launch
        self._log = log
        self._kept = False
        self._guard = threading.Lock()
        self._stopping = threading.Event()
        self._restarts: deque[float] = deque(maxlen=_REMEMBERED)
        started: Future[subprocess.Popen[bytes]] = Future()
        # A thread that lasts as long as the server: Linux ends a child with the thread that started it, not with the process.
        self._thread = threading.Thread(target=self._run, args=(started,), name="postgres", daemon=True)
        self._thread.start()
        self.process = started.result()

    def _run(self, started: "Future[subprocess.Popen[bytes]]") -> None:
        try:
            process = self._launch()
        except BaseException as error:  # noqa: BLE001 – handed to the thread that waits for it
            started.set_exception(error)
            return
        started.set_result(process)
        while process is not None:
            reader = threading.Thread(target=self._read, args=(process,), name="postgres log", daemon=True)
            reader.start()
            process.wait()
            # A child that is still busy keeps the pipe open after the server is gone.
            reader.join(_READ_SECONDS)
            process = self._again(process)

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        with process:
            for line in process.stdout or ():
                self._log.write(line)

    def _again(self, ended: subprocess.Popen[bytes]) -> subprocess.Popen[bytes] | None:
        """The next server process; one that keeps ending, as on a full disk, is started again after pauses that grow."""
        if ended.returncode == 0:  # a shutdown that somebody asked for
            return None
        while self._kept:
            self._stopping.wait(self._pause())
            with self._guard:
                if not self._kept:
                    return None
                self._restarts.append(time.monotonic())
                self._log.write(b"Muniment: the server ended and is started again\n")
                try:
                    self.process = self._launch()
                except (OSError, EmbeddedPostgresError) as error:
                    self._log.write(f"Muniment: the server cannot be started again yet: {error}\n".encode())
                else:
                    return self.process
        return None

    def _pause(self) -> float:
        """Seconds before the next start: none after the first two ends, then more with each."""
        recent = sum(time.monotonic() - moment < _RECENT_SECONDS for moment in self._restarts)
        return 0.0 if recent < 2 else min(float(2**recent) / 4, _LONGEST_PAUSE)

    def keep(self) -> None:
        """From now on, and until it is stopped, a server that is killed is started again."""
        self._kept = True

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def last_words(self) -> str:
        """What a server that has ended wrote last."""
        self._thread.join(_ABORT_SECONDS)
        return self._log.tail()

    def stop(self) -> None:
        """Ends the server by a fast shutdown, in which sessions are cut off, and less gently where it does not react.

        All that is committed is on disk in either case.
        """
        self._stopping.set()
        with self._guard:
            self._kept = False
        for number, seconds in _ENDS:
            self.process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
                self._thread.join(_ABORT_SECONDS)
                return
        raise EmbeddedPostgresError(f"The embedded Postgres (process {self.process.pid}) does not stop.")


def end_left_over(cluster: Path, marker: str, lock: int) -> None:
    """Takes the server lock; while server processes of a killed Muniment hold it, ends them first: gently, then less so."""
    if try_lock(lock):
        return
    for number, seconds in _ENDS:
        signalled: set[int] = set()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for pid in _heads(cluster, marker) - signalled:
                signalled.add(pid)
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            if try_lock(lock):
                return
            time.sleep(_PAUSE_SECONDS)
    raise EmbeddedPostgresError(
        f"A server process left over from before still runs on {cluster} and does not end.",
        hint=f"End the processes whose title names {marker}, then start again.",
    )


def drop_stale_pid(cluster: Path) -> None:
    """Removes the pid file of a server that is gone when its pid now belongs to something else, as happens in containers.

    Postgres would take that process for its predecessor. The server lock must be held: no process of ours is left.
    """
    pid = _recorded_pid(cluster)
    with suppress(FileNotFoundError):
        if pid is not None and Path(f"/proc/{pid}/comm").read_text().strip() != "postgres":
            (cluster / "postmaster.pid").unlink()


def says_ready(cluster: Path, pid: int) -> bool:
    """Whether the server wrote into its pid file that it takes connections."""
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"


def _server_processes(marker: str) -> list[int]:
    """The processes whose title names the marker; empty where there is no /proc."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (folder / "comm").read_text().strip() == "postgres" and marker.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def _heads(cluster: Path, marker: str) -> set[int]:
    """The processes to signal: the postmaster, which ends its children, or the children when it is gone."""
    processes = set(_server_processes(marker))
    return processes & {_recorded_pid(cluster)} or processes


def _recorded_pid(cluster: Path) -> int | None:
    try:
        first = (cluster / "postmaster.pid").read_text().partition("\n")[0]
    except FileNotFoundError:
        return None
    return int(first) if first.isdecimal() else None
