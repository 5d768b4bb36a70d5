"""The order in which the relations of a MATCH clause are walked, and what keeps an edge from being used twice.

In: the edges of one clause and the nodes bound before it. Out: `Way`s from bound to new nodes; raises `grammar` rejections
for what is not connected. A way is always walked from a bound end, in the order written as far as that allows.
"""

from collections.abc import Mapping, Sequence

import msgspec

from service.graph.labels import Edge, Patterns
from service.graph.rejection import grammar
from service.graph.terms import AllTest, CompareTest, EdgeTerm, NodeTerm, NotTest, Test, apart


class Way(msgspec.Struct, frozen=True):
    """An edge with the end it is walked from."""

    edge: Edge
    near: str
    far: str
    far_is_bound: bool


class Ends(msgspec.Struct, frozen=True):
    """A walked edge by the nodes at the two ends its relation names, and the end it is walked from."""

    number: int
    edge: Edge
    left: NodeTerm
    right: NodeTerm
    near_is_left: bool
    far_is_bound: bool


def order_ways(patterns: Patterns, match: int, bound: dict[str, None]) -> list[Way]:
    """The ways of one clause; adds the nodes they reach to `bound`, which keeps the order in which they were."""
    waiting = [edge for edge in patterns.edges if edge.match == match]
    ways: list[Way] = []
    while waiting:
        edge = next((edge for edge in waiting if _is_ready(edge, bound)), None)
        if edge is None:
            raise _unconnected(waiting[0], bound)
        waiting.remove(edge)
        near, far = (edge.first, edge.second) if edge.first in bound else (edge.second, edge.first)
        if edge.relation.nearest and far in bound:
            near, far = sorted((near, far), key=list(bound).index)
        ways.append(Way(edge, near, far, far in bound))
        bound[far] = None
    for number, name, node in patterns.nodes:
        if number == match and name not in bound:
            raise grammar("a chain is not connected to what is bound", node.at, f"begin or end it with a bound variable: {_names(bound)}")
    return ways


def _is_ready(edge: Edge, bound: Mapping[str, None]) -> bool:
    ends = {edge.first in bound, edge.second in bound}
    return ends == {True} if edge.relation.needs_both else True in ends


def _unconnected(edge: Edge, bound: Mapping[str, None]) -> Exception:
    relation = edge.relation
    if relation.needs_both:
        hint = f"bind both ends first, such as (a)-[s:SHARES {{min: 2}}]-(b)-[f:{relation.name}]-(a)"
        return grammar(f"{relation.name} needs both of its ends bound elsewhere", edge.pattern.at, hint)
    return grammar("a chain is not connected to what is bound", edge.pattern.at, f"begin or end it with a bound variable: {_names(bound)}")


def _names(bound: Mapping[str, None]) -> str:
    return ", ".join(sorted(name for name in bound if not name.startswith("#")))


def left_and_right(edge: Edge, patterns: Patterns) -> tuple[str, str]:
    """The names of the nodes at the left and the right end that the relation names."""
    relation = edge.relation
    if relation.arrow != "free" and edge.pattern.direction != "none":
        return (edge.first, edge.second) if edge.pattern.direction == "out" else (edge.second, edge.first)
    return (edge.first, edge.second) if patterns.labels[edge.first] == relation.left else (edge.second, edge.first)


def uniqueness_tests(earlier: Sequence[Ends], here: Ends) -> list[Test]:
    """The tests that edge `here` is none of the earlier ones of its clause."""
    tests: list[Test] = []
    for other in earlier:
        relation = here.edge.relation
        if other.edge.relation.name != relation.name:
            continue
        pairs = [((other.left, here.left), (other.right, here.right))]
        if relation.arrow == "free" and relation.left == relation.right:
            pairs.append(((other.left, here.right), (other.right, here.left)))
        for pair in pairs:
            test = _not_the_same(pair, other, here)
            if test is not None:
                tests.append(test)
    return tests


def _not_the_same(pair: tuple[tuple[NodeTerm, NodeTerm], ...], other: Ends, here: Ends) -> Test | None:
    equal = [(a, b) for a, b in pair if a.column != b.column]
    loops = [{other.left.column, other.right.column}, {here.left.column, here.right.column}]
    if any({a.column, b.column} in loops for a, b in equal) and here.edge.relation.left == here.edge.relation.right:
        # The two ends of one edge are never the same node, so these two edges cannot be the same.
        return None
    parallel = here.edge.relation.parallel
    if len(equal) == 1 and parallel is None:
        return apart(*equal[0])
    same: list[Test] = [CompareTest("=", a, b) for a, b in equal]
    if parallel is not None:
        kind = here.edge.relation.properties[parallel]
        same.append(CompareTest("=", EdgeTerm(other.number, parallel, kind), EdgeTerm(here.number, parallel, kind)))
    return NotTest(AllTest(tuple(same)))
