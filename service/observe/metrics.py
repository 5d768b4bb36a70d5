"""What the server counts: calls and how long they took, and refusals. No label names a workspace, a project or a key.

In: what surfaces and operations report. Out: `render_metrics()`, the Prometheus text.
"""

from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Histogram, generate_latest

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

_CALLS: Final = Counter("muniment_calls", "Operations that ended; status is ok, cancelled or a code.", ["operation", "surface", "status"])
_SECONDS: Final = Histogram(
    "muniment_call_seconds",
    "How long an operation took.",
    ["operation", "surface"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
_REFUSALS: Final = Counter("muniment_refusals", "Errors answered, by surface and code.", ["surface", "code"])


def count_call(operation: str, surface: str, status: str, seconds: float) -> None:
    """An operation ended."""
    _CALLS.labels(operation, surface, status).inc()
    _SECONDS.labels(operation, surface).observe(seconds)


def count_refusal(surface: str, code: str) -> None:
    """An error was answered, from an operation or before one began."""
    _REFUSALS.labels(surface, code).inc()


def render_metrics() -> bytes:
    """Everything counted so far."""
    return generate_latest()
