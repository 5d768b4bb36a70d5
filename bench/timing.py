"""Times as percentiles."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec


class Times(msgspec.Struct, frozen=True):
    """Milliseconds."""

    p50: float
    p95: float
    p99: float
    count: int

    def __str__(self) -> str:
        return f"p50 {self.p50:7.2f}  p95 {self.p95:7.2f}  p99 {self.p99:7.2f} ms  (n={self.count})"


def percentiles(seconds: Sequence[float]) -> Times:
    ordered = sorted(seconds)
    at = [ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 for share in (0.5, 0.95, 0.99)]
    return Times(*at, len(ordered))


def measure(calls: Sequence[Callable[[], Any]], rounds: int = 1) -> Times:
    """Every call once to warm up, then `rounds` times each, in turn."""
    for call in calls:
        call()
    taken: list[float] = []
    for _ in range(rounds):
        for call in calls:
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
    return percentiles(taken)
