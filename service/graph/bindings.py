"""Which names stand for what at a place in the query, and what an expression there means.

In: names bound so far, an expression of the syntax. Out: its term; raises `grammar` rejections for unknown names and properties.
"""

from collections.abc import Mapping

import msgspec

from service.graph.ast import Aggregate, Cos, Expression, Property, Variable
from service.graph.rejection import GraphRejection, grammar, nearest, suggestion
from service.graph.relations.protocol import Kind, Label, Relation
from service.graph.terms import AggregateTerm, CosTerm, EdgeTerm, FieldTerm, NodeTerm, RowTerm, ScoreTerm, Term

PROPERTIES: Mapping[Label, Mapping[str, Kind]] = {
    "Event": {"id": "id", "timestamp": "time", "order_index": "integer", "score": "float", "summary": "text"},
    "Entity": {"id": "id", "name": "text", "type": "text"},
    "Tag": {"id": "id", "name": "text"},
}
_BY_ID = "get_memory_content gives it by id, query_memories_with_sql filters by it"
_ELSEWHERE = {
    **dict.fromkeys(("kind", "session", "author", "content", "text", "created_at"), _BY_ID),
    **dict.fromkeys(("entity", "entities"), "entities are nodes: MATCH (a)-[:PARTICIPATED_IN]-(e)"),
    **dict.fromkeys(("tag", "tags"), "tags are nodes: MATCH (a)-[:MEMBER_OF]->(t)"),
}


class Bindings(msgspec.Struct, frozen=True):
    """The bound nodes by variable, and the walked relations with the numbers of their hops by variable."""

    nodes: Mapping[str, NodeTerm]
    edges: Mapping[str, tuple[int, Relation]]

    def knows(self, name: str) -> bool:
        """Whether a variable of this name is bound."""
        return name in self.nodes or name in self.edges

    def term(self, expression: Expression) -> Term:
        """What the expression stands for."""
        match expression:
            case Aggregate():
                return self.aggregate(expression)
            case _:
                return self.row_term(expression)

    def row_term(self, expression: Expression) -> RowTerm:
        """What an expression without aggregates stands for."""
        match expression:
            case Variable(name=name, at=at):
                if name in self.edges:
                    keys = list(self.edges[name][1].properties)
                    example = f"use its properties, such as {name}.{keys[0]}" if keys else "it has no properties; return the nodes"
                    raise grammar(f"the relation variable `{name}` is no value", at, example, allowed_properties=keys)
                return self.node(name, at)
            case Property(variable=variable, name=name, at=at):
                return self._property(variable, name, at)
            case Cos(left=left, right=right, at=at):
                return CosTerm(self._event(left, at), self._event(right, at))
            case Aggregate(at=at):
                raise grammar(
                    "an aggregate stands only in RETURN and ORDER BY",
                    at,
                    "return it, and compare the rows yourself; query_memories_with_sql has HAVING",
                )

    def node(self, name: str, at: int) -> NodeTerm:
        """The node a variable stands for."""
        if name not in self.nodes:
            raise self._unknown(name, at)
        return self.nodes[name]

    def aggregate(self, expression: Aggregate) -> AggregateTerm:
        """The aggregate over a term, if the function takes values of its kind."""
        function, at = expression.function, expression.at
        if expression.argument is None:
            return AggregateTerm(function, None, expression.distinct)
        argument = self.row_term(expression.argument)
        if isinstance(argument, NodeTerm):
            if function not in ("count", "collect"):
                example = "order_index" if function in ("sum", "avg") else "timestamp"
                raise grammar(f"{function} of a node is not part of the subset", at, f"take a property, such as {function}(x.{example})")
        elif argument_kind(argument) == "list" and function != "count":
            raise grammar(f"{function} of a list is not part of the subset", at, "count it, or return it without an aggregate")
        elif function in ("sum", "avg") and argument_kind(argument) not in ("integer", "float"):
            raise grammar(f"{function} takes numbers", at, "use count, min, max or collect, or a property that is a number")
        return AggregateTerm(function, argument, expression.distinct)

    def _event(self, name: str, at: int) -> NodeTerm:
        node = self.node(name, at)
        if node.label != "Event":
            raise grammar(f"cos takes two events, but `{name}` is {node.label}", at, "write cos(a, b) with two event variables")
        return node

    def _property(self, variable: str, name: str, at: int) -> RowTerm:
        if variable in self.edges:
            hop, relation = self.edges[variable]
            if name not in relation.properties:
                raise _no_property(name, relation.name, list(relation.properties), at)
            return EdgeTerm(hop, name, relation.properties[name])
        node = self.node(variable, at)
        properties = PROPERTIES[node.label]
        if name not in properties:
            raise _no_property(name, node.label, list(properties), at)
        if name == "score":
            return ScoreTerm(node)
        return FieldTerm(node, name, properties[name])

    def _unknown(self, name: str, at: int) -> GraphRejection:
        known = [*self.nodes, *self.edges]
        likely = nearest(name, known)
        hint = f"did you mean {likely}?" if likely else f"bound here: {', '.join(known)}"
        return grammar(f"`{name}` is not bound", at, hint)


def _no_property(name: str, owner: str, allowed: list[str], at: int) -> GraphRejection:
    otherwise = f"{owner} has {', '.join(allowed)}" if allowed else f"{owner} has no properties"
    elsewhere = _ELSEWHERE.get(name) if owner == "Event" else None
    hint = f"{otherwise}; {elsewhere}" if elsewhere else suggestion(name, allowed, otherwise)
    return grammar(f"{owner} has no property {name}", at, hint, allowed_properties=allowed)


def argument_kind(term: RowTerm) -> Kind:
    """The kind of a term; nodes count as ids."""
    return "id" if isinstance(term, NodeTerm) else term.kind
