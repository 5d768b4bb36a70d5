"""A column behind an alias is one that stands there: for any other name Postgres calls the function of that name on the row.

So `q.ts_stat` with a row that is a text would run SQL text, whatever the calls in the query are held to.
"""

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from service.sqltool.parse import Question
from service.sqltool.rejection import SqlRejection, suggestion
from service.sqltool.rules.allowed_functions import FUNCTIONS
from service.sqltool.rules.names import folded
from service.sqltool.rules.place import place
from service.sqltool.views import VIEWS

_OF_VIEWS: Final = frozenset(column.name for columns in VIEWS.values() for column in columns)
_OF_FUNCTIONS: Final = frozenset(("key", "value", "ordinality"))
# What Postgres calls a column that is given no name: after the function that makes it, which is an allowed one, or the kind of expression.
_UNNAMED: Final = FUNCTIONS | {
    "array",
    "bool",
    "case",
    "exists",
    "float8",
    "int4",
    "int8",
    "interval",
    "numeric",
    "row",
    "text",
    "timestamptz",
}


def check(question: Question) -> None:
    """Raises `SqlRejection` for a name behind an alias that no row of that alias has."""
    sources = _sources(question.tree)
    named = _OF_VIEWS | _UNNAMED | _named(question.tree)
    for column in question.tree.find_all(exp.Column):
        behind = column.args.get("table")
        if behind is None or not isinstance(column.this, exp.Identifier):
            continue
        alias, name = folded(behind), folded(column.this)
        if alias not in sources:
            raise SqlRejection(
                f"No table of the query is called {alias[:80]}.",
                blocked_by="name",
                hint="Give functions in FROM an alias.",
                at=place(column),
            )
        known = named if sources[alias] is None else sources[alias] or frozenset()
        if name not in known or name.startswith("pg_"):
            hint = suggestion(name, known, "Give the columns of a function in FROM names: AS q (x), and ask for q.x.")
            raise SqlRejection(f"{alias[:80]} has no column {name[:80]}.", blocked_by="name", hint=hint, at=place(column))


def _sources(tree: exp.Expr) -> dict[str, frozenset[str] | None]:
    """What each alias stands for, wherever in the query: rows with columns (None), or a function's values with the names that they have.

    An alias that stands for both counts as the function, whose values may be anything.
    """
    found: dict[str, frozenset[str] | None] = {}
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier):
            found.setdefault(folded(table.this), None)
    for alias in tree.find_all(exp.TableAlias):
        if isinstance(alias.this, exp.Identifier):
            name = folded(alias.this)
            if has_rows(alias.parent):
                found.setdefault(name, None)
            else:
                columns = frozenset(_columns(alias)) | {name} | _OF_FUNCTIONS
                known = found.get(name)
                found[name] = columns if known is None else known & columns
    return found


def has_rows(source: exp.Expr | None) -> bool:
    """Whether it is a view or a query, and no function."""
    if isinstance(source, exp.Lateral):
        return isinstance(source.this, exp.Subquery)
    if isinstance(source, exp.Table):
        return isinstance(source.this, exp.Identifier)
    return isinstance(source, exp.CTE | exp.Subquery | exp.Values)


def _columns(alias: exp.TableAlias) -> Iterator[str]:
    for column in alias.args.get("columns") or ():
        named = column.find(exp.Identifier)
        if named is not None:
            yield folded(named)
    offset = alias.parent.args.get("offset") if alias.parent is not None else None
    if isinstance(offset, exp.Identifier):
        yield folded(offset)


def _named(tree: exp.Expr) -> frozenset[str]:
    """Every name that the query gives to a column."""
    names: set[str] = set()
    for alias in tree.find_all(exp.Alias):
        if isinstance(alias.args.get("alias"), exp.Identifier):
            names.add(folded(alias.args["alias"]))
    for table in tree.find_all(exp.TableAlias):
        names.update(_columns(table))
    return frozenset(names)
