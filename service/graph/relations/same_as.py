"""SAME_AS: stored aliases of entities, symmetric, never a fuzzy match."""

from sqlglot import exp

from service.graph.relations.protocol import Fraction, Shape, Step, cast, column, table


class SameAs(Shape, frozen=True, kw_only=True):
    """Entity–Entity; a pair is stored once, so both columns are asked, each by its own index."""

    def walk(self, step: Step) -> exp.Select:
        """One row an alias."""
        edges = exp.union(_side(step, "a_id", "b_id"), _side(step, "b_id", "a_id"), distinct=False, copy=False).subquery("u", copy=False)
        found = exp.select(column("u", "far").as_("far"), column("u", "confidence").as_("confidence")).from_(edges, copy=False)
        least = step.given("min", "float8")
        return found if least is None else found.where(exp.GTE(this=column("u", "confidence"), expression=least), copy=False)


def _side(step: Step, near: str, far: str) -> exp.Select:
    # Stored as real: by way of numeric 0.9 stays 0.9.
    confidence = cast(cast(column("s", "confidence"), "numeric"), "float8")
    edges = exp.select(column("s", far).as_("far"), confidence.as_("confidence")).from_(table("alias", "s"), copy=False)
    return edges.where(column("s", near).eq(step.near), copy=False)


SAME_AS = SameAs(name="SAME_AS", left="Entity", right="Entity", parameters={"min": Fraction(0.0, 1.0)}, properties={"confidence": "float"})
