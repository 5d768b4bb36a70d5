"""FAR: pairs of events, bound elsewhere, whose head vectors point in different directions."""

from sqlglot import exp

from service.graph.relations.protocol import Fraction, Shape, Step, cast, column, table
from service.graph.relations.vectors import cosine, heads


class Far(Shape, frozen=True, kw_only=True):
    """Event–Event: a filter."""

    def walk(self, step: Step) -> exp.Select:
        """One row when the cosine is below `max`; none when one of the two has no vector."""
        if step.far is None:
            raise ValueError("FAR is walked with both ends bound")
        most = step.given("max", "float8") or cast(exp.Literal.number("0.5"), "float8")
        value = cosine("n", "o")
        return (
            exp.select(column("o", "owner_id").as_("far"), value.as_("cos"))
            .from_(table("vector_0", "n"), copy=False)
            .join(table("vector_0", "o"), on=column("o", "owner_id").eq(step.far), copy=False)
            .where(heads("n"), heads("o"), column("n", "owner_id").eq(step.near), column("o", "owner_id").neq(step.near.copy()), copy=False)
            .where(exp.LT(this=value.copy(), expression=most), copy=False)
        )


FAR = Far(
    name="FAR",
    left="Event",
    right="Event",
    parameters={"max": Fraction(-1.0, 1.0)},
    properties={"cos": "float"},
    needs_both=True,
)
