"""The highest counts as SQL, without reading the longest list.

In: a plan and its walk up to the last hop. Out: further named parts and the returned rows, where a query asks for the events that have
the most entities in common with others. What costs is to read the events of an entity that takes part in very many: its list. An event
on no list but the longest has a count of 1. Once as many events as are returned are known to have more than 2, the first are among those
that are on two of the other lists, and the few of these that could still be high enough are looked up in the longest. Where it cannot be
known, every list is read. What is walked is known from the lengths of the lists, which entities keep.
"""

from sqlglot import exp

from service.graph.ast import Constant, Param
from service.graph.compile_tail import Source, ranked, tail
from service.graph.compile_walk import Frontier, Walk, asked_of_far, budget, lateral
from service.graph.live import Live
from service.graph.relations.participated_in import PARTICIPATED_IN
from service.graph.relations.protocol import among, cast, column, table
from service.graph.slots import Runtime, Slots
from service.graph.terms import AggregateTerm, ApartTest, CompareTest, FieldTerm, Hop, NotTest, Plan, Term, Test, WithinTest
from service.graph.values import Equals, Members

# Lists that are shorter than this in all, or are more, are quicker read than thought about.
SHORT, MANY = 4_000, 500
# The longest has to be a quarter of all. Two thirds are worth trying; else the newest of each list are read, to see how high counts are.
WORTH, SURE = (4, 1), (3, 2)
SAMPLED_PART, SAMPLED_LISTS = 16, 32
# To look up an event costs as much as to read several. What part of the longest list is looked up: to learn how high counts are, and then.
FIRST, ALL = 64, 8
_LOW = 2

Part = tuple[str, exp.Expr]


def is_highest(plan: Plan, walked: Walk, live: Live) -> bool:
    """Whether a query is of this kind."""
    if len(plan.matches) != 1 or not plan.matches[0].hops or not (live.set_only and plan.order):
        return False
    hop, before, first = plan.matches[0].hops[-1], walked.before, plan.order[0]
    if hop.relation is not PARTICIPATED_IN or hop.far.label != "Event" or hop.far_is_bound:
        return False
    if before.witness is None or before.unique != frozenset({hop.near.column}):
        return False
    counted = first.descending and first.column is not None and _is_count(plan.columns[first.column].term, hop)
    known = all(_left_out(test, before, hop, Slots()) is not None for test in hop.tests)
    return counted and known and all(_is_count(c.term, hop) or _is_number(c.term, hop) for c in plan.columns)


def _is_count(term: Term, hop: Hop) -> bool:
    return isinstance(term, AggregateTerm) and term.function == "count" and term.argument == hop.near


def _is_number(term: Term, hop: Hop) -> bool:
    """Whether a term is the event that the hop reaches, or its number."""
    return term == hop.far or (isinstance(term, FieldTerm) and term.node == hop.far and term.name == "id")


def _left_out(test: Test, before: Frontier, hop: Hop, slots: Slots) -> exp.Expr | None:
    """The numbers of the only events that a test may leave out; None where there may be others."""
    match test:
        case ApartTest():
            return exp.Array(expressions=[_from(before.name, "d", column("d", f"least_{before.witness}"))])
        case NotTest(test=WithinTest(left=FieldTerm() as left, values=values)) if _is_number(left, hop):
            return slots.place(Members(values, "id", "Event"), "bigint[]")
        case CompareTest(op="<>", left=left, right=right) | NotTest(test=CompareTest(op="=", left=left, right=right)):
            if isinstance(left, FieldTerm) and _is_number(left, hop) and isinstance(right, Param | Constant):
                return slots.place(Equals(right, "id", "Event"), "bigint[]")
        case _:
            pass
    return None


def highest_rows(plan: Plan, walked: Walk, source: Source, slots: Slots, live: Live) -> tuple[tuple[Part, ...], exp.Union]:
    """The parts to be named, and the rows: the first ones where they could be told, or of every list."""
    lists = _Lists(walked, plan.matches[0].hops[-1], slots)
    for read in source.select.find_all(exp.Table):
        if read.name == walked.before.name:
            read.set("this", exp.to_identifier("every"))
    rows = tail(plan, source, slots, live)
    every = exp.select(_all("e")).from_(rows.subquery("e", copy=False), copy=False).where(exp.Not(this=_some("bar")), copy=False)
    groups = exp.select(lists.total().as_("total", copy=False))
    for i, returned in enumerate(plan.columns):
        groups = groups.select(column("q", "n" if isinstance(returned.term, AggregateTerm) else "far").as_(f"c{i}"), copy=False)
    groups = groups.from_(lists.first().subquery("q", copy=False), copy=False)
    return lists.parts(), exp.union(ranked(plan, groups, slots, at_once=False), every, distinct=False, copy=False)


class _Lists:
    """The lists of the entities before the last hop."""

    def __init__(self, walked: Walk, hop: Hop, slots: Slots) -> None:
        self._before = walked.before
        self._hop = hop
        self._slots = slots

    def parts(self) -> tuple[Part, ...]:
        """`lists` with their lengths; `longest`, where leaving it out may pay; the `others`; `met`, the events on several of these;
        `bar`, a count that as many events as are returned reach for certain; `few`, where looking up those near it pays; and `every` list,
        where there is no such bar."""
        return (
            ("lists", self._lists()),
            ("longest", self._longest()),
            (
                "others",
                _from("lists", "f", _all("f")).where(exp.GT(this=column("f", "place"), expression=_whole(1)), _some("longest"), copy=False),
            ),
            ("met", self._counted("others").having(exp.GT(this=_count(), expression=_whole(1)), copy=False)),
            ("bar", self._bar()),
            ("few", self._few()),
            ("every", _from(self._before.name, "f", _all("f")).where(exp.Not(this=_some("bar")), copy=False)),
        )

    def _lists(self) -> exp.Select:
        count = column("e", "event_count")
        longest = exp.Order(expressions=[exp.Ordered(this=count.copy(), desc=True), exp.Ordered(this=column("d", self._hop.near.column))])
        length = exp.Window(this=exp.Sum(this=count.copy()))
        known = column("e", "id").eq(column("d", self._hop.near.column))
        rows = _from(self._before.name, "d", _all("d"), count.as_("size"))
        rows = rows.select(exp.Window(this=exp.RowNumber(), order=longest).as_("place"), cast(length, "bigint").as_("length"), copy=False)
        number = _from(self._before.name, "n", _count()).subquery(copy=False)
        return rows.join(table("entity", "e"), on=known, copy=False).where(exp.LTE(this=number, expression=_whole(MANY)), copy=False)

    def _longest(self) -> exp.Select:
        size, length = column("f", "size"), column("f", "length")
        below = exp.LT(this=length.copy(), expression=budget(self._slots))
        high = exp.GT(this=_count(), expression=_whole(_LOW))
        newest = exp.Add(this=_part(size, SAMPLED_PART), expression=_whole(1))
        sample = self._counted("lists", newest).where(exp.LTE(this=column("f", "place"), expression=_whole(SAMPLED_LISTS)), copy=False)
        sample = sample.having(high, copy=False).offset(self._before_last(), copy=False)
        worth, sure = (exp.GTE(this=_times(size, parts), expression=_times(length, of)) for parts, of in (WORTH, SURE))
        return _from("lists", "f", _all("f")).where(
            column("f", "place").eq(_whole(1)),
            exp.GTE(this=length, expression=_whole(SHORT)),
            below,
            worth,
            exp.or_(sure, exp.Exists(this=sample), copy=False),
            copy=False,
        )

    def _bar(self) -> exp.Select:
        """Events that are on most of the others, looked up in the longest."""
        likely = _from("met", "g", column("g", "n")).order_by(exp.Ordered(this=column("g", "n"), desc=True), copy=False)
        likely = likely.offset(self._before_last(), copy=False).limit(1, copy=False).subquery(copy=False)
        size = exp.Greatest(this=_part(column("f", "size"), FIRST), expressions=[self._returned()])
        some = _from("met", "g", _all("g")).where(exp.GTE(this=column("g", "n"), expression=likely), copy=False)
        some = some.limit(_from("longest", "f", size).subquery(copy=False), copy=False)
        counts = exp.select(self._looked_up("g").as_("n", copy=False)).from_(some.subquery("g", copy=False), copy=False)
        reached = exp.select(column("q", "n")).from_(counts.subquery("q", copy=False), copy=False)
        reached = reached.where(exp.GT(this=column("q", "n"), expression=_whole(_LOW)), copy=False)
        reached = reached.order_by(exp.Ordered(this=column("q", "n"), desc=True), copy=False)
        return reached.offset(self._before_last(), copy=False).limit(1, copy=False)

    def _few(self) -> exp.Select:
        number = self._near(_count()).subquery(copy=False)
        pays = exp.LTE(this=_times(number, ALL), expression=column("f", "size"))
        return _from("longest", "f", _whole(1).as_("one")).where(_some("bar"), pays, copy=False)

    def first(self) -> exp.Union:
        """The events that may be among the first with their counts: looked up in the longest list one by one, or that read once."""
        far, n = column("g", "far"), column("g", "n")
        one_by_one = self._near(far.as_("far"), self._looked_up("g").as_("n", copy=False)).where(_some("few"), copy=False)
        read = exp.select(column("x", "far")).from_(_named("longest", "f"), copy=False)
        read = read.join(self._edges(), join_type="cross", copy=False).subquery(copy=False)
        hit = exp.case().when(exp.In(this=far.copy(), query=read), _whole(1)).else_(_whole(0))
        at_once = self._near(far.copy().as_("far"), exp.Add(this=n, expression=hit).as_("n", copy=False)).where(
            exp.Not(this=_some("few")), copy=False
        )
        return exp.union(one_by_one, at_once, distinct=False, copy=False)

    def _near(self, *columns: exp.Expr) -> exp.Select:
        """Of the events on several of the others, those that reach the bar if they are on the longest list too."""
        bar = _from("bar", "b", exp.Sub(this=column("b", "n"), expression=_whole(1))).subquery(copy=False)
        return _from("met", "g", *columns).where(exp.GTE(this=column("g", "n"), expression=bar), copy=False)

    def _looked_up(self, alias: str) -> exp.Expr:
        """An event's count with that in the longest list."""
        same = column("y", "far").eq(column(alias, "far"))
        number = _from("longest", "f", _count()).join(self._edges(None, same), join_type="cross", copy=False)
        return exp.Add(this=column(alias, "n"), expression=number.subquery(copy=False))

    def _counted(self, lists: str, most: exp.Expr | None = None) -> exp.Select:
        counts = _from(lists, "f", column("x", "far").as_("far"), _count().as_("n"))
        return counts.join(self._edges(most), join_type="cross", copy=False).group_by(column("x", "far"), copy=False)

    def _edges(self, most: exp.Expr | None = None, *tests: exp.Expr) -> exp.Lateral:
        """The events of the list `f`: at most so many, the newest."""
        edges = lateral(self._before, self._hop, self._places(), self._slots)
        if isinstance(edges.this, exp.Select):
            edges.this.where(*tests, copy=False)
            if most is not None:
                edges.this.limit(most, copy=False)
        return exp.Lateral(this=edges, alias=exp.TableAlias(this=exp.to_identifier("x")))

    def _places(self) -> dict[str, exp.Expr]:
        return {carried.name: column("f", carried.name) for carried in self._before.columns}

    def total(self) -> exp.Expr:
        """How long the lists are in all, without what the tests leave out of them."""
        numbers: exp.Expr = cast(exp.Array(expressions=[]), "bigint[]")
        for test in self._hop.tests:
            array = _left_out(test, self._before, self._hop, self._slots)
            numbers = numbers if array is None else exp.DPipe(this=numbers, expression=array)
        rows = exp.select(column("p", "event_id").as_("far"), column("p", "entity_id").as_("near"))
        rows = rows.from_(table("participation", "p"), copy=False).where(among(column("p", "event_id"), numbers), copy=False)
        rows = rows.offset(_whole(0), copy=False)  # a fence: by the events, which are few, and not by the lists
        kept = exp.and_(*asked_of_far(self._before, self._hop, self._places(), self._slots), copy=False)
        of_lists = column("f", self._hop.near.column).eq(column("y", "near"))
        out = exp.select(_count()).from_(rows.subquery("y", copy=False), copy=False)
        out = out.join(_named("lists", "f"), on=of_lists, copy=False).where(exp.Not(this=exp.Paren(this=kept)), copy=False)
        length = _from("longest", "f", column("f", "length")).subquery(copy=False)
        return exp.Sub(this=length, expression=out.subquery(copy=False))

    def _returned(self) -> exp.Expr:
        return self._slots.place(Runtime("rows"), "bigint")

    def _before_last(self) -> exp.Expr:
        return exp.Sub(this=self._returned(), expression=_whole(1))


def _whole(number: int) -> exp.Expr:
    return exp.Literal.number(number)


def _times(value: exp.Expr, factor: int) -> exp.Expr:
    return exp.Mul(this=value.copy(), expression=_whole(factor))


def _part(value: exp.Expr, parts: int) -> exp.Expr:
    return exp.Div(this=value.copy(), expression=_whole(parts), typed=True)


def _count() -> exp.Expr:
    return exp.Count(this=exp.Star())


def _from(name: str, alias: str, *columns: exp.Expr) -> exp.Select:
    return exp.select(*columns, copy=False).from_(_named(name, alias), copy=False)


def _named(name: str, alias: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name), alias=exp.TableAlias(this=exp.to_identifier(alias)))


def _all(alias: str) -> exp.Expr:
    return exp.Column(this=exp.Star(), table=exp.to_identifier(alias))


def _some(name: str) -> exp.Expr:
    return exp.Exists(this=_from(name, "z", _whole(1)))
