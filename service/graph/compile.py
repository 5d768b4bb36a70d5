"""A plan as SQL text.

In: the text of a query. Out: `Compiled`: for each MATCH clause but the last a statement that walks it and gives its bindings as
arrays, and one that walks the last and returns in one go; and `Pieces`, for going on after a timeout: every clause, and a statement
that returns from bindings walked before. All are cached by the text alone: whatever a call brings is bound.
"""

from functools import lru_cache

import msgspec
from sqlglot import exp

from service.graph.compile_counted import counted_rows, is_counted
from service.graph.compile_highest import highest_rows, is_highest
from service.graph.compile_tail import Source, order_before, tail
from service.graph.compile_walk import Carried, Walk, given_rows, walk
from service.graph.live import Live
from service.graph.parse import parse
from service.graph.plan import make_plan
from service.graph.rejection import GraphRejection
from service.graph.relations.protocol import column
from service.graph.slots import Slots, Statement, written
from service.graph.terms import MatchPlan, Plan

CACHED = 256


class Clause(msgspec.Struct, frozen=True):
    """A MATCH clause: the statement that walks it, the columns of the bindings it takes and gives."""

    statement: Statement
    taken: tuple[Carried, ...]
    given: tuple[Carried, ...]


class Compiled(msgspec.Struct, frozen=True):
    """A query ready to run: the columns it takes of the start events, the clauses before the last, and the last statement,
    which walks the last clause, if there is one, and returns."""

    text: str
    vectors: bool
    plan: Plan
    taken: tuple[Carried, ...]
    clauses: tuple[Clause, ...]
    last: Statement


class Pieces(msgspec.Struct, frozen=True):
    """The same query for a walk in pieces: every clause, and the statement that returns from the bindings they gave."""

    clauses: tuple[Clause, ...]
    tail: Statement
    columns: tuple[Carried, ...]


@lru_cache(maxsize=CACHED)
def compiled(text: str, *, vectors: bool) -> Compiled:
    """The compiled query of a text; raises a located `GraphRejection`. `vectors`: the project has an embedding space."""
    try:
        plan = make_plan(parse(text))
    except GraphRejection as rejection:
        raise rejection.located(text) from None
    live = Live(plan)
    taken = _start(live)
    clauses = _clauses(plan, live, taken, plan.matches[:-1], vectors=vectors)
    slots = Slots()
    if plan.matches:
        before = clauses[-1].given if clauses else taken
        walked = walk(plan, len(clauses), before, slots, live, first=not clauses, order=order_before(plan, live))
        rows = _returned(plan, walked, slots, live)
    else:
        rows = _tail(plan, live, taken, slots, frozenset({"v0"}))
    return Compiled(text, vectors, plan, taken, clauses, written(rows, slots, vectors=vectors))


@lru_cache(maxsize=CACHED // 4)
def in_pieces(text: str, *, vectors: bool) -> Pieces:
    """The pieces of a query that was compiled before: they are needed only after a timeout."""
    query = compiled(text, vectors=vectors)
    live = Live(query.plan)
    clauses = _clauses(query.plan, live, query.taken, query.plan.matches, vectors=vectors)
    columns = clauses[-1].given
    slots = Slots()
    rows = _tail(query.plan, live, columns, slots, None)
    return Pieces(clauses, written(rows, slots, vectors=vectors), columns)


def _returned(plan: Plan, walked: Walk, slots: Slots, live: Live) -> exp.Select:
    if is_counted(plan):
        bindings, rows = counted_rows(plan, walked, slots)
        return _rows(msgspec.structs.replace(walked, parts=(*walked.parts, ("m", bindings))), rows, plan)
    source = Source(walked.last, _names(walked.columns), walked.unique)
    if is_highest(plan, walked, live):
        parts, highest = highest_rows(plan, walked, source, slots, live)
        return _rows(msgspec.structs.replace(walked, parts=(*walked.parts, *parts)), highest, plan)
    return _rows(walked, tail(plan, source, slots, live), plan)


def _start(live: Live) -> tuple[Carried, ...]:
    columns = (Carried("pos", "bigint"), Carried("v0", "bigint"), Carried("score", "float8"))
    return tuple(carried for carried in columns if carried.name in live.at_start)


def _clauses(plan: Plan, live: Live, taken: tuple[Carried, ...], matches: tuple[MatchPlan, ...], *, vectors: bool) -> tuple[Clause, ...]:
    clauses: list[Clause] = []
    for number in range(len(matches)):
        slots = Slots()
        walked = walk(plan, number, taken, slots, live, first=number == 0)
        clauses.append(Clause(written(_bindings(walked), slots, vectors=vectors), taken, walked.columns))
        taken = walked.columns
    return tuple(clauses)


def _tail(plan: Plan, live: Live, columns: tuple[Carried, ...], slots: Slots, unique: frozenset[str] | None) -> exp.Select:
    everything = exp.select(*(column("u", carried.name).as_(carried.name) for carried in columns)).from_(
        given_rows(columns, slots), copy=False
    )
    return tail(plan, Source(everything, _names(columns), unique), slots, live).order_by("rank", copy=False)


def _names(columns: tuple[Carried, ...]) -> tuple[str, ...]:
    return tuple(carried.name for carried in columns)


def _counts(walked: Walk) -> list[exp.Expr]:
    """How many bindings each hop but the last reached, as n0, n1, …, and whether nearest events were missed, as `short`."""
    counts = [exp.select(exp.Count(this=exp.Star())).from_(exp.table_(name), copy=False).subquery(copy=False) for name in walked.counted]
    numbered = [count.as_(f"n{i}") for i, count in enumerate(counts)]
    return [*numbered, exp.or_(*walked.short).as_("short")] if walked.short else numbered


def _with_parts(select: exp.Select, walked: Walk) -> exp.Select:
    for name, part in walked.parts:
        select = select.with_(name, as_=part, materialized=True, copy=False)
    return select


def _bindings(walked: Walk) -> exp.Select:
    """One row: the counts of the hops, and each column of the bindings as an array."""
    select = exp.select(*_counts(walked))
    for carried in walked.columns:
        listed = exp.ArrayAgg(this=column("w", carried.name))
        empty = exp.cast(exp.Array(expressions=[]), f"{carried.sql_type}[]")
        select = select.select(exp.Coalesce(this=listed, expressions=[empty]).as_(carried.name), copy=False)
    return _with_parts(select.from_(walked.last.subquery("w", copy=False), copy=False), walked)


def _rows(walked: Walk, rows: exp.Select | exp.Union, plan: Plan) -> exp.Select:
    """The returned rows beside the counts of the hops, which stand in a row of their own where none is returned."""
    names = ["total", *(f"c{i}" for i in range(len(plan.columns))), "rank"]
    counts = [column("n", count.alias).as_(count.alias) for count in _counts(walked)]
    select = exp.select(*counts, *(column("r", name).as_(name) for name in names))
    select = select.from_(exp.select(*_counts(walked), exp.Literal.number(1).as_("one")).subquery("n", copy=False), copy=False)
    select = select.join(rows.subquery("r", copy=False), on=exp.true(), join_type="left", copy=False).order_by(
        column("r", "rank"), copy=False
    )
    return _with_parts(select, walked)
