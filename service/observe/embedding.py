"""What is counted of embeddings: passages by how far they are, batches and queries with their seconds, failures by reason.

In: what the worker and the query side report, and totals read from the database when the metrics are asked for. Out: figures of
`render_metrics()`. Providers are labels, workspaces and models are not.
"""

import math
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

_SECONDS: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_STATES: Final = ("pending", "embedded", "failed")

_PASSAGES: Final = Gauge("muniment_embedding_passages", "Passages of all projects, as workers last counted.", ["state"])
_DUE: Final = Gauge("muniment_embedding_due_projects", "Projects with work for a worker that is not begun.")
_OVERDUE: Final = Gauge("muniment_embedding_overdue_seconds", "For how long the longest of them has waited.")
_DONE: Final = Counter(
    "muniment_embedded_passages", "Passages that this process embedded; outcome is embedded or failed.", ["provider", "outcome"]
)
_BATCHES: Final = Histogram(
    "muniment_embedding_batch_seconds", "How long a batch of passages took to embed.", ["provider"], buckets=_SECONDS
)
_QUERIES: Final = Histogram("muniment_embedding_query_seconds", "How long the vector of a query took.", ["provider"], buckets=_SECONDS)
_ERRORS: Final = Counter("muniment_embedding_errors", "Calls that gave no vector.", ["provider", "purpose", "reason"])


def count_batch(provider: str, seconds: float, embedded: int, failed: int) -> None:
    """A batch of passages was embedded, but for some of them."""
    _BATCHES.labels(provider).observe(seconds)
    _DONE.labels(provider, "embedded").inc(embedded)
    _DONE.labels(provider, "failed").inc(failed)


def count_query(provider: str, seconds: float) -> None:
    """A provider made the vector of a query; those that were remembered are not counted."""
    _QUERIES.labels(provider).observe(seconds)


def count_embedding_error(provider: str, purpose: str, reason: str) -> None:
    """A call for a `query` or `documents` gave nothing."""
    _ERRORS.labels(provider, purpose, reason).inc()


def show_totals(passages: int, embedded: int, failed: int, due_projects: int, overdue_s: float) -> None:
    """What the database holds."""
    for state, number in zip(_STATES, (max(0, passages - embedded - failed), embedded, failed), strict=True):
        _PASSAGES.labels(state).set(number)
    _DUE.set(due_projects)
    _OVERDUE.set(overdue_s)


def hide_totals() -> None:
    """The database does not answer: no figure is better than an old one."""
    _PASSAGES.clear()
    for gauge in (_DUE, _OVERDUE):
        gauge.set(math.nan)
