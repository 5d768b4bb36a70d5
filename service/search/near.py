"""The `vector` stream: by which way the nearest passages are found, and what that way may miss.

In: a stage, the query's vector, how many passages the project has. Out: `Near`. Up to a number of passages that the filters leave, each of
them is measured, since an index that is searched through a filter finds less than it seems to; beyond, the index is searched.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from service.db.budget import Budget
from service.db.transaction import Opening, Tx
from service.search.answer import Truncated
from service.search.candidates import Candidates, read_packed
from service.search.compile import compile_stage, compile_vectors
from service.search.parse import SearchSettings
from service.search.stages import Stage
from service.search.streams.vector import vector_values

_WIDER: Final = 8  # times as many passages, where those of few owners are the nearest


class Near(msgspec.Struct, frozen=True):
    """The candidates, how many of the project's passages have no vector yet, and what was cut."""

    candidates: list[Candidates]
    pending: int
    cut: Truncated | None = None


class Scan(msgspec.Struct, frozen=True):
    """How the transaction searches vectors: through indexes, and whether these go on until enough rows pass a filter."""

    indexed: bool
    iterative: bool


def opening(settings: SearchSettings, budget: Budget | None, *, iterative: bool) -> Opening:
    """What transactions of a search begin with: statements keep their plans, since planning them anew costs more than running them."""
    wide: dict[str, str | int] = {"hnsw.iterative_scan": "relaxed_order", "hnsw.max_scan_tuples": settings.scanned} if iterative else {}
    left = budget.remaining_ms() if budget else 0
    stage_ms = min(budget.statement_ms, left) if budget and left else None
    return Opening({"plan_cache_mode": "force_generic_plan", "hnsw.ef_search": settings.ef_search, **wide}, stage_ms)


def scan_of(tx: Tx, *, iterative: bool) -> Scan:
    """How a transaction searches vectors, so begun."""
    return Scan(tx.space is not None and bool(tx.space.indexed), iterative)


async def find_vectors(stage: Stage, scan: Scan, vector: str, documents: int, held: Sequence[int]) -> Near:
    """The `vector` stream; a list that is shorter than asked for is sought again among more passages, and said when it stays short."""
    pending = max(0, documents - await _count(stage, documents))
    filters, settings, limit = stage.plan.filters, stage.settings, stage.plan.limit
    most = settings.exact_vectors
    large = scan.indexed and documents > most and (scan.iterative or not filters)

    async def ask(way: str, times: int | None, up_to: int | None = None) -> list[Any]:
        values = {**vector_values(vector, settings, times), "held": held, "most": up_to}
        return await stage.ask(compile_vectors(way, filters), values)

    left: dict[bool, int] | None = None
    if filters or not large:
        way = "near_left" if filters else "near_all"
        rows = await ask(way, 1, most + 1 if large else None)
        left = {row["is_page"]: row["measured"] for row in rows} if filters else None
        if not large or (left is not None and sum(left.values()) <= most):
            crowded = any(row["number"] < limit and row["seen"] >= 2 * settings.stream_size for row in rows)
            return Near(read_packed(stage.place, await ask(way, None) if crowded else rows), pending)
    rows = await ask("near_indexed", 1)
    if tell_short(rows, left, limit, settings.stream_size, settings):
        rows = await ask("near_indexed", _WIDER)
        return Near(read_packed(stage.place, rows), pending, tell_short(rows, left, limit, _WIDER * settings.stream_size, settings))
    return Near(read_packed(stage.place, rows), pending)


def tell_short(
    rows: Sequence[Mapping[str, Any]], left: Mapping[bool, int] | None, limit: int, each: int, settings: SearchSettings
) -> Truncated | None:
    """What to say when indexes, asked for `each` passages, gave fewer pages (true) or events (false) than `limit`, and more may be left.

    `left` are the passages that pass the filters, counted up to a few more than are measured. Without filters (none) an index gives all
    that it has, and each event has a passage that is its head, so that only pages can be short.
    """
    given = {row["is_page"]: row for row in rows}
    short: list[str] = []
    for is_page, name in ((False, "events"), (True, "pages")):
        number, seen = (given[is_page]["number"], given[is_page]["seen"]) if is_page in given else (0, 0)
        more = is_page and seen >= each if left is None else left.get(is_page, 0) > min(seen, settings.exact_vectors)
        if number < limit and more:
            short.append(f"{number} {name}")
    if not short:
        return None
    detail = (
        f"Vectors were sought through an index, among at most {settings.scanned} of them: it gave {' and '.join(short)} where {limit} "
        "were asked for; others may be as near."
    )
    return Truncated("vector", "row_budget", detail)


async def _count(stage: Stage, documents: int) -> int:
    """The passages that have a vector; counted only when what the worker last counted is not all of them."""
    known = stage.tx.space.vectors if stage.tx.space else None
    return documents if known == documents else (await stage.ask(compile_stage("vector_count"), {}))[0]["number"]
