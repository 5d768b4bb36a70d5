"""SIMILAR: the k nearest events by their head vectors in the current space."""

from sqlglot import exp

from service.graph.relations.protocol import Fraction, Shape, Step, Whole, column, table
from service.graph.relations.vectors import cosine, distance, heads


class Similar(Shape, frozen=True, kw_only=True):
    """Event–Event: `k` nearest of the near end, itself excluded, then `min`."""

    def walk(self, step: Step) -> exp.Select:
        """At most k rows; none when the near event has no vector."""
        apart = distance("o", "n")
        k = step.given("k", "bigint") or exp.cast(exp.Literal.number(5), "bigint")
        nearest = (
            exp.select(column("o", "owner_id").as_("far"), cosine("o", "n").as_("cos"))
            .from_(table("vector_0", "o"))
            .where(heads("o"), column("o", "owner_id").neq(step.near.copy()))
            .order_by(exp.Ordered(this=apart, nulls_first=False), column("o", "owner_id"))
            .limit(k)
        )
        lateral = exp.Lateral(this=nearest.subquery(), alias=exp.TableAlias(this=exp.to_identifier("x")))
        found = (
            exp.select(column("x", "far").as_("far"), column("x", "cos").as_("cos"))
            .from_(table("vector_0", "n"))
            .join(lateral, join_type="cross")
            .where(heads("n"), column("n", "owner_id").eq(step.near))
        )
        least = step.given("min", "float8")
        return found if least is None else found.where(exp.GTE(this=column("x", "cos"), expression=least))


SIMILAR = Similar(
    name="SIMILAR",
    left="Event",
    right="Event",
    parameters={"k": Whole(1, 20), "min": Fraction(-1.0, 1.0)},
    properties={"cos": "float"},
)
