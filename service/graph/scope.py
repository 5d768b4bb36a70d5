"""Where the terms of a row stand in one SELECT, and what the SELECT has to join for them.

In: the SQL columns that carry the bindings. Out: for each term its SQL; `joined` adds the tables that the terms asked for.
"""

from sqlglot import exp

from service.graph.relations.protocol import Label, column, table
from service.graph.relations.vectors import cosine, heads
from service.graph.terms import CosTerm, EdgeTerm, FieldTerm, NodeTerm, RowTerm, ScoreTerm

TABLES: dict[Label, str] = {"Event": "event", "Entity": "entity", "Tag": "tag"}
_COLUMNS: dict[tuple[Label, str], str] = {("Event", "order_index"): "id", ("Tag", "name"): "path"}


def of_null() -> exp.Expr:
    """A null of the type of scores."""
    return exp.cast(exp.null(), "float8")


class Scope:
    """The bindings' columns by name, and the joins asked for so far."""

    def __init__(self, places: dict[str, exp.Expr]) -> None:
        self.places = places
        self._nodes: dict[str, Label] = {}
        self._heads: dict[str, None] = {}

    def term(self, term: RowTerm) -> exp.Expr:
        """The SQL of a term."""
        match term:
            case NodeTerm(column=name):
                return self.places[name].copy()
            case FieldTerm(node=node, name=name):
                return self.field(node, name)
            case EdgeTerm():
                return self.places[term.column].copy()
            case ScoreTerm(node=node):
                return self.places["score"].copy() if node.column == "v0" else of_null()
            case CosTerm(left=left, right=right):
                self._heads |= {left.column: None, right.column: None}
                return cosine(f"h_{left.column}", f"h_{right.column}")

    def field(self, node: NodeTerm, name: str) -> exp.Expr:
        """A node's property; its number needs no join."""
        stored = _COLUMNS.get((node.label, name), name)
        if stored == "id":
            return self.places[node.column].copy()
        self._nodes[node.column] = node.label
        return column(f"n_{node.column}", stored)

    def joined(self, select: exp.Select) -> exp.Select:
        """`select` with the tables that the terms asked for."""
        for name, label in self._nodes.items():
            alias = f"n_{name}"
            select = select.join(table(TABLES[label], alias), on=column(alias, "id").eq(self.places[name].copy()), copy=False)
        for name in self._heads:
            alias = f"h_{name}"
            on = exp.and_(column(alias, "owner_id").eq(self.places[name].copy()), heads(alias))
            select = select.join(table("vector_0", alias), on=on, join_type="left", copy=False)
        return select
