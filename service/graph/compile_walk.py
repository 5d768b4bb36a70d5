"""A MATCH clause as SQL.

In: a plan and the number of a clause. Out: `Walk`: common table expressions for all hops but the last, which is a SELECT of
its own, so that grouping and limiting can be put around it. Each hop is a nested loop from the frontier: a fenced LATERAL never
becomes a hash of a hub. Every hop is limited to the row budget. Where only the set of bindings matters, the frontier is reduced
to what is still needed; of a node that is only asked to differ from the next one, its smallest and largest stand for all.
The k nearest are found first, once for each distinct node, so that it can be told whether the vector index gave fewer.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec
from sqlglot import exp

from service.graph.live import SQL_TYPES, Live
from service.graph.predicates import looked_up, predicate, reads_only_numbers
from service.graph.relations.protocol import Step, among, column, table
from service.graph.relations.similar import k_of
from service.graph.relations.vectors import heads
from service.graph.scope import Scope
from service.graph.slots import Runtime, Slots
from service.graph.terms import ApartTest, Hop, MatchPlan, Plan, Test
from service.graph.values import Fitting


class Carried(msgspec.Struct, frozen=True):
    """A column of the bindings, and its type."""

    name: str
    sql_type: str


class Frontier(msgspec.Struct, frozen=True):
    """The bindings so far: their table, columns, on which of them they are unique (None: unknown), and the node of which
    only the smallest and the largest are kept."""

    name: str
    columns: tuple[Carried, ...]
    unique: frozenset[str] | None
    witness: str | None = None
    rows: exp.Select | None = None

    def table(self, alias: str) -> exp.Expr:
        """What is selected from: the named part, or rows made of it."""
        return exp.table_(self.name).as_(alias, table=True) if self.rows is None else self.rows.subquery(alias, copy=False)


# From the name of a part and its columns to its rows in order.
Order: TypeAlias = "Callable[[str, tuple[str, ...]], exp.Select]"


class Walk(msgspec.Struct, frozen=True):
    """A clause: named parts, which of them are hops to be counted, conditions under which nearest events were missed, the
    bindings before the last hop, and the last SELECT with its columns."""

    parts: tuple[tuple[str, exp.Expr], ...]
    counted: tuple[str, ...]
    short: tuple[exp.Expr, ...]
    before: Frontier
    last: exp.Select
    columns: tuple[Carried, ...]
    unique: frozenset[str] | None


def walk(plan: Plan, number: int, given: Sequence[Carried], slots: Slots, live: Live, *, first: bool, order: "Order | None" = None) -> Walk:
    """The walk of one clause from the bindings `given`; `first` says that they are the start events, each once.

    With `order` the bindings before the last hop are sorted by it, and the walk ends with the rows that are returned.
    """
    clause = plan.matches[number]
    frontier = Frontier("s", tuple(given), frozenset({"v0"}) if first else None)
    entry = _entry(frontier, clause, slots)
    if not clause.hops:
        return Walk((), (), (), frontier, entry, frontier.columns, frontier.unique)
    parts: list[tuple[str, exp.Expr]] = [("s", entry)]
    counted: list[str] = []
    short: list[exp.Expr] = []
    for i, hop in enumerate(clause.hops[:-1]):
        _find_nearest(frontier, hop, slots, parts, short)
        select, reached = _hop(frontier, hop, slots, live)
        parts.append((f"h{i}", select))
        counted.append(f"h{i}")
        frontier = msgspec.structs.replace(reached, name=f"h{i}")
        reduced = _reduced(frontier, hop, clause.hops[i + 1], live)
        if reduced is not None:
            select, frontier = reduced
            frontier = msgspec.structs.replace(frontier, name=f"d{i}")
            parts.append((frontier.name, select))
    _find_nearest(frontier, clause.hops[-1], slots, parts, short)
    if order is not None:
        frontier = msgspec.structs.replace(frontier, rows=order(frontier.name, tuple(carried.name for carried in frontier.columns)))
    last, reached = _hop(frontier, clause.hops[-1], slots, live)
    if order is not None:
        last = last.limit(slots.place(Runtime("rows"), "bigint"), copy=False)
    return Walk(tuple(parts), tuple(counted), tuple(short), frontier, last, reached.columns, reached.unique)


def given_rows(columns: Sequence[Carried], slots: Slots) -> exp.Expr:
    """Bindings that were bound as arrays, one for each column, as a table `u`."""
    arrays = [slots.place(Runtime(carried.name), f"{carried.sql_type}[]") for carried in columns]
    names = [exp.to_identifier(carried.name) for carried in columns]
    return exp.Unnest(expressions=arrays, alias=exp.TableAlias(this=exp.to_identifier("u"), columns=names))


def budget(slots: Slots) -> exp.Expr:
    """One row more than may be walked, so that a cut shows."""
    return slots.place(Runtime("budget"), "bigint")


def _entry(frontier: Frontier, clause: MatchPlan, slots: Slots) -> exp.Select:
    scope = Scope({carried.name: column("u", carried.name) for carried in frontier.columns})
    tests = [predicate(test, scope, slots) for test in clause.tests]
    select = exp.select(*(column("u", carried.name).as_(carried.name) for carried in frontier.columns))
    return scope.joined(select.from_(given_rows(frontier.columns, slots), copy=False)).where(*tests, copy=False)


def _hop(frontier: Frontier, hop: Hop, slots: Slots, live: Live) -> tuple[exp.Select, Frontier]:
    kept = [carried for carried in frontier.columns if carried.name in live.after(hop.number)]
    reached = [Carried(term.column, SQL_TYPES[term.kind]) for term in hop.wanted if term.column in live.after(hop.number)]
    places: dict[str, exp.Expr] = {carried.name: column("f", carried.name) for carried in frontier.columns}
    edges = _neighbours(frontier, hop, places, slots) if hop.relation.nearest else _joined(lateral(frontier, hop, places, slots))
    places |= {term.column: column("x", term.name) for term in hop.wanted}
    if not hop.far_is_bound:
        places[hop.far.column] = column("x", "far")
        if hop.far.column in live.after(hop.number):
            reached.insert(0, Carried(hop.far.column, "bigint"))
    scope = Scope(places)
    tests = [predicate(test, scope, slots) for test in hop.tests if not is_inside(test, hop)]
    columns = (*kept, *reached)
    select = exp.select(*(places[carried.name].copy().as_(carried.name) for carried in columns))
    select = scope.joined(select.from_(frontier.table("f"), copy=False).join(edges, copy=False))
    unique = frontier.unique
    if unique is not None:
        reaches = frozenset[str]() if hop.far_is_bound else frozenset({hop.far.column})
        unique = unique | reaches if hop.relation.parallel is None else None
    return select.where(*tests, copy=False).limit(budget(slots), copy=False), Frontier("", columns, unique)


def is_inside(test: Test, hop: Hop) -> bool:
    """Whether a test is asked within the walk of a relation, before its rows are joined to anything."""
    if hop.far_is_bound:
        return False
    return reads_only_numbers(test) or looked_up(test, hop.far, Slots()) is not None


def _step(hop: Hop, near: exp.Expr, far: exp.Expr | None, slots: Slots) -> Step:
    def given(key: str, sql_type: str) -> exp.Expr | None:
        entry = next((entry for entry in hop.entries if entry.key == key), None)
        if entry is None:
            return None
        return slots.place(Fitting(entry.value, key, hop.relation.name, hop.relation.parameters[key]), sql_type)

    return Step(
        near=near.copy(),
        near_is_left=hop.near_is_left,
        far=far,
        wanted=frozenset(term.name for term in hop.wanted),
        low=hop.low,
        high=hop.high,
        given=given,
        exact=slots.place(Runtime("exact"), "boolean") if hop.relation.nearest else exp.true(),
    )


def lateral(frontier: Frontier, hop: Hop, places: dict[str, exp.Expr], slots: Slots) -> exp.Subquery:
    """The edges at the near node, tests on the far node's number already asked; the LIMIT keeps it a loop."""
    far = places[hop.far.column].copy() if hop.far_is_bound else None
    step = _step(hop, places[hop.near.column], far, slots)
    edges = hop.relation.walk(step)
    inside = asked_of_far(frontier, hop, places, slots) if far is None else [column("y", "far").eq(far.copy())]
    if inside:
        names = ["far", *sorted(step.wanted)]
        edges = (
            exp.select(*(column("y", name).as_(name) for name in names))
            .from_(edges.subquery("y", copy=False), copy=False)
            .where(*inside, copy=False)
        )
    return edges.limit(budget(slots), copy=False).subquery(copy=False)


def _joined(edges: exp.Subquery) -> exp.Join:
    return exp.Join(this=exp.Lateral(this=edges, alias=exp.TableAlias(this=exp.to_identifier("x"))), kind="CROSS")


def _find_nearest(frontier: Frontier, hop: Hop, slots: Slots, parts: list[tuple[str, exp.Expr]], short: list[exp.Expr]) -> None:
    """Adds the parts that find the nearest of each distinct near node, and the condition under which some were missed."""
    if not hop.relation.nearest:
        return
    at, found = f"e{hop.number}", f"k{hop.number}"
    near = column("f", hop.near.column)
    known = exp.and_(column("n", "owner_id").eq(near.copy()), heads("n"))
    ends = (
        exp.select(near.as_("near"))
        .distinct(copy=False)
        .from_(exp.table_(frontier.name).as_("f", table=True), copy=False)
        .join(table("vector_0", "n"), on=known, copy=False)
    )
    step = _step(hop, column("e", "near"), None, slots)
    lateral = exp.Lateral(this=hop.relation.walk(step).subquery(copy=False), alias=exp.TableAlias(this=exp.to_identifier("x")))
    edges = exp.select(column("e", "near").as_("near"), column("x", "far").as_("far"), column("x", "cos").as_("cos"))
    parts += [
        (at, ends),
        (found, edges.from_(exp.table_(at).as_("e", table=True), copy=False).join(lateral, join_type="cross", copy=False)),
    ]
    counts = [exp.select(exp.Count(this=exp.Star())).from_(name, copy=False).subquery(copy=False) for name in (found, at)]
    each = exp.Least(this=k_of(step), expressions=[slots.place(Runtime("others"), "bigint")])
    missed = exp.LT(this=counts[0], expression=exp.Mul(this=counts[1], expression=each))
    short.append(exp.and_(exp.not_(step.exact.copy()), missed))


def _neighbours(frontier: Frontier, hop: Hop, places: dict[str, exp.Expr], slots: Slots) -> exp.Join:
    """The nearest that were found before, those of them that the relation's own parameters and the tests keep."""
    step = _step(hop, places[hop.near.column], None, slots)
    on: list[exp.Expr] = [column("x", "near").eq(step.near)]
    least = step.given("min", "float8")
    if least is not None:
        on.append(exp.GTE(this=column("x", "cos"), expression=least))
    if hop.far_is_bound:
        on.append(column("x", "far").eq(places[hop.far.column].copy()))
    else:
        on += asked_of_far(frontier, hop, places, slots, alias="x")
    return exp.Join(this=exp.table_(f"k{hop.number}").as_("x", table=True), on=exp.and_(*on))


def asked_of_far(frontier: Frontier, hop: Hop, places: dict[str, exp.Expr], slots: Slots, alias: str = "y") -> list[exp.Expr]:
    """The tests on the number of the node that a hop reaches, as `far` of `alias`."""
    far = column(alias, "far")
    scope = Scope(places | {hop.far.column: far})
    found: list[exp.Expr] = []
    for test in hop.tests:
        numbers = looked_up(test, hop.far, slots)
        if numbers is not None:
            found.append(among(far.copy(), numbers))
        elif frontier.witness is not None and isinstance(test, ApartTest) and frontier.witness in (test.left, test.right):
            ends = [column("f", f"{side}_{frontier.witness}").neq(far.copy()) for side in ("least", "most")]
            found.append(exp.Paren(this=exp.or_(*ends)))
        elif reads_only_numbers(test):
            found.append(predicate(test, scope, slots))
    return found


def _reduced(frontier: Frontier, hop: Hop, following: Hop, live: Live) -> tuple[exp.Select, Frontier] | None:
    """The frontier as a set of what is still needed; None where nothing can be dropped, or every binding counts."""
    if not live.set_only:
        return None
    needed = live.before(following)
    witness = _witness(frontier, following, live)
    kept = [carried for carried in frontier.columns if carried.name in needed and carried.name != witness]
    if len(kept) == len(frontier.columns) or not kept:
        return None
    select = exp.select(*(column("h", carried.name).as_(carried.name) for carried in kept))
    if witness is not None:
        ends = {"least": exp.Min(this=column("h", witness)), "most": exp.Max(this=column("h", witness))}
        select = select.select(*(value.as_(f"{side}_{witness}") for side, value in ends.items()), copy=False)
    select = select.from_(exp.table_(frontier.name).as_("h", table=True), copy=False).group_by(
        *(column("h", carried.name) for carried in kept), copy=False
    )
    return select, Frontier("", tuple(kept), frozenset(carried.name for carried in kept), witness)


def _witness(frontier: Frontier, following: Hop, live: Live) -> str | None:
    """A node that is needed for nothing but to differ from the one that the next hop reaches."""
    if following.far_is_bound:
        return None
    for carried in frontier.columns:
        tests = [test for test in following.tests if isinstance(test, ApartTest) and carried.name in (test.left, test.right)]
        only = len(tests) == 1 and following.far.column in (tests[0].left, tests[0].right)
        if only and carried.name not in live.before(following, apart_from=tests[0]):
            return carried.name
    return None
