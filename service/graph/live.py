"""Which columns of the bindings are still needed at each point of a walk.

In: a plan. Out: `Live`, asked by hop; what is not needed is neither carried along nor sent.
"""

from service.graph.relations.protocol import Kind
from service.graph.terms import AggregateTerm, EdgeTerm, Hop, Plan, ScoreTerm, Term, Test, node_columns, row_terms

SQL_TYPES: dict[Kind, str] = {"id": "bigint", "text": "text", "integer": "bigint", "float": "float8", "time": "timestamptz", "list": "text"}
_OF_SETS = ("min", "max")


def columns_of(term: Term) -> set[str]:
    """The columns of the bindings that a term reads."""
    inner = term.argument if isinstance(term, AggregateTerm) else term
    if inner is None:
        return set()
    if isinstance(inner, EdgeTerm):
        return {inner.column} if inner.ends is None else {node.column for node in inner.ends}
    if isinstance(inner, ScoreTerm):
        return {"score"} if inner.node.column == "v0" else set()
    return node_columns(inner)


def _read(tests: tuple[Test, ...], apart_from: Test | None = None) -> set[str]:
    return {name for test in tests if test is not apart_from for term in row_terms(test) for name in columns_of(term)}


class Live:
    """The needs of a plan, from its end to its beginning."""

    def __init__(self, plan: Plan) -> None:
        self.grouped = plan.distinct or plan.aggregates
        self.set_only = self.grouped and all(_ignores_doubles(column.term) for column in plan.columns)
        at_end = {name for term in (*(c.term for c in plan.columns), *(k.term for k in plan.order)) for name in columns_of(term)}
        if not self.grouped:
            at_end |= {"pos", *(node.column for node in plan.named)}
        # Rows have to be counted even where nothing of them is read.
        at_end = at_end or {"v0"}
        self.at_end = at_end
        self._after: dict[int, set[str]] = {}
        needed = at_end
        for match in reversed(plan.matches):
            for hop in reversed(match.hops):
                self._after[hop.number] = needed
                needed = self.before(hop)
            needed = needed | _read(match.tests)
        self.at_start = needed

    def after(self, number: int) -> set[str]:
        """The columns needed after a hop."""
        return self._after[number]

    def before(self, hop: Hop, apart_from: Test | None = None) -> set[str]:
        """The columns needed before a hop, or without one of its tests."""
        made = {term.column for term in hop.wanted} | (set() if hop.far_is_bound else {hop.far.column})
        read = _read(hop.tests, apart_from) | {hop.near.column} | ({hop.far.column} if hop.far_is_bound else set())
        return (self._after[hop.number] | read) - made


def _ignores_doubles(term: Term) -> bool:
    return not isinstance(term, AggregateTerm) or term.distinct or term.function in _OF_SETS
