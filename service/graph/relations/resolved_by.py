"""RESOLVED_BY: from a plan to what realized it; revoked links never appear."""

from sqlglot import exp

from service.graph.relations.protocol import Choice, Shape, Step, among, column, table


class ResolvedBy(Shape, frozen=True, kw_only=True):
    """Event→Event."""

    def walk(self, step: Step) -> exp.Select:
        """One row a neighbour and relation."""
        near, far = ("plan_id", "evidence_id") if step.near_is_left else ("evidence_id", "plan_id")
        edges = exp.select(
            column("l", far).as_("far"), column("l", "relation").as_("relation"), column("l", "asserted_at").as_("asserted_at")
        ).from_(table("resolution", "l"), copy=False)
        edges = edges.where(column("l", near).eq(step.near), column("l", "revoked_at").is_(exp.null()), copy=False)
        relations = step.given("relation", "text[]")
        return edges if relations is None else edges.where(among(column("l", "relation"), relations), copy=False)


RESOLVED_BY = ResolvedBy(
    name="RESOLVED_BY",
    left="Event",
    right="Event",
    arrow="required",
    parameters={"relation": Choice(("realization",), "allowed_kinds")},
    properties={"relation": "text", "asserted_at": "time"},
    parallel="relation",
)
