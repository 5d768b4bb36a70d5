"""A last hop that is only counted, as SQL.

In: a plan and its walk up to the last hop. Out: the returned rows, where nothing is asked of the nodes that the last hop reaches but
how many there are for each group. They are counted in their index instead of being carried along, told apart and grouped: for a group
of one binding its edges are the count; only where several bindings make a group are its nodes gathered.
"""

from sqlglot import exp

from service.graph.compile_tail import ranked, value_of
from service.graph.compile_walk import Walk, is_inside, lateral
from service.graph.live import columns_of
from service.graph.relations.protocol import column
from service.graph.scope import Scope
from service.graph.slots import Slots
from service.graph.terms import AggregateTerm, Hop, Plan, Term


def is_counted(plan: Plan) -> bool:
    """Whether the last hop is of this kind."""
    if not plan.aggregates or not plan.matches or not plan.matches[-1].hops:
        return False
    hop = plan.matches[-1].hops[-1]
    if hop.far_is_bound or hop.relation.nearest or hop.relation.parallel is not None or not all(is_inside(test, hop) for test in hop.tests):
        return False
    keys = [returned.term for returned in plan.columns if not isinstance(returned.term, AggregateTerm)]
    return bool(keys) and all(_counts(returned.term, hop) for returned in plan.columns)


def _counts(term: Term, hop: Hop) -> bool:
    """Whether a column is a count of what the hop reaches, or known before it."""
    if isinstance(term, AggregateTerm):
        return term.function == "count" and (term.argument is None or term.argument == hop.far)
    return not columns_of(term) & {hop.far.column, *(wanted.column for wanted in hop.wanted)}


def counted_rows(plan: Plan, walked: Walk, slots: Slots) -> tuple[exp.Select, exp.Select]:
    """The bindings before the last hop, to be named `m`, with the columns that group them; and the returned rows."""
    keys = [f"c{i}" for i, returned in enumerate(plan.columns) if not isinstance(returned.term, AggregateTerm)]
    hop = plan.matches[-1].hops[-1]
    one = exp.select(*(column("f", name).as_(name) for name in keys), column("x", "n").as_("told_apart"), column("x", "n").as_("walked"))
    one = _reaching(one, walked, hop, slots, counted=True).where(
        _alike(exp.EQ), exp.GT(this=column("x", "n"), expression=_whole(0)), copy=False
    )
    several = exp.select(*(column("f", name).as_(name) for name in keys))
    several = several.select(exp.Count(this=exp.Distinct(expressions=[column("x", "far")])), exp.Count(this=exp.Star()), copy=False)
    several = (
        _reaching(several, walked, hop, slots, counted=False)
        .where(_alike(exp.GT), copy=False)
        .group_by(*(column("f", name) for name in keys), copy=False)
    )
    groups = exp.select(exp.Window(this=exp.Sum(this=column("u", "walked"))).as_("total"))
    for i, returned in enumerate(plan.columns):
        name = f"c{i}"
        if isinstance(returned.term, AggregateTerm):
            name = "told_apart" if returned.term.distinct else "walked"
        groups = groups.select(column("u", name).as_(f"c{i}"), copy=False)
    groups = groups.from_(exp.union(one, several, distinct=False, copy=False).subquery("u", copy=False), copy=False)
    return _keyed(plan, walked, keys), ranked(plan, groups, slots, at_once=False)


def _whole(number: int) -> exp.Expr:
    return exp.Literal.number(number)


def _alike(comparison: type[exp.Binary]) -> exp.Expr:
    return comparison(this=column("f", "alike"), expression=_whole(1))


def _keyed(plan: Plan, walked: Walk, keys: list[str]) -> exp.Select:
    scope = Scope({carried.name: column("h", carried.name) for carried in walked.before.columns})
    terms = [value_of(plan.columns[int(name[1:])].term, scope).as_(name) for name in keys]
    rows = scope.joined(exp.select("h.*", *terms).from_(walked.before.table("h"), copy=False))
    alike = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[column("z", name) for name in keys])
    return exp.select("z.*", alike.as_("alike")).from_(rows.subquery("z", copy=False), copy=False)


def _reaching(select: exp.Select, walked: Walk, hop: Hop, slots: Slots, *, counted: bool) -> exp.Select:
    """The bindings with the edges of each, or with their number alone."""
    places: dict[str, exp.Expr] = {carried.name: column("f", carried.name) for carried in walked.before.columns}
    edges = lateral(walked.before, hop, places, slots)
    if counted:
        number = exp.select(exp.Count(this=exp.Star()).as_("n")).from_(exp.alias_(edges, "y", table=True), copy=False)
        edges = number.subquery(copy=False)
    joined = exp.Lateral(this=edges, alias=exp.TableAlias(this=exp.to_identifier("x")))
    return select.from_(exp.table_("m").as_("f", table=True), copy=False).join(joined, join_type="cross", copy=False)
