"""CONNECTED: entities that took part in the same event, and in how many."""

from sqlglot import exp

from service.graph.relations.protocol import Shape, Step, Whole, column, table


class Connected(Shape, frozen=True, kw_only=True):
    """Entity–Entity, derived from participation."""

    def walk(self, step: Step) -> exp.Select:
        """One row a neighbour: grouping is right because (event, entity) is unique."""
        together = column("q", "event_id").eq(column("p", "event_id"))
        found = (
            exp.select(column("q", "entity_id").as_("far"), exp.Count(this=exp.Star()).as_("event_count"))
            .from_(table("participation", "p"), copy=False)
            .join(table("participation", "q"), on=together, copy=False)
            .where(column("p", "entity_id").eq(step.near), column("q", "entity_id").neq(step.near.copy()), copy=False)
            .group_by(column("q", "entity_id"), copy=False)
        )
        least = step.given("min", "bigint")
        return found if least is None else found.having(exp.GTE(this=exp.Count(this=exp.Star()), expression=least), copy=False)


CONNECTED = Connected(name="CONNECTED", left="Entity", right="Entity", parameters={"min": Whole(1)}, properties={"event_count": "integer"})
