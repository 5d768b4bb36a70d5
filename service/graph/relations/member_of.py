"""MEMBER_OF: which tags an event carries, as `contains` or `refers`."""

from sqlglot import exp

from service.graph.relations.protocol import Choice, Shape, Step, among, column, table

KINDS = ("contains", "refers")


class MemberOf(Shape, frozen=True, kw_only=True):
    """Event→Tag; a missing arrow is filled in."""

    def walk(self, step: Step) -> exp.Select:
        """One row a neighbour and kind."""
        near, far = ("event_id", "tag_id") if step.near_is_left else ("tag_id", "event_id")
        edges = exp.select(column("m", far).as_("far"), column("m", "kind").as_("kind")).from_(table("membership", "m"), copy=False)
        edges = edges.where(column("m", near).eq(step.near), copy=False)
        kinds = step.given("kind", "text[]")
        return edges if kinds is None else edges.where(among(column("m", "kind"), kinds), copy=False)


MEMBER_OF = MemberOf(
    name="MEMBER_OF",
    left="Event",
    right="Tag",
    arrow="inferred",
    parameters={"kind": Choice(KINDS, "allowed_kinds", many=True)},
    properties={"kind": "text"},
    parallel="kind",
)
