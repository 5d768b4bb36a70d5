"""RETURN and ORDER BY checked.

In: the syntax and what is bound at the end. Out: returned columns and sort keys; raises `grammar` rejections.
"""

from collections.abc import Sequence

from service.graph.ast import Item, Query, Sort, Variable, printed
from service.graph.bindings import Bindings, argument_kind
from service.graph.rejection import GraphRejection, grammar
from service.graph.terms import AggregateTerm, Column, FieldTerm, NodeTerm, ScoreTerm, SortKey, Term


def columns_of(items: Sequence[Item], bindings: Bindings) -> tuple[Column, ...]:
    """The returned columns by name; two of one name may stand, two equal aliases may not."""
    aliases: set[str] = set()
    columns: list[Column] = []
    for item in items:
        if item.alias is not None:
            if item.alias in aliases:
                raise grammar(f"the alias {item.alias} is given twice", item.at, "give each column an alias of its own")
            aliases.add(item.alias)
        columns.append(Column(item.alias or printed(item.expression), bindings.term(item.expression)))
    return tuple(columns)


def order_of(query: Query, columns: Sequence[Column], bindings: Bindings) -> tuple[SortKey, ...]:
    """The keys of ORDER BY: returned columns, or terms of the row where the rows are not grouped."""
    aliased = {c.name: c.term for c, item in zip(columns, query.items, strict=True) if item.alias and isinstance(c.term, NodeTerm)}
    # A returned node can be asked for its properties by its alias too.
    seen = Bindings(nodes={**bindings.nodes, **aliased}, edges=bindings.edges)
    return tuple(_key(sort, query, columns, seen) for sort in query.order)


def _key(sort: Sort, query: Query, columns: Sequence[Column], bindings: Bindings) -> SortKey:
    number = _returned(sort, query, columns, bindings)
    if number is not None:
        term = columns[number].term
        _check_order(term, sort)
        return SortKey(number, term, sort.descending)
    term = bindings.term(sort.expression)
    if isinstance(term, FieldTerm) and term.name == "summary":
        raise grammar("summary is sorted by only where it is returned", sort.at, "return it too, or sort by timestamp or order_index")
    if any(isinstance(column.term, AggregateTerm) for column in columns) or isinstance(term, AggregateTerm):
        hint = f"return {printed(sort.expression)} too, or sort by a column"
        raise grammar("with aggregates ORDER BY uses a returned column", sort.at, hint)
    if query.distinct and not _belongs_to_a_column(term, columns):
        raise _not_distinct(sort)
    _check_order(term, sort)
    return SortKey(None, term, sort.descending)


def _returned(sort: Sort, query: Query, columns: Sequence[Column], bindings: Bindings) -> int | None:
    name = sort.expression.name if isinstance(sort.expression, Variable) else None
    for number, item in enumerate(query.items):
        if name is not None and item.alias == name:
            return number
    # Only now the same expression: an alias hides a variable of its name.
    known = name is None or name in bindings.nodes or name in bindings.edges
    if not known:
        return None
    text = printed(sort.expression)
    return next((number for number, item in enumerate(query.items) if printed(item.expression) == text), None)


def _belongs_to_a_column(term: Term, columns: Sequence[Column]) -> bool:
    nodes = {column.term.column for column in columns if isinstance(column.term, NodeTerm)}
    return isinstance(term, FieldTerm | ScoreTerm) and term.node.column in nodes


def _not_distinct(sort: Sort) -> GraphRejection:
    hint = f"return {printed(sort.expression)} too, or sort by a returned column or by a property of a returned node"
    return grammar("with DISTINCT ORDER BY uses what is returned", sort.at, hint)


def _check_order(term: Term, sort: Sort) -> None:
    if term.function == "collect" if isinstance(term, AggregateTerm) else argument_kind(term) == "list":
        raise grammar("a list has no order", sort.at, "sort by a count or another column")
