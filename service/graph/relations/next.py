"""NEXT: what follows an event in a thread, a file, a folder and so on; one step, or the shortest way of up to three."""

from sqlglot import exp

from service.graph.relations.protocol import Choice, Shape, Step, among, cast, column, table

SOURCES = ("thread", "chunk_order", "file_name", "folder_name", "topic_segment", "user_manual", "version_up")


class Next(Shape, frozen=True, kw_only=True):
    """Event→Event; a way never changes its source."""

    def walk(self, step: Step) -> exp.Select:
        """One row a neighbour and source; with a star the shortest distance, unrolled (three steps need no recursion)."""
        if step.low is None or step.high is None:
            return _path(step, 1)
        ways: exp.Select | exp.Union = _path(step, 1)
        for length in range(2, step.high + 1):
            ways = exp.union(ways, _path(step, length), distinct=False, copy=False)
        shortest = exp.Min(this=column("u", "hops"))
        return (
            exp.select(column("u", "far").as_("far"), shortest.as_("hops"), column("u", "source").as_("source"))
            .from_(ways.subquery("u", copy=False), copy=False)
            .where(column("u", "far").neq(step.near.copy()), copy=False)
            .group_by(column("u", "far"), column("u", "source"), copy=False)
            .having(exp.GTE(this=shortest.copy(), expression=exp.Literal.number(step.low)), copy=False)
        )


def _path(step: Step, length: int) -> exp.Select:
    near, far = ("from_id", "to_id") if step.near_is_left else ("to_id", "from_id")
    last = f"n{length}"
    hops = cast(exp.Literal.number(length), "bigint")
    path = exp.select(column(last, far).as_("far"), hops.as_("hops"), column("n1", "source").as_("source")).from_(
        table("next_link", "n1"), copy=False
    )
    for i in range(2, length + 1):
        before, here = f"n{i - 1}", f"n{i}"
        joined = exp.and_(column(here, near).eq(column(before, far)), column(here, "source").eq(column("n1", "source")))
        path = path.join(table("next_link", here), on=joined, copy=False)
    path = path.where(column("n1", near).eq(step.near.copy()), copy=False)
    sources = step.given("source", "text[]")
    return path if sources is None else path.where(among(column("n1", "source"), sources), copy=False)


NEXT = Next(
    name="NEXT",
    left="Event",
    right="Event",
    arrow="required",
    parameters={"source": Choice(SOURCES, "allowed_sources", many=True)},
    properties={"hops": "integer", "source": "text"},
    starred=True,
    parallel="source",
)
