"""Many projects on one Postgres, beside one: search and graph queries, creating, memory, catalogue, the worker's look, migrating, start-up.

In: how many projects, in how many workspaces. Out: figures on the terminal. Everything is made and asked over REST, as users do.
"""

import random
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from bench.corpus import Corpus
from bench.running import Running, fill, running
from bench.tenants_database import Watched, await_vacuum, print_due, print_sizes, sizes, write_out
from bench.tenants_migrate import migrate_while_asking
from bench.tenants_ways import Asking, Place, Tenants
from bench.timing import Times, percentiles
from bench.vectors import store_vectors

EVENTS = 2_000
PAGES = 100
EDGE = 50  # creations at each end that nothing runs beside
HANDS = 4


def run(projects: int = 5_000, workspaces: int = 500, *, questions: int = 60) -> None:
    """Prints the figures."""
    corpus = Corpus(EVENTS, PAGES)
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder:
        data = Path(folder) / "data"
        with _started(data) as (server, _):
            fill(server, corpus)
            store_vectors(server)
        with _started(data) as (server, alone):
            tenants = Tenants(server, corpus, projects, workspaces)
            tenants.become_operator(data)
            _measure(server, Asking(server, corpus, questions), tenants)
            write_out(server)
        with _started(data) as (server, again):
            print(f"start-up                        {again:.1f} s; with one project {alone:.1f} s", flush=True)
            write_out(server)


@contextmanager
def _started(data: Path) -> Generator[tuple[Running, float]]:
    """A server whose worker sleeps, since vectors are not what is measured, and the seconds it took to start."""
    began = time.perf_counter()
    with running(data, MUNIMENT_WORKER_POLL_MS="3600000") as server:
        yield server, time.perf_counter() - began


def _measure(server: Running, asking: Asking, tenants: Tenants) -> None:
    places = [tenants.open(0)]
    tenants.make(places[0])
    tenants.write(places[0])
    large, small = asking.warm(asking.first), asking.warm(places[0])
    before = sizes(server)
    touched, untouched = _create(server, asking, tenants, places)
    print_sizes(before, sizes(server), len(places))
    _compare("the first project", large, asking.warm(asking.first))
    _compare("a small project", small, asking.warm(places[0]))
    others = random.Random(5).sample(places, min(len(places), 300))
    _compare("the first, others in between", large, asking.warm(asking.first, others))
    _compare("asked for the first time", touched, asking.each(untouched[:300]))
    with Watched(server) as watched, ThreadPoolExecutor(HANDS * 3) as pool:
        began = time.perf_counter()
        list(pool.map(asking.both, random.Random(9).sample(places, len(places))))
        print(f"all projects asked in {time.perf_counter() - began:.0f} s")
    watched.report()
    print_due(server)
    write_out(server)
    migrate_while_asking(server, asking, places)


def _create(server: Running, asking: Asking, tenants: Tenants, places: list[Place]) -> tuple[Mapping[str, Times], list[Place]]:
    """All projects, with a few events in every second: adds them to `places`.

    Out: how long the first ones took to answer for the first time, and some with events that were not asked yet.
    """
    edge = min(EDGE, tenants.projects // 3)
    began = time.perf_counter()
    opened = [tenants.open(number) for number in range(1, tenants.projects)]
    workspaces = time.perf_counter() - began
    first, between, last = opened[:edge], opened[edge:-edge], opened[-edge:]
    write_out(server)
    await_vacuum(server)
    times_first = _timed(tenants.make, first)
    for place in first:
        tenants.write(place)
    touched = asking.each(first)
    began = time.perf_counter()
    with ThreadPoolExecutor(HANDS) as pool:
        list(pool.map(tenants.make, between))
    making = time.perf_counter() - began
    writing_out = write_out(server)
    vacuuming = await_vacuum(server)
    written = between[::2] + last
    times_last = _timed(tenants.make, last)
    began = time.perf_counter()
    with ThreadPoolExecutor(HANDS) as pool:
        list(pool.map(tenants.write, written))
    writing = time.perf_counter() - began
    print(f"{tenants.workspaces} workspaces made in {workspaces:.0f} s")
    print(f"{len(between)} projects made in {making:.0f} s; files synchronised in {writing_out:.0f} s more, vacuumed in {vacuuming:.0f} s")
    print(f"a few events written to {len(written)} of them in {writing:.0f} s")
    print(f"creation, the first {edge:<12}{times_first}")
    print(f"          the last {edge:<13}{times_last}; ratio {times_last.p50 / times_first.p50:.2f}", flush=True)
    places += opened
    return touched, written


def _timed(call: Callable[[Place], object], places: Sequence[Place]) -> Times:
    taken: list[float] = []
    for place in places:
        began = time.perf_counter()
        call(place)
        taken.append(time.perf_counter() - began)
    return percentiles(taken)


def _compare(what: str, alone: Mapping[str, Times], now: Mapping[str, Times]) -> None:
    for path, times in now.items():
        before = alone[path]
        print(f"{what + ', ' + path.strip('/'):38}{times}; before p50 {before.p50:.2f}, ratio {times.p50 / before.p50:.2f}", flush=True)
