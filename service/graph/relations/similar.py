"""SIMILAR: the k nearest events by their head vectors in the current space."""

from sqlglot import exp

from service.graph.relations.protocol import Fraction, Shape, Step, Whole, cast, column, table
from service.graph.relations.vectors import cosine, distance, heads

DEFAULT_K = 5
MAX_K = 20


class Similar(Shape, frozen=True, kw_only=True):
    """Event–Event: `k` nearest of the near end, itself excluded."""

    def walk(self, step: Step) -> exp.Select:
        """At most k rows, whatever `min` says; none when the near event has no vector."""
        apart = distance("o", "n")
        # No index gives this order, so that every vector is measured.
        measured = exp.Add(this=exp.Paren(this=apart.copy()), expression=exp.Literal.number(0))
        found = exp.union(
            _nearest(step, step.exact.copy(), measured), _nearest(step, exp.not_(step.exact.copy()), apart), distinct=False, copy=False
        )
        lateral = exp.Lateral(this=found.subquery(copy=False), alias=exp.TableAlias(this=exp.to_identifier("x")))
        return (
            exp.select(column("x", "far").as_("far"), column("x", "cos").as_("cos"))
            .from_(table("vector_0", "n"), copy=False)
            .join(lateral, join_type="cross", copy=False)
            .where(heads("n"), column("n", "owner_id").eq(step.near), copy=False)
        )


def k_of(step: Step) -> exp.Expr:
    """How many neighbours are asked for."""
    return step.given("k", "bigint") or cast(exp.Literal.number(DEFAULT_K), "bigint")


def _nearest(step: Step, applies: exp.Expr, by: exp.Expr) -> exp.Select:
    order = exp.Ordered(this=by, nulls_first=False)
    nearest = (
        exp.select(column("o", "owner_id").as_("far"), cosine("o", "n").as_("cos"))
        .from_(table("vector_0", "o"), copy=False)
        .where(heads("o"), column("o", "owner_id").neq(step.near.copy()), applies, copy=False)
        .order_by(order, column("o", "owner_id"), copy=False)
        .limit(k_of(step), copy=False)
    )
    return exp.select("b.*").from_(nearest.subquery("b", copy=False), copy=False)


SIMILAR = Similar(
    name="SIMILAR",
    left="Event",
    right="Event",
    parameters={"k": Whole(1, MAX_K), "min": Fraction(-1.0, 1.0)},
    properties={"cos": "float"},
    nearest=True,
)
