"""A query checked: names bound, labels inferred, rules kept, tests placed where their terms are bound.

In: the typed syntax. Out: `Plan`, which depends on the text alone; raises `grammar` and `params` rejections. What depends on the
call's parameters (k, LIMIT, lists) is checked when they are bound, by `arguments`.
"""

from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from service.graph.ast import Param, Query, Start
from service.graph.bindings import Bindings
from service.graph.conditions import contains_used, entry_tests, tests_of
from service.graph.labels import Edge, Patterns, infer, is_named
from service.graph.rejection import grammar, suggestion
from service.graph.returns import columns_of, order_of
from service.graph.start_keys import beside, elsewhere
from service.graph.terms import (
    AggregateTerm,
    Column,
    EdgeTerm,
    Feature,
    Hop,
    MatchPlan,
    NodeTerm,
    Plan,
    RowTerm,
    ScoreTerm,
    StartKind,
    StartPlan,
    Term,
    Test,
    node_columns,
    row_terms,
)
from service.graph.walk_order import Ends, left_and_right, order_ways, uniqueness_tests

START_KEYS = ("text", "entity", "tag", "ids", "k")
KINDS: Mapping[frozenset[str], StartKind] = {
    frozenset({"text"}): "text",
    frozenset({"entity"}): "entity",
    frozenset({"tag"}): "tag",
    frozenset({"ids"}): "ids",
    frozenset({"entity", "text"}): "entity+text",
    frozenset({"tag", "text"}): "tag+text",
}
MAX_K_TEXT = 20
MAX_K_LISTING = 200


class Draft(msgspec.Struct, frozen=True):
    """One clause in the making: its walked edges, and the tests of its maps, its WHERE and the uniqueness of its edges."""

    walked: tuple[Ends, ...]
    tests: tuple[Test, ...]


def make_plan(query: Query) -> Plan:
    """The plan of a query."""
    start = _start(query.start)
    patterns = infer(query)
    nodes = {name: NodeTerm(f"v{i}", label) for i, (name, label) in enumerate(patterns.labels.items())}
    bound: dict[str, None] = {query.start.variable: None}
    edges: dict[str, tuple[int, Edge]] = {}
    drafts = [_draft(query, number, patterns, nodes, bound, edges) for number in range(len(query.matches))]
    bindings = _bindings(nodes, bound, edges)
    named = tuple(node for name, node in nodes.items() if is_named(name))
    columns = columns_of(query.items, bindings)
    columns = columns if _is_grouped(query, columns) else tuple(_late(column, drafts, named) for column in columns)
    order = order_of(query, columns, bindings)
    asked = [*(column.term for column in columns), *(key.term for key in order)]
    return Plan(
        start=start,
        named=named,
        matches=_placed(drafts, _wanted(drafts, asked)),
        distinct=query.distinct,
        columns=columns,
        order=order,
        limit=query.limit,
        parameters=_parameters(query),
        arrows=_arrows(patterns),
        scoped=_scoped(query, patterns, start, asked, drafts),
        contains=any(True for match in query.matches if match.where for _ in contains_used(match.where)),
    )


def _start(start: Start) -> StartPlan:
    given = {entry.key: entry for entry in start.entries}
    for entry in start.entries:
        if entry.key not in START_KEYS:
            otherwise = "start with text, entity, tag, ids, entity and text, or tag and text"
            hint = elsewhere(entry.key, start.variable) or suggestion(entry.key, START_KEYS, otherwise)
            raise grammar(f"START has no key {entry.key}", entry.at, hint, allowed_start_keys=list(START_KEYS))
    values = {key: entry.value for key, entry in given.items()}
    kind = KINDS.get(frozenset(given) - {"k"})
    if kind is None:
        hint = beside(frozenset(given), start.variable)
        raise grammar("START cannot be asked with this combination of keys", start.at, hint, allowed_start_keys=list(START_KEYS))
    return StartPlan(
        kind=kind,
        name=values.get("entity", values.get("tag")),
        text=values.get("text"),
        ids=values.get("ids"),
        k=values.get("k"),
        max_k=MAX_K_TEXT if "text" in given else MAX_K_LISTING,
    )


def _bindings(nodes: Mapping[str, NodeTerm], bound: Mapping[str, None], edges: Mapping[str, tuple[int, Edge]]) -> Bindings:
    return Bindings(
        nodes={name: node for name, node in nodes.items() if name in bound},
        edges={variable: (number, edge.relation) for variable, (number, edge) in edges.items()},
    )


def _draft(
    query: Query, number: int, patterns: Patterns, nodes: Mapping[str, NodeTerm], bound: dict[str, None], edges: dict[str, tuple[int, Edge]]
) -> Draft:
    """Orders the ways of a clause and collects its tests; adds what it binds to `bound` and `edges`."""
    first = sum(1 for edge in patterns.edges if edge.match < number)
    walked: list[Ends] = []
    unique: list[Test] = []
    for i, way in enumerate(order_ways(patterns, number, bound), first):
        left, right = left_and_right(way.edge, patterns)
        ends = Ends(i, way.edge, nodes[left], nodes[right], way.near == left, way.far_is_bound)
        unique += uniqueness_tests(walked, ends)
        walked.append(ends)
        if way.edge.pattern.variable is not None:
            edges[way.edge.pattern.variable] = (i, way.edge)
    tests = [test for match, name, node in patterns.nodes if match == number for test in entry_tests(nodes[name], node.entries)]
    where = query.matches[number].where
    if where is not None:
        tests += tests_of(where, _bindings(nodes, bound, edges))
    return Draft(walked=tuple(walked), tests=tuple(dict.fromkeys([*tests, *unique])))


def _is_grouped(query: Query, columns: Sequence[Column]) -> bool:
    return query.distinct or any(isinstance(column.term, AggregateTerm) for column in columns)


def _late(column: Column, drafts: Sequence[Draft], named: Sequence[NodeTerm]) -> Column:
    """The column, read from the ends of its edge where they say which edge it is and the order of rows can do without it."""
    term = column.term
    if not isinstance(term, EdgeTerm):
        return column
    ends = next(ends for draft in drafts for ends in draft.walked if ends.number == term.hop)
    single = ends.edge.pattern.low is None and ends.left in named and ends.right in named
    if not single or term.name not in ends.edge.relation.late:
        return column
    return Column(column.name, msgspec.structs.replace(term, ends=(ends.left, ends.right)))


def _wanted(drafts: Sequence[Draft], asked: Sequence[Term]) -> dict[int, tuple[EdgeTerm, ...]]:
    """The relation properties that anything reads, by hop, in the order they are first read."""
    tested = [term for draft in drafts for test in draft.tests for term in row_terms(test)]
    wanted: dict[int, dict[EdgeTerm, None]] = {}
    for term in (*asked, *tested):
        inner = term.argument if isinstance(term, AggregateTerm) else term
        if isinstance(inner, EdgeTerm) and inner.ends is None:
            wanted.setdefault(inner.hop, {})[inner] = None
    return {hop: tuple(terms) for hop, terms in wanted.items()}


def _placed(drafts: Sequence[Draft], wanted: Mapping[int, tuple[EdgeTerm, ...]]) -> tuple[MatchPlan, ...]:
    """Each test put at the first hop after which all of its terms are bound."""
    bound: set[str] = {"v0"}
    plans: list[MatchPlan] = []
    for match, draft in enumerate(drafts):
        waiting = list(draft.tests)
        before = _take_ready(waiting, bound)
        hops: list[Hop] = []
        for ends in draft.walked:
            terms = wanted.get(ends.number, ())
            bound |= {ends.left.column, ends.right.column, *(term.column for term in terms)}
            hops.append(_hop(match, ends, terms, _take_ready(waiting, bound)))
        plans.append(MatchPlan(tests=before, hops=tuple(hops)))
    return tuple(plans)


def _hop(match: int, ends: Ends, wanted: tuple[EdgeTerm, ...], tests: tuple[Test, ...]) -> Hop:
    pattern = ends.edge.pattern
    near, far = (ends.left, ends.right) if ends.near_is_left else (ends.right, ends.left)
    return Hop(
        number=ends.number,
        match=match,
        relation=ends.edge.relation,
        near=near,
        far=far,
        near_is_left=ends.near_is_left,
        far_is_bound=ends.far_is_bound,
        low=pattern.low,
        high=pattern.high,
        entries=pattern.entries,
        wanted=wanted,
        tests=tests,
    )


def _take_ready(waiting: list[Test], bound: set[str]) -> tuple[Test, ...]:
    """Removes and gives the tests whose terms are all bound."""
    ready = [test for test in waiting if all(_columns(term) <= bound for term in row_terms(test))]
    waiting[:] = [test for test in waiting if test not in ready]
    return tuple(ready)


def _columns(term: RowTerm) -> set[str]:
    return {term.column} if isinstance(term, EdgeTerm) else node_columns(term)


def _arrows(patterns: Patterns) -> tuple[str, ...]:
    """The notes of the arrows that were filled in."""
    notes: list[str] = []
    for edge in patterns.edges:
        if edge.relation.arrow == "inferred" and edge.pattern.direction == "none":
            first, second = (name if is_named(name) else "" for name in (edge.first, edge.second))
            outward = patterns.labels[edge.first] == edge.relation.left
            arrow = f"-[:{edge.relation.name}]->" if outward else f"<-[:{edge.relation.name}]-"
            notes.append(f"direction inferred: ({first}){arrow}({second})")
    return tuple(notes)


def _scoped(query: Query, patterns: Patterns, start: StartPlan, asked: Sequence[Term], drafts: Sequence[Draft]) -> tuple[Feature, ...]:
    """What of the query the switch `scoped match` turns off, in the order of the text."""
    used: list[Feature] = []
    if start.kind in ("entity+text", "tag+text"):
        used.append(Feature(f"START with {start.kind.replace('+', ' and ')}", query.start.at))
    elif start.kind == "tag":
        used.append(Feature("START with tag", query.start.at))
    if not query.matches:
        used.append(Feature("a query without MATCH", query.at))
    bare = [edge for edge in patterns.edges if edge.relation.arrow == "inferred" and edge.pattern.direction == "none"]
    used += [Feature(f"{edge.relation.name} without an arrow", edge.pattern.at) for edge in bare]
    for match in query.matches:
        if match.where is not None:
            used += [Feature("CONTAINS", found.at) for found in contains_used(match.where)]
    terms = [term.argument if isinstance(term, AggregateTerm) else term for term in asked]
    terms += [term for draft in drafts for test in draft.tests for term in row_terms(test)]
    if any(isinstance(term, ScoreTerm) for term in terms):
        used.append(Feature(f"{query.start.variable}.score", query.at))
    return tuple(used)


def _parameters(query: Query) -> frozenset[str]:
    """The names of all parameters that the text mentions."""
    names: set[str] = set()
    waiting: list[object] = [query]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Param):
            names.add(part.name)
        elif isinstance(part, msgspec.Struct):
            waiting += [getattr(part, field) for field in part.__struct_fields__]
        elif isinstance(part, tuple):
            waiting += cast("tuple[object, ...]", part)
    return frozenset(names)
