"""Writing: events and pages a second over REST, the CPU time of both processes, and what each stage of reading an event takes.

In: how many, and perhaps another checkout to be measured beside this one, in turn on the same input. Out: figures on the terminal.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import psutil

from bench import hostile as very_long
from bench.corpus import Corpus
from bench.running import Running, running

_TURN = 20
"""Pages that one server takes before the other has its turn."""


class Side:
    """One server, with what it has used."""

    def __init__(self, name: str, server: Running, data: Path) -> None:
        self.name = name
        self.server = server
        self._python = psutil.Process(server.process.pid)
        pid = next(data.rglob("postmaster.pid")).read_text(encoding="utf-8").split()[0]
        self._postgres = psutil.Process(int(pid))
        self.seconds = self.python = self.postgres = 0.0

    def measure(self, work: Callable[[], Any]) -> None:
        """Adds the time and CPU of some work."""
        python, postgres, started = _cpu(self._python), self._postgres_cpu(), time.perf_counter()
        work()
        self.seconds += time.perf_counter() - started
        self.python += _cpu(self._python) - python
        self.postgres += self._postgres_cpu() - postgres

    def take(self, count: int) -> tuple[float, float, float]:
        """A second's number, and microseconds of CPU for one in Python and in Postgres; begins anew."""
        figures = (count / self.seconds, self.python / count * 1e6, self.postgres / count * 1e6)
        self.seconds = self.python = self.postgres = 0.0
        return figures

    def _postgres_cpu(self) -> float:
        return sum(map(_cpu, [self._postgres, *self._postgres.children()]))


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--pages", type=int, default=600)
    parser.add_argument("--beside", metavar="FOLDER", help="another checkout, to be measured in turn with this one")
    parser.add_argument("--hostile", action="store_true", help="very long texts instead")


def run(events: int, pages: int, *, beside: str | None = None, hostile: bool = False) -> None:
    """Prints the figures; `beside` is the folder of another checkout."""
    if hostile:
        very_long.run()
        return
    corpus = Corpus(events, pages)
    bodies = [msgspec.json.encode({"events": batch}) for batch in corpus.event_batches()]
    written = [corpus.page(number) for number in range(pages)]
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder, ExitStack() as stack:
        trees = {"this": None} | ({"other": beside} if beside else {})
        sides: list[Side] = []
        for name, tree in trees.items():
            data = Path(folder) / name
            quiet = {"MUNIMENT_EMBEDDING_PROVIDER": "none", "MUNIMENT_WORKER_POLL_MS": "3600000"}
            started = stack.enter_context(running(data, **quiet, **({"PYTHONPATH": str(Path(tree).resolve())} if tree else {})))
            sides.append(Side(name, started, data))
        for body in bodies:
            for side in sides:
                side.measure(lambda side=side, body=body: _post(side.server, body))
        _print("event", events, sides)
        for body in bodies:
            for side in sides:
                side.measure(lambda side=side, body=body: _post(side.server, body))
        _print("known event", events, sides)
        with ThreadPoolExecutor(4) as pool:
            for first in range(0, pages, _TURN):
                for side in sides:
                    side.measure(lambda side=side, some=written[first : first + _TURN]: list(pool.map(side.server.put_page, some)))
        _print("page", pages, sides)
    _stages(bodies[:8])


def _post(server: Running, body: bytes) -> None:
    answer = server.client.post(f"{server.base}/events:batch", content=body, headers={"Content-Type": "application/json"})
    answer.raise_for_status()


def _cpu(process: psutil.Process) -> float:
    try:
        used = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return used.user + used.system


def _print(what: str, count: int, sides: Sequence[Side]) -> None:
    figures = [side.take(count) for side in sides]
    for side, (rate, python, postgres) in zip(sides, figures, strict=True):
        print(f"{what:12} {side.name:6} {rate:8.0f} a second, CPU of one: {python:6.0f} µs in Python, {postgres:6.0f} µs in Postgres")
    if len(figures) > 1:
        (_, *ours), (_, *others) = figures
        shown = ", ".join(f"{one / other:.2f} in {where}" for one, other, where in zip(ours, others, ("Python", "Postgres"), strict=True))
        print(f"{what:12} this / other: {shown}, {sum(ours) / sum(others):.2f} of both")


def _stages(bodies: Sequence[bytes]) -> None:
    """Each stage of reading an event alone, in this process: microseconds of CPU for one, the best of three."""
    from service.memory import event_rows
    from service.memory.events import _prepare  # pyright: ignore[reportPrivateUsage]
    from service.memory.extract import entities_in
    from service.memory.passages import split_event
    from service.memory.redact import STANDARD
    from service.memory.words import analyse

    raw = [event for body in bodies for event in json.loads(body)["events"]]
    events = [msgspec.convert(each, event_rows.EventInput) for each in raw]
    texts = ["\n".join(filter(None, (event.summary, event.content))) for event in events]
    pieces = [piece.text for event in events for piece in split_event(event.summary, event.content)]
    rows, _ = _prepare(events, {}, None, STANDARD)
    stages: dict[str, Callable[[], Any]] = {
        "JSON in": lambda: [msgspec.json.decode(body) for body in bodies],
        "checks, times, names": lambda: [event_rows.check_event(event, None) for event in events],
        "secrets in texts": lambda: [STANDARD.redact(text) for text in texts],
        "entities": lambda: [entities_in(text) for text in texts],
        "passages": lambda: [split_event(event.summary, event.content) for event in events],
        "words": lambda: [analyse(piece) for piece in pieces],
        "JSON out": rows.encode,
        "all between": lambda: _prepare(events, {}, None, STANDARD),
    }
    taken = {name: _best(work) / len(events) * 1e6 for name, work in stages.items()}
    for name, microseconds in taken.items():
        print(f"    {name:22} {microseconds:7.1f} µs  {microseconds / taken['all between']:5.0%}")


def _best(work: Callable[[], Any]) -> float:
    taken: list[float] = []
    for _ in range(3):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return min(taken)
