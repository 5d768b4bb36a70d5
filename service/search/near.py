"""The `vector` stream: by which way the nearest passages are found, and what that way may miss.

In: a stage, the query's vector, how many passages the project has. Out: `Near`. Up to a number of passages that the filters leave, each of
them is measured, since an index that is searched through a filter finds less than it seems to; beyond, the index is searched.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from service.db.transaction import Tx
from service.search.answer import Truncated
from service.search.candidates import Candidates, read_packed
from service.search.compile import compile_stage, compile_vectors
from service.search.parse import SearchSettings
from service.search.stages import Stage
from service.search.streams.vector import vector_values

_PASSAGES: Final = 5  # of one owner: where more of them are near, fewer owners are no sign of a loss


class Near(msgspec.Struct, frozen=True):
    """The candidates, how many of the project's passages have no vector yet, and what was cut."""

    candidates: list[Candidates]
    pending: int
    cut: Truncated | None = None


class Scan(msgspec.Struct, frozen=True):
    """How the transaction searches vectors: through indexes, and whether these go on until enough rows pass a filter."""

    indexed: bool
    iterative: bool


async def prepare(tx: Tx, settings: SearchSettings) -> Scan:
    """Sets what the statements of one transaction need, in one go."""
    indexed = tx.space is not None and bool(tx.space.indexed)
    statement = compile_stage("index_settings" if indexed else "plan_settings")
    rows = await tx.fetch(statement.sql, *statement.bind({"ef_search": settings.ef_search, "scanned": settings.scanned}))
    return Scan(indexed, bool(rows) and rows[0]["iterative"])


async def find_vectors(stage: Stage, scan: Scan, vector: str, documents: int, held: Sequence[int]) -> Near:
    """The `vector` stream."""
    pending = max(0, documents - await _count(stage, documents))
    values = {**vector_values(vector, stage.settings), "held": held}
    filters, most = stage.plan.filters, stage.settings.exact_vectors
    large = scan.indexed and documents > most
    if not filters:
        rows = await stage.ask(compile_vectors("near_indexed" if large else "near_all", ()), values)
        return Near(read_packed(stage.place, rows), pending)
    large = large and scan.iterative
    rows = await stage.ask(compile_vectors("near_left", filters), {**values, "most": most + 1 if large else None})
    left = {row["is_page"]: row["measured"] for row in rows}
    if not large or sum(left.values()) <= most:
        return Near(read_packed(stage.place, rows), pending)
    found = read_packed(stage.place, await stage.ask(compile_vectors("near_indexed", filters), values))
    return Near(found, pending, tell_cut(found, left, stage.settings))


def tell_cut(found: Sequence[Candidates], left: dict[bool, int], settings: SearchSettings) -> Truncated | None:
    """What to say when the index gave far fewer pages (true) or events (false) than passages are left; an owner may have several."""
    counts = {each.is_page: each.count for each in found}
    if all(counts.get(is_page, 0) >= min(settings.stream_size, number) / _PASSAGES for is_page, number in left.items()):
        return None
    detail = (
        f"More than {settings.exact_vectors} passages pass the filters, so they were sought through the index, in at most "
        f"{settings.scanned} vectors: {counts.get(False, 0)} events and {counts.get(True, 0)} pages were found."
    )
    return Truncated("vector", "row_budget", detail)


async def _count(stage: Stage, documents: int) -> int:
    """The passages that have a vector; counted only when what the worker last counted is not all of them."""
    known = stage.tx.space.vectors if stage.tx.space else None
    return documents if known == documents else (await stage.ask(compile_stage("vector_count"), {}))[0]["number"]
