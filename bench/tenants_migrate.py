"""Migrating all projects by one column while they are asked, as the next version would: a copy of this one with one more migration.

In: a server, questions, projects. Out: seconds, and what became of the questions asked meanwhile. The run is killed half-way and
started again.
"""

import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import httpx2
import psycopg

import service
from bench.running import Running
from bench.tenants_ways import Asking, Place
from bench.timing import percentiles

_MIGRATION = "-- deploy: before\n-- Made for measuring.\nALTER TABLE event ADD COLUMN measured text;\n"
_DONE = (
    "SELECT count(*) FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace "
    "WHERE a.attname = 'measured' AND c.relname = 'event' AND n.nspname LIKE 'm\\_%'"
)
_RUN = """
import sys
from service.tenants.migrate import migrate
report = migrate(sys.argv[1], superuser_allowed=True)
sys.exit(f"failed: {report.failed}" if report.failed else 0)
"""


class Meanwhile:
    """Asks on, in the first project and in any, and counts what is refused."""

    def __init__(self, asking: Asking, places: Sequence[Place]) -> None:
        self._asking = asking
        self._places = places
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask)
        self.taken: list[float] = []
        self.failures: list[str] = []

    def __enter__(self) -> "Meanwhile":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    def _ask(self) -> None:
        chance = random.Random(3)
        number = 0
        while not self._ended.is_set():
            for place in (self._asking.first, chance.choice(self._places)):
                for path in ("/search", "/graph"):
                    number += 1
                    try:
                        self.taken.append(self._asking.ask(place, path, number))
                    except httpx2.HTTPError as error:
                        self.failures.append(str(error))


def migrate_while_asking(server: Running, asking: Asking, places: Sequence[Place]) -> None:
    """Prints how long it took, with one run that was killed half-way."""
    with tempfile.TemporaryDirectory(prefix="muniment-next-") as folder:
        here = Path(service.__file__).parent
        for name in ("service", "sql"):
            shutil.copytree(here.parent / name, Path(folder) / name)
        (Path(folder) / "sql" / "project" / "migrations" / "9999_measured.sql").write_text(_MIGRATION)
        with Meanwhile(asking, places) as meanwhile:
            first, half = _run(server, folder, kill_at=len(places) // 2)
            second, whole = _run(server, folder)
    print(f"migrating by one column         {first:.1f} s until killed with {half} done, {second:.1f} s for the rest: {whole} done")
    print(f"asked meanwhile                 {percentiles(meanwhile.taken)}; failures: {len(meanwhile.failures)} {meanwhile.failures[:3]}")


def _run(server: Running, folder: str, kill_at: int | None = None) -> tuple[float, int]:
    """Seconds, and how many projects have the column then."""
    began = time.perf_counter()
    with psycopg.connect(server.line["database"], autocommit=True) as owner:
        with subprocess.Popen([sys.executable, "-c", _RUN, server.line["database"]], cwd=folder) as process:
            while process.poll() is None:
                if kill_at is not None and _done(owner) >= kill_at:
                    process.kill()
                time.sleep(0.1)
            assert process.returncode == 0 or kill_at is not None, process.returncode
        return time.perf_counter() - began, _done(owner)


def _done(owner: "psycopg.Connection[tuple[int]]") -> int:
    row = owner.execute(_DONE).fetchone()
    assert row is not None
    return row[0]
