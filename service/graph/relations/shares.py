"""SHARES: events with entities in common, how many, how rare, and which."""

from sqlglot import exp

from service.graph.relations.protocol import Fraction, Shape, Step, Whole, cast, column, table

# One more than an answer shows, so that it can say that there are more.
VIA_READ = 11
_PLACES = cast(exp.Literal.number("1000000000000"), "float8")


class Shares(Shape, frozen=True, kw_only=True):
    """Event–Event, computed live from participation."""

    def walk(self, step: Step) -> exp.Select:
        """One row a neighbour; with a star one row an event whose shortest distance is in range."""
        if step.low is None or step.high is None:
            return _neighbours(step, step.near, step.far, step.wanted)
        return _levels(step, step.low, step.high)

    def between(self, name: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        """`via`, without what counting and weighing every neighbour needs."""
        ends = [column(alias, "event_id").eq(end.copy()) for alias, end in (("p", left), ("q", right))]
        shared = (
            exp.select(_via("e", "id"))
            .from_(table("participation", "p"), copy=False)
            .join(table("participation", "q"), on=column("q", "entity_id").eq(column("p", "entity_id")), copy=False)
            .join(table("entity", "e"), on=column("e", "id").eq(column("p", "entity_id")), copy=False)
            .where(*ends, copy=False)
        )
        return shared.subquery(copy=False)


def _neighbours(step: Step, near: exp.Expr, far: exp.Expr | None, wanted: frozenset[str]) -> exp.Select:
    count = exp.Count(this=exp.Star())
    least, lightest = step.given("min", "bigint"), step.given("min_w", "float8")
    weighed = bool(wanted & {"weight", "via"}) or lightest is not None
    found = (
        exp.select(column("q", "event_id").as_("far"))
        .from_(_own(near, weighed=weighed).subquery("p", copy=False), copy=False)
        .join(table("participation", "q"), on=column("q", "entity_id").eq(column("p", "entity_id")), copy=False)
        .where(column("q", "event_id").neq(near.copy()), copy=False)
        .group_by(column("q", "event_id"), copy=False)
    )
    if far is not None:
        found = found.where(column("q", "event_id").eq(far.copy()), copy=False)
    values = {"count": count, "weight": _weight(), "via": _via("p", "entity_id"), "hops": cast(exp.Literal.number(1), "bigint")}
    for name in sorted(wanted):
        found = found.select(values[name].as_(name), copy=False)
    if least is not None:
        found = found.having(exp.GTE(this=count.copy(), expression=least), copy=False)
    return found if lightest is None else found.having(exp.GTE(this=_weight(), expression=lightest), copy=False)


def _own(near: exp.Expr, *, weighed: bool) -> exp.Select:
    """The entities of the near event; what each of them weighs is computed here, not for every event that shares it."""
    own = (
        exp.select(column("i", "entity_id"))
        .from_(table("participation", "i"), copy=False)
        .where(column("i", "event_id").eq(near.copy()), copy=False)
    )
    if not weighed:
        return own
    df = cast(exp.Add(this=exp.Literal.number(1), expression=column("e", "event_count")), "float8")
    weight = exp.Div(this=cast(exp.Literal.number(1), "float8"), expression=exp.Ln(this=df))
    own = own.select(column("e", "event_count"), weight.as_("weight"), copy=False)
    return own.join(table("entity", "e"), on=column("e", "id").eq(column("i", "entity_id")), copy=False).offset(
        exp.Literal.number(0), copy=False
    )


def _weight() -> exp.Expr:
    """The sum of 1 / ln(1 + df), to twelve places: below them the order of adding up would show."""
    total = exp.Sum(this=column("p", "weight"))
    scaled = exp.Add(this=exp.Mul(this=total, expression=_PLACES.copy()), expression=cast(exp.Literal.number("0.5"), "float8"))
    return exp.Div(this=exp.Floor(this=scaled), expression=_PLACES.copy())


def _via(alias: str, number: str) -> exp.Expr:
    rarest = [exp.Ordered(this=column(alias, name), nulls_first=False) for name in ("event_count", number)]
    listed = exp.Paren(this=exp.ArrayAgg(this=exp.Order(this=column(alias, number), expressions=rarest)))
    first = exp.Slice(this=exp.Literal.number(1), expression=exp.Literal.number(VIA_READ))
    # As text: arrays of unlike lengths cannot travel side by side in one array.
    return cast(exp.Bracket(this=listed, expressions=[first]), "text")


def _levels(step: Step, low: int, high: int) -> exp.Select:
    wanted = (step.wanted - {"hops"}) | {"weight"}
    properties = sorted(step.wanted - {"hops"})
    query = exp.Select()
    parts: list[exp.Select] = []
    for level in range(1, high + 1):
        name = f"l{level}"
        members = _neighbours(step, step.near, None, wanted) if level == 1 else _farther(step, level, wanted)
        query = query.with_(name, as_=members, materialized=True, copy=False)
        if level >= low:
            hops = cast(exp.Literal.number(level), "bigint").as_("hops")
            parts.append(
                exp.select(column(name, "far").as_("far"), hops, *(column(name, p).as_(p) for p in properties)).from_(name, copy=False)
            )
    found: exp.Select | exp.Union = parts[0]
    for part in parts[1:]:
        found = exp.union(found, part, distinct=False, copy=False)
    return query.select("far", *sorted(step.wanted), copy=False).from_(found.subquery("u", copy=False), copy=False)


def _farther(step: Step, level: int, wanted: frozenset[str]) -> exp.Select:
    """The events one hop from the last level that are on no earlier one, each by its heaviest last hop."""
    before = f"l{level - 1}"
    hop = _neighbours(step, column(before, "far"), None, wanted)
    lateral = exp.Lateral(this=hop.subquery(copy=False), alias=exp.TableAlias(this=exp.to_identifier("s")))
    found = (
        exp.select(column("s", "far").as_("far"), *(column("s", name).as_(name) for name in sorted(wanted)))
        .distinct(column("s", "far"), copy=False)
        .from_(before, copy=False)
        .join(lateral, join_type="cross", copy=False)
        .where(column("s", "far").neq(step.near.copy()), copy=False)
        .order_by(
            column("s", "far"), exp.Ordered(this=column("s", "weight"), desc=True, nulls_first=False), column(before, "far"), copy=False
        )
    )
    for earlier in range(1, level):
        seen = (
            exp.select(exp.Literal.number(1))
            .from_(f"l{earlier} AS b", copy=False)
            .where(column("b", "far").eq(column("s", "far")), copy=False)
        )
        found = found.where(exp.not_(exp.Exists(this=seen)), copy=False)
    return found


SHARES = Shares(
    name="SHARES",
    left="Event",
    right="Event",
    parameters={"min": Whole(1), "min_w": Fraction(0.0)},
    properties={"count": "integer", "weight": "float", "via": "list", "hops": "integer"},
    starred=True,
    late=frozenset({"via"}),
)
