"""RETURN, ORDER BY and LIMIT as SQL.

In: a plan and a SELECT of bindings. Out: one SELECT whose columns are `total` (bindings walked), `c0`, `c1`, … (the returned
columns; nodes and late properties as the node's number) and `rank`. Where rows are grouped, one whose rank is null may stand before
them, with the total alone. Texts of nodes are not read here unless they group or sort.
"""

import msgspec
from sqlglot import exp

from service.graph.bindings import argument_kind
from service.graph.compile_walk import Order
from service.graph.live import SQL_TYPES, Live, columns_of
from service.graph.predicates import by_code_point
from service.graph.relations.protocol import Kind, column
from service.graph.scope import Scope
from service.graph.slots import Runtime, Slots
from service.graph.terms import AggregateTerm, EdgeTerm, FieldTerm, NodeTerm, Plan, RowTerm, SortKey, Term

COLLECTED = 200


class Source(msgspec.Struct, frozen=True):
    """A SELECT of bindings, its columns, and on which of them its rows are unique (None: unknown)."""

    select: exp.Select
    columns: tuple[str, ...]
    unique: frozenset[str] | None


def is_late(term: Term, *, grouped: bool) -> bool:
    """Whether a property is read only for the rows that are returned."""
    return isinstance(term, FieldTerm) and not grouped


def tail(plan: Plan, source: Source, slots: Slots, live: Live) -> exp.Select:
    """The returned rows, ranked."""
    return _grouped(plan, source, slots) if live.grouped else _plain(plan, source, slots)


def _limit(slots: Slots) -> exp.Expr:
    return slots.place(Runtime("rows"), "bigint")


def _sorted(value: exp.Expr, *, descending: bool = False) -> exp.Ordered:
    # Nulls last in both directions, written out: Postgres puts them first when descending.
    return exp.Ordered(this=value, desc=descending, nulls_first=False)


def value_of(term: Term, scope: Scope) -> exp.Expr:
    """A term of the row, such that it groups and sorts as it compares."""
    return _value(_row(term), scope)


def _value(term: RowTerm, scope: Scope) -> exp.Expr:
    found = scope.term(term)
    return by_code_point(found) if argument_kind(term) == "text" else found


def _rank(after: int = 0) -> exp.Expr:
    """The number of a row in its order; null for the row of the whole, which stands before the others."""
    number = exp.Window(this=exp.RowNumber())
    if not after:
        return number.as_("rank")
    return exp.Nullif(this=exp.Sub(this=number, expression=exp.Literal.number(after)), expression=exp.Literal.number(0)).as_("rank")


def _plain(plan: Plan, source: Source, slots: Slots) -> exp.Select:
    scope = Scope({name: column("w", name) for name in source.columns})
    keys = _order(plan, scope)
    total = exp.Window(this=exp.Count(this=exp.Star())).as_("total")
    limited = exp.select(*(column("w", name).as_(name) for name in source.columns), total)
    limited = (
        scope.joined(limited.from_(source.select.subquery("w", copy=False), copy=False))
        .order_by(*keys, copy=False)
        .limit(_limit(slots), copy=False)
    )
    outer = Scope({name: column("l", name) for name in source.columns})
    columns = [_output(plan, c.term, outer).as_(f"c{i}") for i, c in enumerate(plan.columns)]
    select = exp.select(column("l", "total").as_("total"), *columns, column("l", "rank").as_("rank"))
    ranked = exp.select("o.*", _rank()).from_(limited.subquery("o", copy=False), copy=False)
    return outer.joined(select.from_(ranked.subquery("l", copy=False), copy=False))


def _order(plan: Plan, scope: Scope) -> list[exp.Ordered]:
    """The order of rows that are not grouped: as asked, then the start's place, the nodes' numbers, the relations' properties."""
    keys = [_sorted(_value(_row(key.term), scope), descending=key.descending) for key in plan.order]
    ties = ["pos", *(node.column for node in plan.named), *(term.column for hop in plan.hops for term in hop.wanted)]
    return keys + [_sorted(scope.places[name].copy()) for name in ties if name in scope.places]


def order_before(plan: Plan, live: Live) -> "Order | None":
    """How the bindings are sorted before the last hop, where that only keeps or drops each of them: then LIMIT ends the walk.

    The hop is a loop over the sorted bindings, so that their order stays; the few rows that come out are sorted again all the same.
    """
    hop = plan.matches[-1].hops[-1] if plan.matches[-1].hops else None
    if live.grouped or hop is None or not hop.far_is_bound or hop.relation.nearest or hop.relation.parallel is not None:
        return None
    if hop is plan.matches[-1].hops[0] or any(columns_of(key.term) & {term.column for term in hop.wanted} for key in plan.order):
        return None

    def ordered(name: str, columns: tuple[str, ...]) -> exp.Select:
        scope = Scope({each: column("h", each) for each in columns})
        keys = _order(plan, scope)
        rows = exp.select(*(column("h", each).as_(each) for each in columns)).from_(exp.table_(name).as_("h", table=True), copy=False)
        return scope.joined(rows).order_by(*keys, copy=False)

    return ordered


def _output(plan: Plan, term: Term, scope: Scope) -> exp.Expr:
    if isinstance(term, FieldTerm):
        return scope.term(term.node)
    if isinstance(term, EdgeTerm) and term.ends is not None:
        left, right = (scope.term(node) for node in term.ends)
        return plan.hops[term.hop].relation.between(term.name, left, right)
    return scope.term(_row(term))


def _row(term: Term) -> RowTerm:
    if isinstance(term, AggregateTerm):
        raise TypeError("an aggregate stands only where rows are grouped")
    return term


def _grouped(plan: Plan, source: Source, slots: Slots) -> exp.Select:
    scope = Scope({name: column("w", name) for name in source.columns})
    sorts = {f"s{i}": _row(key.term) for i, key in enumerate(plan.order) if key.column is None}
    projected = [_value(term, scope).as_(name) for name, term in sorts.items()]
    keys: list[str] = []
    for i, returned in enumerate(plan.columns):
        if not isinstance(returned.term, AggregateTerm):
            keys.append(f"c{i}")
            projected.append(_value(returned.term, scope).as_(f"c{i}"))
        elif returned.term.argument is not None and not _counts_rows(plan, returned.term, source):
            projected.append(_value(returned.term.argument, scope).as_(f"a{i}"))
    bindings = source.select.subquery("w", copy=False)
    projection = scope.joined(exp.select(*(projected or [exp.Literal.number(1).as_("one")])).from_(bindings, copy=False))
    _drop_unread(source.select, projection)
    at_once = bool(keys) and not any(_keeps_values(plan, returned.term, source) for returned in plan.columns)
    total: exp.Expr = exp.Count(this=exp.Star())
    groups = exp.select((total if at_once else exp.Window(this=exp.Sum(this=total))).as_("total"))
    if at_once:
        groups = groups.select(exp.Grouping(expressions=[column("k", keys[0])]).as_("whole"), copy=False)
    for i, returned in enumerate(plan.columns):
        value = _aggregate(plan, i, source) if isinstance(returned.term, AggregateTerm) else column("k", f"c{i}")
        groups = groups.select(value.as_(f"c{i}"), copy=False)
    groups = groups.select(*(exp.Min(this=column("k", name)).as_(name) for name in sorts), copy=False).from_(
        projection.subquery("k", copy=False), copy=False
    )
    groups = _grouped_by(groups, [column("k", name) for name in keys], at_once=at_once)
    return ranked(plan, groups, slots, at_once=at_once)


def ranked(plan: Plan, groups: exp.Select, slots: Slots, *, at_once: bool) -> exp.Select:
    """The first groups in the order asked for; with `at_once` one of them is the whole."""
    order = [_sorted(column("g", "whole"), descending=True)] if at_once else []
    order += [_sorted(column("g", _sort_name(i, key)), descending=key.descending) for i, key in enumerate(plan.order)]
    order += [_sorted(column("g", f"c{i}")) for i in range(len(plan.columns))]
    limit = exp.Add(this=_limit(slots), expression=exp.Literal.number(1)) if at_once else _limit(slots)
    limited = exp.select("g.*").from_(groups.subquery("g", copy=False), copy=False).order_by(*order, copy=False).limit(limit, copy=False)
    names = ["total", *(f"c{i}" for i in range(len(plan.columns)))]
    return exp.select(*(column("o", name).as_(name) for name in names), _rank(after=1 if at_once else 0)).from_(
        limited.subquery("o", copy=False), copy=False
    )


def _drop_unread(bindings: exp.Select, reader: exp.Select) -> None:
    """Takes away the columns of the bindings that are not read, which for each of them saves a projection."""
    read = {found.name for found in reader.find_all(exp.Column) if found.table == "w"}
    kept = [part for part in bindings.expressions if part.alias in read]
    bindings.set("expressions", kept or bindings.expressions[:1])


def _grouped_by(groups: exp.Select, keys: list[exp.Expr], *, at_once: bool) -> exp.Select:
    """With `at_once` the whole is a group of its own: a count for each binding costs less than a window over all groups."""
    if not at_once:
        return groups.group_by(*keys, copy=False) if keys else groups
    sets = [exp.Tuple(expressions=keys), exp.Tuple(expressions=[])]
    return groups.group_by(exp.GroupingSets(expressions=sets), copy=False)


def _keeps_values(plan: Plan, term: Term, source: Source) -> bool:
    """Whether an aggregate has to keep all of its values, which for the whole would cost too much."""
    if not isinstance(term, AggregateTerm) or _counts_rows(plan, term, source):
        return False
    return term.distinct or term.function == "collect"


def _sort_name(number: int, key: SortKey) -> str:
    return f"s{number}" if key.column is None else f"c{key.column}"


def _aggregate(plan: Plan, number: int, source: Source) -> exp.Expr:
    term = plan.columns[number].term
    if not isinstance(term, AggregateTerm):
        raise TypeError("not an aggregate")
    if term.argument is None or _counts_rows(plan, term, source):
        return exp.Count(this=exp.Star())
    value = column("k", f"a{number}")
    if term.function == "collect":
        return _collected(value, argument_kind(term.argument), distinct=term.distinct)
    argument: exp.Expr = exp.Distinct(expressions=[value]) if term.distinct else value
    made = {"count": exp.Count, "min": exp.Min, "max": exp.Max, "sum": exp.Sum, "avg": exp.Avg}[term.function](this=argument)
    return exp.Coalesce(this=made, expressions=[exp.Literal.number(0)]) if term.function == "sum" else made


def _counts_rows(plan: Plan, term: AggregateTerm, source: Source) -> bool:
    """Whether an aggregate counts rows: all of them, or distinct nodes where each row of a group holds another one."""
    if term.argument is None:
        return True
    if not (term.distinct and term.function == "count" and isinstance(term.argument, NodeTerm)) or source.unique is None:
        return False
    grouped = {c.term.column for c in plan.columns if isinstance(c.term, NodeTerm)}
    return source.unique <= grouped | {term.argument.column}


def _collected(value: exp.Expr, kind: Kind, *, distinct: bool) -> exp.Expr:
    inner = exp.Distinct(expressions=[value]) if distinct else value
    listed = exp.ArrayAgg(this=exp.Order(this=inner, expressions=[_sorted(value.copy())]))
    present = exp.Filter(this=listed, expression=exp.Where(this=exp.Not(this=value.copy().is_(exp.null()))))
    # One more than is shown, so that the answer can say that there are more.
    first = exp.Slice(this=exp.Literal.number(1), expression=exp.Literal.number(COLLECTED + 1))
    empty = exp.cast(exp.Array(expressions=[]), f"{SQL_TYPES[kind]}[]")
    return exp.Coalesce(this=exp.Bracket(this=exp.Paren(this=present), expressions=[first]), expressions=[empty])
