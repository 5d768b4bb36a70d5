"""What many projects cost the database: catalogue and files, memory of the backends, the worker's look for work.

In: a server. Out: figures, read under the owner's login.
"""

import os
import threading
import time
from types import TracebackType

import msgspec
import psycopg

from bench.inside import held_mb
from bench.running import Running
from bench.timing import percentiles
from service.db.queries import load

_SIZES = """
SELECT (
        SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class AS c WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind = 'r'
    )::bigint, pg_database_size(current_database()), (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_attribute)
"""
_BACKENDS = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE datname = current_database() AND usename LIKE 'mun\\_%%\\_api'"


class Sizes(msgspec.Struct, frozen=True):
    """Bytes of the system catalogue and of the whole database, and rows of pg_class and pg_attribute."""

    catalogue: int
    database: int
    relations: int
    columns: int


def sizes(server: Running) -> Sizes:
    """What the database takes now."""
    with psycopg.connect(server.line["database"], autocommit=True) as owner:
        row = owner.execute(_SIZES).fetchone()
        assert row is not None
        return Sizes(*row)


def print_sizes(before: Sizes, after: Sizes, projects: int) -> None:
    """What each project added."""
    catalogue, database = after.catalogue - before.catalogue, after.database - before.database
    relations, columns = (after.relations - before.relations) / projects, (after.columns - before.columns) / projects
    print(f"the catalogue is {after.catalogue / 1e6:.0f} MB, the database {after.database / 1e6:.0f} MB")
    print(f"a project adds {catalogue / projects / 1e3:.0f} kB of catalogue and {database / projects / 1e3:.0f} kB in all,", end=" ")
    print(f"{relations:.0f} rows of pg_class and {columns:.0f} of pg_attribute", flush=True)


_REST_S = 3.0
_MOST_S = 300.0


def write_out(server: Running) -> float:
    """Has the database write to its files what it has in memory, so that it does not do so beside what is measured next; gives the seconds.

    Each new table and index is a file, which Postgres synchronises by itself: the system does it much faster for all at once.
    """
    began = time.perf_counter()
    os.sync()
    with psycopg.connect(server.line["database"], autocommit=True) as owner:
        owner.execute("CHECKPOINT")
    return time.perf_counter() - began


def await_vacuum(server: Running) -> float:
    """Waits until autovacuum has been at rest for a while, so that it does not work beside what is measured next; gives the seconds."""
    began = rested = time.perf_counter()
    with psycopg.connect(server.line["database"], autocommit=True) as owner:
        while (now := time.perf_counter()) - rested < _REST_S and now - began < _MOST_S:
            if owner.execute("SELECT FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'").fetchall():
                rested = now
            time.sleep(0.1)
    return time.perf_counter() - began


class Watched:
    """Within it, the memory of the API's backends is looked at again and again: what is theirs alone, shared buffers left out."""

    def __init__(self, server: Running) -> None:
        self._server = server
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.most = 0.0
        self.most_together = 0.0
        self.seen: set[tuple[int, str]] = set()

    def __enter__(self) -> "Watched":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    def report(self) -> None:
        """Prints the most that was seen."""
        print(f"backends hold {self.most:.0f} MB at most, together {self.most_together:.0f} MB; there were {len(self.seen)}", flush=True)

    def _watch(self) -> None:
        with psycopg.connect(self._server.line["database"], autocommit=True) as owner:
            while not self._ended.wait(0.2):
                rows = owner.execute(_BACKENDS).fetchall()
                self.seen.update(rows)
                held = [held_mb(pid) for pid, _ in rows]
                self.most = max([self.most, *held])
                self.most_together = max(self.most_together, sum(held))


def print_due(server: Running) -> None:
    """How long the worker's one query for due work takes, with all projects due and with few."""
    query = load("control", "worker")["due_projects"].sql
    with psycopg.connect(server.line["database"], autocommit=True, cursor_factory=psycopg.RawCursor) as owner:
        row = owner.execute("SELECT space_id FROM control.instance").fetchone()
        assert row is not None
        for limit, what in ((None, "all"), (10, "ten")):
            with owner.transaction(force_rollback=True):
                owner.execute(
                    "UPDATE control.due SET next_at = now() + interval '1 day' WHERE project_id NOT IN "
                    "(SELECT project_id FROM control.due ORDER BY project_id LIMIT $1)",
                    (limit,),
                )
                due = owner.execute("SELECT count(*) FROM control.due WHERE next_at <= now()").fetchone()
                assert due is not None
                taken: list[float] = []
                for _ in range(20):
                    began = time.perf_counter()
                    owner.execute(query.encode(), (20, row[0], 86_400.0, None, None)).fetchall()
                    taken.append(time.perf_counter() - began)
            print(f"look for due work, {what} due ({due[0]})  {percentiles(taken)}", flush=True)
