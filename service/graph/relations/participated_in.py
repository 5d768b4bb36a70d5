"""PARTICIPATED_IN: which entities take part in which events."""

from sqlglot import exp

from service.graph.relations.protocol import Shape, Step, column, table


class ParticipatedIn(Shape, frozen=True, kw_only=True):
    """Entity–Event; an arrow changes nothing."""

    def walk(self, step: Step) -> exp.Select:
        """One row a neighbour: (event, entity) is unique."""
        near, far = ("entity_id", "event_id") if step.near_is_left else ("event_id", "entity_id")
        return (
            exp.select(column("p", far).as_("far"))
            .from_(table("participation", "p"), copy=False)
            .where(column("p", near).eq(step.near), copy=False)
        )


PARTICIPATED_IN = ParticipatedIn(name="PARTICIPATED_IN", left="Entity", right="Event")
