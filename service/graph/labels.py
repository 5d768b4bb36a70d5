"""The patterns of all MATCH clauses as one graph: nodes by name, edges between them, labels inferred to a fixpoint.

In: the syntax. Out: `Patterns`; raises `grammar` rejections for labels, relations, arrows and names that do not fit.
"""

from collections.abc import Mapping

import msgspec

from service.graph.ast import NodePattern, Query, RelationPattern
from service.graph.rejection import GraphRejection, grammar, suggestion
from service.graph.relations.protocol import Label, Relation
from service.graph.relations.registry import RELATIONS

LABELS: tuple[Label, ...] = ("Event", "Entity", "Tag")


class Edge(msgspec.Struct, frozen=True):
    """One relation pattern between two named nodes, as written from left to right."""

    match: int
    pattern: RelationPattern
    relation: Relation
    first: str
    second: str


class Patterns(msgspec.Struct, frozen=True):
    """All nodes in order of appearance with their labels, all edges, and each node pattern with its clause and name."""

    labels: Mapping[str, Label]
    edges: tuple[Edge, ...]
    nodes: tuple[tuple[int, str, NodePattern], ...]


def is_named(name: str) -> bool:
    """Whether a node has a variable in the query; the others are called #1, #2, …"""
    return not name.startswith("#")


def collect(query: Query) -> tuple[list[Edge], list[tuple[int, str, NodePattern]]]:
    """Edges and nodes of all clauses in the order they are written."""
    edges: list[Edge] = []
    nodes: list[tuple[int, str, NodePattern]] = []
    for number, match in enumerate(query.matches):
        for chain in match.chains:
            names: list[str] = []
            for node in chain.nodes:
                names.append(node.variable or f"#{len(nodes) + 1}")
                nodes.append((number, names[-1], node))
            for i, pattern in enumerate(chain.relations):
                edges.append(Edge(number, pattern, _relation(pattern), names[i], names[i + 1]))
    _check_names(query, edges, nodes)
    return edges, nodes


def _relation(pattern: RelationPattern) -> Relation:
    relation = RELATIONS.get(pattern.type)
    allowed = list(RELATIONS)
    if relation is None:
        hint = suggestion(pattern.type, allowed, f"the relations are {', '.join(allowed)}")
        raise grammar(f"there is no relation {pattern.type}", pattern.at, hint, allowed_relations=allowed)
    if pattern.low is not None and not relation.starred:
        starred = [name for name, other in RELATIONS.items() if other.starred]
        hint = f"only {' and '.join(starred)} take a length; write further hops as relations of their own"
        raise grammar(f"{relation.name} has no variable length", pattern.at, hint, allowed_relations=starred)
    for entry in pattern.entries:
        if entry.key not in relation.parameters:
            keys = list(relation.parameters)
            otherwise = f"it takes {', '.join(keys)}" if keys else "it takes no parameters; put conditions into WHERE"
            hint = suggestion(entry.key, keys, otherwise)
            raise grammar(f"{relation.name} has no parameter {entry.key}", entry.at, hint, allowed_params=keys)
    if relation.arrow == "required" and pattern.direction == "none":
        hint = f"write -[:{relation.name}]-> or <-[:{relation.name}]-"
        raise grammar(f"{relation.name} needs its arrow", pattern.at, hint)
    return relation


def _check_names(query: Query, edges: list[Edge], nodes: list[tuple[int, str, NodePattern]]) -> None:
    names = {query.start.variable} | {name for _, name, _ in nodes}
    seen: set[str] = set()
    for edge in edges:
        variable = edge.pattern.variable
        if variable is None:
            continue
        if variable in names or variable in seen:
            taken = "a node" if variable in names else "another relation"
            raise grammar(f"`{variable}` names {taken} already", edge.pattern.at, "give each relation a variable of its own")
        seen.add(variable)


def infer(query: Query) -> Patterns:
    """Labels from START, from what is written, and from the relations' ends, until nothing changes."""
    edges, nodes = collect(query)
    labels: dict[str, Label] = {query.start.variable: "Event"}
    for _, name, node in nodes:
        if node.label is not None:
            _set(labels, name, _label(node), node.at)
    changed = True
    while changed:
        before = len(labels)
        for edge in edges:
            options = _fitting(edge, labels)
            if not options:
                raise _misplaced(edge, labels)
            if len({first for first, _ in options}) == 1:
                _set(labels, edge.first, options[0][0], edge.pattern.at)
            if len({second for _, second in options}) == 1:
                _set(labels, edge.second, options[0][1], edge.pattern.at)
        changed = len(labels) > before
    ordered: dict[str, Label] = {name: labels[name] for name in (query.start.variable, *(name for _, name, _ in nodes)) if name in labels}
    return Patterns(labels=ordered, edges=tuple(edges), nodes=tuple(nodes))


def ends(edge: Edge) -> list[tuple[Label, Label]]:
    """The labels that the two nodes may have, as written from left to right."""
    along: tuple[Label, Label] = (edge.relation.left, edge.relation.right)
    against: tuple[Label, Label] = (edge.relation.right, edge.relation.left)
    if edge.relation.arrow == "free" or edge.pattern.direction == "none":
        return [along] if along == against else [along, against]
    return [along if edge.pattern.direction == "out" else against]


def _fitting(edge: Edge, labels: Mapping[str, Label]) -> list[tuple[Label, Label]]:
    """The possible labels of the two nodes that agree with what is known of them."""
    return [(a, b) for a, b in ends(edge) if labels.get(edge.first, a) == a and labels.get(edge.second, b) == b]


def _label(node: NodePattern) -> Label:
    for label in LABELS:
        if node.label == label:
            return label
    raise grammar(
        f"there is no label {node.label}",
        node.at,
        suggestion(
            node.label or "", LABELS, "the labels are Event, Entity and Tag; a kind of entity is asked by its type: WHERE n.type = $type"
        ),
    )


def _set(labels: dict[str, Label], name: str, label: Label, at: int) -> None:
    if labels.setdefault(name, label) != label:
        shown = f"`{name}`" if is_named(name) else "a node"
        raise grammar(f"{shown} is {_a(labels[name])} and cannot be {_a(label)} too", at, "use another variable, or correct the label")


def _misplaced(edge: Edge, labels: Mapping[str, Label]) -> GraphRejection:
    relation, at = edge.relation, edge.pattern.at
    first, second = (name if is_named(name) else "" for name in (edge.first, edge.second))
    turned = [(b, a) for a, b in ends(edge)]
    if relation.arrow != "free" and all(labels.get(edge.first, a) == a and labels.get(edge.second, b) == b for a, b in turned):
        arrow = f"<-[:{relation.name}]-" if edge.pattern.direction == "out" else f"-[:{relation.name}]->"
        message = f"the arrow of {relation.name} points from {relation.left} to {relation.right}"
        return grammar(message, at, f"turn it: ({first}){arrow}({second})")
    known = [f"`{name}` is {_a(labels[name])}" for name in (edge.first, edge.second) if name in labels and is_named(name)]
    fitting = [name for name, other in RELATIONS.items() if _fits(other, labels.get(edge.first), labels.get(edge.second))]
    message = f"{relation.name} joins {_a(relation.left)} and {_a(relation.right)}" + (f", but {' and '.join(known)}" if known else "")
    return grammar(message, at, "use one of allowed_relations here, or another variable", allowed_relations=fitting)


def _fits(relation: Relation, first: Label | None, second: Label | None) -> bool:
    pairs = [(relation.left, relation.right), (relation.right, relation.left)]
    return any(first in (None, a) and second in (None, b) for a, b in pairs)


def _a(label: Label) -> str:
    return f"an {label}" if label[0] == "E" else f"a {label}"
