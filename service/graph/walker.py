"""The walk: one statement a clause, the last one with the rows; after a timeout in narrower pieces while time is left.

In: a transaction, a compiled query, its arguments, the start events. Out: `Outcome`: the rows and what was cut. A cut is never an
error: what was finished before it is returned.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import asyncpg
import msgspec

from service.db.budget import Budget, Cut
from service.db.transaction import Tx
from service.graph.answer import CutReason, Outcome, PlanStep, StartOutcome, Truncation
from service.graph.arguments import Arguments
from service.graph.compile import Clause, Compiled, Pieces, in_pieces
from service.graph.compile_walk import Carried
from service.graph.limits import GraphLimits
from service.graph.relations.similar import MAX_K
from service.graph.slots import Runtime, Statement
from service.graph.vector_scans import count_heads, widen_scans

Bindings: TypeAlias = "dict[str, list[Any]]"
_DETAILS: Mapping[CutReason, str] = {
    "unfilled": "the vector index gave fewer than the k nearest",
    "statement_timeout": "a statement was stopped at its timeout",
    "deadline": "the deadline left no time for the rest",
    "row_budget": "more rows were reached than may be walked",
}
# What the walk may use of the time that is left; the rest is for sorting and for reading the texts.
_WALK_SHARE = 0.8
# Of the walk's time, what the first try in one piece may use, and each piece after it at least.
_FIRST_SHARE = 0.5
_PIECE_SHARE = 0.15
_NARROWER = 4


class PieceCut(Exception):
    """A clause of a piece ran out of time."""

    def __init__(self, match: int, reason: CutReason) -> None:
        super().__init__(match, reason)
        self.match = match
        self.reason: CutReason = reason


class Walker:
    """Walks one query."""

    def __init__(self, tx: Tx, query: Compiled, arguments: Arguments, limits: GraphLimits, budget: Budget, start: StartOutcome) -> None:
        self._tx = tx
        self._query = query
        self._arguments = arguments
        self._limits = limits
        self._budget = budget
        self._start = start
        self._reached = dict.fromkeys((hop.number for hop in query.plan.hops), 0)
        self._spent = dict.fromkeys((hop.number for hop in query.plan.hops), 0)
        self._cuts: dict[tuple[int, CutReason], None] = {}
        self._last = len(query.plan.matches) - 1
        self._exact, self._others = True, 0

    async def run(self) -> Outcome:
        """The rows of the whole walk, or of the part that could be finished."""
        began = time.monotonic()
        try:
            rows = [row for row in await self._rows() if row["rank"] is not None]
        except Cut as cut:
            self._cuts[self._last, cut.reason] = None
            rows = []
        limit = self._arguments.limit
        shown = tuple(tuple(row[f"c{i}"] for i in range(len(self._query.plan.columns))) for row in rows[:limit])
        walked = sum(self._spent.values())
        ended = PlanStep(0, "return", len(shown), max(0, int((time.monotonic() - began) * 1000) - walked))
        return Outcome(shown, len(rows) > limit, self._truncations(), (*self._steps(), ended))

    def _truncations(self) -> tuple[Truncation, ...]:
        return tuple(Truncation(_where(match), reason, _DETAILS[reason]) for match, reason in sorted(self._cuts))

    def _steps(self) -> list[PlanStep]:
        steps: list[PlanStep] = []
        for hop in self._query.plan.hops:
            along = "both" if hop.relation.arrow == "free" else "out" if hop.near_is_left else "in"
            rows, spent = self._reached[hop.number], self._spent[hop.number]
            steps.append(PlanStep(0, "walk", rows, spent, relation=hop.relation.name, direction=along))
        return steps

    async def _rows(self) -> Sequence[asyncpg.Record]:
        bindings = self._bindings(self._query.taken, range(len(self._start.ids)))
        if not self._query.plan.matches:
            return await self._fetch(self._query.last, bindings, self._budget)
        if any(hop.relation.nearest for hop in self._query.plan.hops) and self._query.vectors:
            await self._count_heads()
        walking = Budget(int(self._budget.remaining_ms() * _WALK_SHARE), self._limits.statement_ms)
        share = _FIRST_SHARE if len(self._start.ids) > 1 else 1
        try:
            return await self._at_once(bindings, Budget(int(walking.remaining_ms() * share), self._limits.statement_ms))
        except PieceCut as cut:
            return await self._in_pieces(walking, cut)

    async def _count_heads(self) -> None:
        """Up to the number of candidates that are measured exactly every vector is; above, the vector index is searched."""
        most = self._limits.exact_candidates
        vectors = await count_heads(self._tx, self._budget, max(most, MAX_K) + 2)
        self._exact, self._others = vectors <= most, max(0, vectors - 1)
        if not self._exact:
            await widen_scans(self._tx, self._budget)

    def _bindings(self, columns: Sequence[Carried], places: range) -> Bindings:
        values: Bindings = {
            "pos": list(places),
            "v0": [self._start.ids[place] for place in places],
            "score": [self._start.scores[place] for place in places],
        }
        return {carried.name: values[carried.name] for carried in columns}

    async def _at_once(self, bindings: Bindings, attempt: Budget) -> Sequence[asyncpg.Record]:
        for number, clause in enumerate(self._query.clauses):
            bindings = await self._walk(number, clause, bindings, attempt)
        began = time.monotonic()
        try:
            found = await self._fetch(self._query.last, bindings, attempt)
        except Cut as cut:
            raise PieceCut(self._last, cut.reason) from cut
        self._count(self._last, found[0], int(found[-1]["total"] or 0), began)
        return found

    async def _walk(self, number: int, clause: Clause, bindings: Bindings, budget: Budget) -> Bindings:
        """The bindings after one clause."""
        began = time.monotonic()
        try:
            (row,) = await self._fetch(clause.statement, bindings, budget)
        except Cut as cut:
            raise PieceCut(number, cut.reason) from cut
        reached: Bindings = {carried.name: row[carried.name] for carried in clause.given}
        total = len(next(iter(reached.values())))
        self._count(number, row, total, began)
        if total > self._limits.row_budget:
            reached = {name: values[: self._limits.row_budget] for name, values in reached.items()}
        return reached

    def _count(self, match: int, row: asyncpg.Record, total: int, began: float) -> None:
        """Notes how many rows each hop of a clause reached, and whether one reached more than it may."""
        hops = self._query.plan.matches[match].hops
        counts = [*(row[f"n{i}"] for i in range(len(hops) - 1)), total]
        for hop, count in zip(hops, counts, strict=False):
            self._reached[hop.number] += min(count, self._limits.row_budget)
        if hops:
            self._spent[hops[-1].number] += int((time.monotonic() - began) * 1000)
        if any(count > self._limits.row_budget for count in counts):
            self._cuts[match, "row_budget"] = None
        if any(hop.relation.nearest for hop in hops) and row["short"]:
            self._cuts[match, "unfilled"] = None

    async def _in_pieces(self, walking: Budget, first: PieceCut) -> Sequence[asyncpg.Record]:
        """The rows of the starts that could be finished, a few at a time, fewer after each timeout."""
        pieces = in_pieces(self._query.text, vectors=self._query.vectors)
        gathered: Bindings = {carried.name: [] for carried in pieces.columns}
        count, place, last = len(self._start.ids), 0, first
        size = max(1, count // _NARROWER)
        alone = count == 1
        while place < count and not alone and walking.remaining_ms() > 0:
            piece = range(place, min(place + size, count))
            fair = len(piece) / (count - place)
            share = Budget(max(1, int(walking.remaining_ms() * max(_PIECE_SHARE, fair))), self._limits.statement_ms)
            try:
                part = await self._piece(pieces, piece, share)
            except PieceCut as cut:
                last = cut
                if len(piece) > 1:
                    size = max(1, len(piece) // _NARROWER)
                    continue
                self._cuts[cut.match, cut.reason] = None
                part = {}
            place = piece.stop
            for name, values in part.items():
                gathered[name] += values
            if len(next(iter(gathered.values()))) >= self._limits.row_budget:
                self._cuts[self._last, "row_budget"] = None
                place, alone = count, False
        if place < count:
            self._cuts[last.match, "deadline" if not alone else last.reason] = None
        return await self._fetch(pieces.tail, gathered, self._budget)

    async def _piece(self, pieces: Pieces, piece: range, budget: Budget) -> Bindings:
        bindings = self._bindings(self._query.taken, piece)
        for number, clause in enumerate(pieces.clauses):
            bindings = await self._walk(number, clause, bindings, budget)
        return bindings

    async def _fetch(self, statement: Statement, bindings: Bindings, budget: Budget) -> Sequence[asyncpg.Record]:
        known: dict[str, Any] = {
            "budget": self._limits.row_budget + 1,
            "rows": self._arguments.limit + 1,
            "exact": self._exact,
            "others": self._others,
            **bindings,
        }
        bound = self._arguments.bound
        values = [known[slot.name] if isinstance(slot, Runtime) else bound[slot] for slot in statement.slots]
        return await self._tx.fetch(statement.sql, *values, budget=budget)


def _where(match: int) -> str:
    return "start" if match < 0 else f"match[{match}]"


def numbered(steps: Sequence[PlanStep]) -> tuple[PlanStep, ...]:
    """The steps with their numbers, from 0."""
    return tuple(msgspec.structs.replace(step, step=i) for i, step in enumerate(steps))
