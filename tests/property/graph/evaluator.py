"""A slow, obvious interpreter of the graph language over Python lists. It shares nothing with the product but the syntax tree.

In: a graph, the tree of a query, its params. Out: every row in the promised order, each with the keys that put it there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from service.graph import ast
from tests.property.graph.model import Graph
from tests.property.graph.ordering import compare_keys, sortable
from tests.property.graph.relations import Edge, Edges, Measured, Ref, Unsure, cosine, too_close
from tests.property.graph.values import compare, fold, given_for, id_of, within

MOST_ROWS = 4_000


class TooMany(Exception):
    """More rows than an obvious interpreter should go through."""


@dataclass
class Row:
    """A returned row, and its sort keys as (key, descending)."""

    cells: list[Any]
    keys: list[tuple[Any, bool]]


@dataclass
class Binding:
    """What the variables of one row stand for: nodes, and the properties of relations."""

    position: int
    score: float | None
    nodes: dict[str, Ref]
    edges: dict[str, dict[str, Any]] = field(default_factory=dict)


class Evaluator:
    """Interprets one query."""

    def __init__(self, graph: Graph, query: ast.Query, params: dict[str, Any]) -> None:
        self.graph, self.query, self.params = graph, query, params
        self.edges = Edges(graph)
        self._unnamed = 0

    def value_of(self, given: Any) -> Any:
        match given:
            case ast.Param(name=name):
                return self.params[name]
            case ast.Constant(value=value):
                return value
            case ast.Listing(items=items):
                return [self.value_of(item) for item in items]
        raise TypeError(given)

    def rows(self, starts: list[tuple[int, float | None]]) -> list[Row]:
        """All rows in order, before LIMIT."""
        name = self.query.start.variable
        bindings = [Binding(i, score, {name: Ref("Event", number)}) for i, (number, score) in enumerate(starts)]
        for clause in self.query.matches:
            bindings = [found for binding in bindings for found in self._match(binding, clause)]
            if len(bindings) > MOST_ROWS:
                raise TooMany
        rows = self._returned(bindings)
        return sorted(rows, key=cmp_to_key(lambda a, b: compare_keys(a.keys, b.keys)))

    # MATCH

    def _match(self, binding: Binding, clause: ast.Match) -> Iterator[Binding]:
        patterns: list[tuple[str, ast.NodePattern]] = []
        steps: list[tuple[str, ast.RelationPattern, str]] = []
        for chain in clause.chains:
            names = [node.variable or self._new_name() for node in chain.nodes]
            patterns += zip(names, chain.nodes, strict=True)
            steps += [(names[i], relation, names[i + 1]) for i, relation in enumerate(chain.relations)]
        for found in self._walk(binding, steps, patterns, frozenset()):
            if clause.where is None or self.test(clause.where, found) is True:
                yield found

    def _new_name(self) -> str:
        self._unnamed += 1
        return f"#{self._unnamed}"

    def _walk(self, binding: Binding, steps: list[Any], patterns: list[Any], used: frozenset[Any]) -> Iterator[Binding]:
        if not all(self._fits(binding.nodes[name], pattern) for name, pattern in patterns if name in binding.nodes):
            return
        if not steps:
            yield binding
            return
        step = next(s for s in steps if self._is_ready(s, binding))
        rest = [s for s in steps if s is not step]
        for extended, edge in self._step(binding, *step):
            if edge.identity not in used:
                yield from self._walk(extended, rest, patterns, used | {edge.identity})

    def _is_ready(self, step: tuple[str, ast.RelationPattern, str], binding: Binding) -> bool:
        bound = [name in binding.nodes for name in (step[0], step[2])]
        return all(bound) if step[1].type == "FAR" else any(bound)

    def _step(self, binding: Binding, first: str, pattern: ast.RelationPattern, second: str) -> Iterator[tuple[Binding, Edge]]:
        near = next(name for name in binding.nodes if name in (first, second))  # the one that was bound first
        far = second if near == first else first
        options = {entry.key: self.value_of(entry.value) for entry in pattern.entries}
        star = None if pattern.low is None else (pattern.low, pattern.high or pattern.low)
        outward = (pattern.direction == "out") == (near == first)
        for edge in self.edges.at(pattern.type, binding.nodes[near], outward, options, star):
            if far in binding.nodes and binding.nodes[far] != edge.far:
                continue
            edges = {**binding.edges, pattern.variable: edge.properties} if pattern.variable else binding.edges
            yield Binding(binding.position, binding.score, {**binding.nodes, far: edge.far}, edges), edge

    def _fits(self, ref: Ref, pattern: ast.NodePattern) -> bool:
        if pattern.label is not None and pattern.label != ref.label:
            return False
        return all(within(self._property(ref, entry.key), [self.value_of(entry.value)]) is True for entry in pattern.entries)

    # Expressions

    def evaluate(self, expression: Any, binding: Binding) -> Any:
        match expression:
            case ast.Variable(name=name):
                return binding.nodes[name]
            case ast.Property(variable=variable, name=name) if variable in binding.edges:
                return binding.edges[variable][name]
            case ast.Property(variable=variable, name="score"):
                return binding.score if variable == self.query.start.variable else None
            case ast.Property(variable=variable, name=name):
                return self._property(binding.nodes[variable], name)
            case ast.Cos(left=left, right=right):
                vectors = self.graph.vectors
                return cosine(vectors.get(binding.nodes[left].number), vectors.get(binding.nodes[right].number))
            case _:
                return self.value_of(expression)

    def _property(self, ref: Ref, name: str) -> Any:
        if name == "id":
            return id_of(ref)
        if ref.label == "Event":
            times = self.graph.times
            return {"timestamp": times[ref.number - 1], "order_index": ref.number, "summary": f"event {ref.number}"}[name]
        if ref.label == "Entity":
            return dict(zip(("name", "type"), self.graph.entities[ref.number - 1], strict=True))[name]
        return {"name": self.graph.tags[ref.number - 1]}[name]

    def test(self, condition: Any, binding: Binding) -> bool | None:
        """True, false or null."""
        match condition:
            case ast.Not(condition=inner):
                verdict = self.test(inner, binding)
                return None if verdict is None else not verdict
            case ast.All(conditions=parts):
                verdicts = [self.test(part, binding) for part in parts]
                return False if False in verdicts else None if None in verdicts else True
            case ast.Either(conditions=parts):
                verdicts = [self.test(part, binding) for part in parts]
                return True if True in verdicts else None if None in verdicts else False
            case ast.Compare(op=op, left=left, right=right):
                a, b = self.evaluate(left, binding), self.evaluate(right, binding)
                if isinstance(right, ast.Param | ast.Constant):
                    b = given_for(a, b)
                if isinstance(left, ast.Param | ast.Constant):
                    a = given_for(b, a)
                return compare(op, a, b)
            case ast.Within(left=left, right=right):
                return within(self.evaluate(left, binding), self.value_of(right))
            case ast.Contains(left=left, right=right):
                piece = self.value_of(right)
                return None if piece is None else fold(piece) in fold(self.evaluate(left, binding))
        raise TypeError(condition)

    # RETURN

    def _returned(self, bindings: list[Binding]) -> list[Row]:
        items = [item.expression for item in self.query.items]
        if self.query.distinct or any(isinstance(item, ast.Aggregate) for item in items):
            return self._grouped(items, bindings)
        tail = self._ties(items)
        rows: list[Row] = []
        for binding in bindings:
            keys = [(sortable(self.evaluate(e, binding)), descending) for e, descending in self._order()]
            rows.append(Row([self.evaluate(item, binding) for item in items], [*keys, *((key, False) for key in tail(binding))]))
        return rows

    def _ties(self, items: list[Any]) -> Callable[[Binding], list[Any]]:
        """Start position, nodes in order of appearance, and of relations what is returned."""
        patterns = [node.variable for match in self.query.matches for chain in match.chains for node in chain.nodes]
        names = list(dict.fromkeys([self.query.start.variable, *(name for name in patterns if name)]))
        relations = {r.variable for match in self.query.matches for chain in match.chains for r in chain.relations}
        read = [item for item in items if isinstance(item, ast.Property) and item.variable in relations]
        # Which of several relations counts first is not promised.
        free = len({item.variable for item in read}) > 1

        def keys(binding: Binding) -> list[Any]:
            last = [("free",)] if free else [sortable(self.evaluate(item, binding)) for item in read]
            return [sortable(binding.position), *(sortable(binding.nodes[name]) for name in names), *last]

        return keys

    def _order(self) -> list[tuple[Any, bool]]:
        """ORDER BY with aliases put in."""
        aliases = {item.alias: item.expression for item in self.query.items if item.alias}
        found: list[tuple[Any, bool]] = []
        for sort in self.query.order:
            expression = sort.expression
            if isinstance(expression, ast.Variable):
                expression = aliases.get(expression.name, expression)
            if isinstance(expression, ast.Property) and isinstance(node := aliases.get(expression.variable), ast.Variable):
                expression = ast.Property(variable=node.name, name=expression.name, at=0)
            found.append((expression, sort.descending))
        return found

    def _grouped(self, items: list[Any], bindings: list[Binding]) -> list[Row]:
        plain = [item for item in items if not isinstance(item, ast.Aggregate)]
        groups: dict[Any, list[Binding]] = {}
        for binding in bindings:
            groups.setdefault(tuple(self.evaluate(item, binding) for item in plain), []).append(binding)
        told_apart([list(group) for group in groups])
        if not plain and not groups:
            groups[()] = []
        rows: list[Row] = []
        for group, members in groups.items():
            values = iter(group)
            cells = [self._aggregate(item, members) if isinstance(item, ast.Aggregate) else next(values) for item in items]
            keys = [(sortable(self._in_group(e, items, cells, members)), descending) for e, descending in self._order()]
            rows.append(Row(cells, [*keys, *((sortable(cell), False) for cell in cells)]))
        return rows

    def _in_group(self, expression: Any, items: list[Any], cells: list[Any], members: list[Binding]) -> Any:
        for item, cell in zip(items, cells, strict=True):
            if ast.printed(item) == ast.printed(expression):
                return cell
        return self.evaluate(expression, members[0])

    def _aggregate(self, item: ast.Aggregate, members: list[Binding]) -> Any:
        if item.argument is None:
            return len(members)
        values = [v for v in (self.evaluate(item.argument, binding) for binding in members) if v is not None]
        if item.distinct:
            values = list(dict.fromkeys(values))
            told_apart([[value] for value in values])
        match item.function:
            case "count":
                return len(values)
            case "sum":
                return total(values) if values else Measured(0)
            case "avg":
                return Measured(sum(values) / len(values)) if values else None
        ranked = sorted(values, key=cmp_to_key(lambda x, y: compare_keys([(sortable(x), False)], [(sortable(y), False)])))
        if item.function == "collect":
            return tuple(ranked)
        return (ranked[0] if item.function == "min" else ranked[-1]) if ranked else None


def total(values: list[Any]) -> Any:
    return sum(values) if all(type(value) is int for value in values) else Measured(sum(values))


def told_apart(groups: list[list[Any]]) -> None:
    """Measured values that make groups have to be clearly equal or clearly not."""
    for place in range(len(groups[0]) if groups else 0):
        measured = sorted({group[place] for group in groups if isinstance(group[place], Measured)})
        if any(too_close(a, b) for a, b in pairwise(measured)):
            raise Unsure
