"""A plan as SQL text.

In: a plan. Out: `Compiled`: for each MATCH clause a statement that walks it and gives its bindings as arrays; for the last one also
a statement that walks and returns in one go; and a statement that returns from bindings walked before. All are cached by the
text of the query alone: whatever a call brings is bound.
"""

from functools import lru_cache

import msgspec
from sqlglot import exp

from service.graph.compile_tail import Source, tail
from service.graph.compile_walk import Carried, Walk, given_rows, walk
from service.graph.live import Live
from service.graph.parse import parse
from service.graph.plan import make_plan
from service.graph.relations.protocol import column
from service.graph.rejection import GraphRejection
from service.graph.slots import Slots, Statement, written
from service.graph.terms import Plan

CACHED = 512
_START = (Carried("pos", "bigint"), Carried("v0", "bigint"), Carried("score", "float8"))


class Clause(msgspec.Struct, frozen=True):
    """A MATCH clause: the statement that walks it, the columns of the bindings it takes and gives."""

    statement: Statement
    taken: tuple[Carried, ...]
    given: tuple[Carried, ...]


class Compiled(msgspec.Struct, frozen=True):
    """A query ready to run. `fused` walks the last clause and returns; `tail` returns from bindings; without MATCH only `tail`."""

    plan: Plan
    clauses: tuple[Clause, ...]
    fused: Statement | None
    tail: Statement
    tail_columns: tuple[Carried, ...]

    @property
    def taken(self) -> tuple[Carried, ...]:
        """The columns of the start events' bindings."""
        return self.clauses[0].taken if self.clauses else self.tail_columns

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All statements."""
        fused = () if self.fused is None else (self.fused,)
        return (*(clause.statement for clause in self.clauses), *fused, self.tail)


@lru_cache(maxsize=CACHED)
def compiled(text: str, *, vectors: bool) -> Compiled:
    """The compiled query of a text; raises a located `GraphRejection`. `vectors`: the project has an embedding space."""
    try:
        plan = make_plan(parse(text))
    except GraphRejection as rejection:
        raise rejection.located(text) from None
    return compile_plan(plan, vectors=vectors)


def compile_plan(plan: Plan, *, vectors: bool) -> Compiled:
    """The statements of a plan."""
    live = Live(plan)
    taken = tuple(carried for carried in _START if carried.name in live.at_start)
    clauses: list[Clause] = []
    fused: Statement | None = None
    for number in range(len(plan.matches)):
        slots = Slots()
        walked = walk(plan, number, taken, slots, live, first=number == 0)
        clauses.append(Clause(written(_bindings(walked), slots, vectors=vectors), taken, walked.columns))
        if number == len(plan.matches) - 1:
            slots = Slots()
            walked = walk(plan, number, taken, slots, live, first=number == 0)
            source = Source(walked.last, _names(walked.columns), walked.unique)
            fused = written(_rows(walked, tail(plan, source, slots, live), plan), slots, vectors=vectors)
        taken = walked.columns
    slots = Slots()
    everything = exp.select(*(column("u", carried.name).as_(carried.name) for carried in taken)).from_(given_rows(taken, slots))
    unique = None if plan.matches else frozenset({"v0"})
    rows = tail(plan, Source(everything, _names(taken), unique), slots, live).order_by("rank")
    return Compiled(plan, tuple(clauses), fused, written(rows, slots, vectors=vectors), taken)


def _names(columns: tuple[Carried, ...]) -> tuple[str, ...]:
    return tuple(carried.name for carried in columns)


def _counts(walked: Walk) -> list[exp.Expr]:
    """How many bindings each hop but the last reached, as n0, n1, …"""
    counts = [exp.select(exp.Count(this=exp.Star())).from_(name).subquery() for name in walked.counted]
    return [count.as_(f"n{i}") for i, count in enumerate(counts)]


def _with_parts(select: exp.Select, walked: Walk) -> exp.Select:
    for name, part in walked.parts:
        select = select.with_(name, as_=part, materialized=True)
    return select


def _bindings(walked: Walk) -> exp.Select:
    """One row: the counts of the hops, and each column of the bindings as an array."""
    select = exp.select(*_counts(walked))
    for carried in walked.columns:
        listed = exp.ArrayAgg(this=column("w", carried.name))
        empty = exp.cast(exp.Array(expressions=[]), f"{carried.sql_type}[]")
        select = select.select(exp.Coalesce(this=listed, expressions=[empty]).as_(carried.name))
    return _with_parts(select.from_(walked.last.subquery("w")), walked)


def _rows(walked: Walk, rows: exp.Select, plan: Plan) -> exp.Select:
    """The returned rows beside the counts of the hops, which stand in a row of their own where none is returned."""
    names = ["total", *(f"c{i}" for i in range(len(plan.columns))), "rank"]
    counts = [column("n", f"n{i}").as_(f"n{i}") for i in range(len(walked.counted))]
    select = exp.select(*counts, *(column("r", name).as_(name) for name in names))
    select = select.from_(exp.select(*_counts(walked), exp.Literal.number(1).as_("one")).subquery("n"))
    select = select.join(rows.subquery("r"), on=exp.true(), join_type="left").order_by(column("r", "rank"))
    return _with_parts(select, walked)
