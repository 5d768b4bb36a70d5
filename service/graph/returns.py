"""RETURN and ORDER BY checked.

In: the syntax and what is bound at the end. Out: returned columns and sort keys; raises `grammar` rejections.
"""

from collections.abc import Sequence

from service.graph.ast import Aggregate, Item, Property, Query, Sort, Variable, printed
from service.graph.bindings import Bindings, argument_kind
from service.graph.rejection import GraphRejection, grammar, nearest
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
    if isinstance(sort.expression, Variable) and not bindings.knows(sort.expression.name):
        raise _not_returned(sort.expression, query, bindings)
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
    if name is not None and not bindings.knows(name):
        return None
    text = printed(sort.expression)
    return next((number for number, item in enumerate(query.items) if printed(item.expression) == text), None)


def _not_returned(name: Variable, query: Query, bindings: Bindings) -> GraphRejection:
    """ORDER BY names what is neither a column nor bound: says which columns there are, and how one gets a name."""
    columns = [item.alias or printed(item.expression) for item in query.items]
    aliases = [item.alias for item in query.items if item.alias is not None]
    folded = name.name.casefold()
    # The name of a function or a property is most often meant as the column that has it.
    meant = next((item for item in query.items if _own_name(item) == folded), None)
    likely = meant.alias or printed(meant.expression) if meant else nearest(name.name, [*aliases, *bindings.nodes])
    if meant and meant.alias is None:
        hint = f"name the column, RETURN {likely} AS {name.name} … ORDER BY {name.name}, or write ORDER BY {likely}"
    elif likely:
        hint = f"did you mean {likely}? returned here: {', '.join(columns)}"
    else:
        example = f"count(*) AS {name.name} … ORDER BY {name.name}"
        hint = f"sort by what is returned here: {', '.join(columns)}; AS names a column, as in {example}"
    return grammar(f"ORDER BY: `{name.name}` is not bound, and no returned column has this name", name.at, hint, allowed_columns=columns)


def _own_name(item: Item) -> str | None:
    match item.expression:
        case Aggregate(function=own) | Property(name=own):
            return own
        case _:
            return None


def _belongs_to_a_column(term: Term, columns: Sequence[Column]) -> bool:
    nodes = {column.term.column for column in columns if isinstance(column.term, NodeTerm)}
    return isinstance(term, FieldTerm | ScoreTerm) and term.node.column in nodes


def _not_distinct(sort: Sort) -> GraphRejection:
    hint = f"return {printed(sort.expression)} too, or sort by a returned column or by a property of a returned node"
    return grammar("with DISTINCT ORDER BY uses what is returned", sort.at, hint)


def _check_order(term: Term, sort: Sort) -> None:
    if term.function == "collect" if isinstance(term, AggregateTerm) else argument_kind(term) == "list":
        raise grammar("a list has no order", sort.at, "sort by a count or another column")
