"""A column behind an alias is one that stands there: for any other name Postgres calls the function of that name on the row.

So `q.ts_stat` with a row that is a text would run SQL text, whatever the calls in the query are held to.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from sqlglot import exp

from service.sqltool.instead import instead_of_column
from service.sqltool.parse import Question
from service.sqltool.rejection import SqlRejection, suggestion
from service.sqltool.rules.allowed_functions import FUNCTIONS
from service.sqltool.rules.names import folded
from service.sqltool.rules.place import place
from service.sqltool.views import VIEWS

_OF_VIEWS: Final = {name: frozenset(column.name for column in columns) for name, columns in VIEWS.items()}
OF_ANY_VIEW: Final = frozenset().union(*_OF_VIEWS.values())
_OF_FUNCTIONS: Final = frozenset(("key", "value", "ordinality"))
# What Postgres calls a column that is given no name: after the function that makes it, which is an allowed one, or the kind of expression.
_KINDS: Final = (
    "?column? array bool bpchar case current_date current_time current_timestamp date exists float8 int4 int8 interval json jsonb "
    "localtime localtimestamp numeric row text timestamp timestamptz varchar"
)
_UNNAMED: Final = FUNCTIONS | frozenset(_KINDS.split(" "))
_OF_VALUES: Final = re.compile(r"column[0-9]{1,4}")


class Source(msgspec.Struct, frozen=True):
    """What an alias stands for: a view's columns, those that a function's values are given, or (None) any that the query names."""

    columns: frozenset[str] | None
    of_function: bool = False


def check(question: Question) -> None:
    """Raises `SqlRejection` for a name behind an alias that no row of that alias has."""
    sources = _sources(question.tree)
    named = OF_ANY_VIEW | _UNNAMED
    if not _has_nameless(question.tree):
        named |= _named(question.tree)
    for column in question.tree.find_all(exp.Column):
        behind = column.args.get("table")
        if behind is None or not isinstance(column.this, exp.Identifier):
            continue
        alias, name = folded(behind), folded(column.this)
        if alias in FUNCTIONS or alias not in sources:  # a function without an alias goes by its own name
            raise SqlRejection(
                f"No view or query of FROM is called {alias[:80]}.",
                blocked_by="name",
                hint="Give it an alias that is the name of no function; functions in FROM need one with columns: AS q (x).",
                at=place(column),
            )
        known = _known(sources[alias], named)
        of_values = known is named and _OF_VALUES.fullmatch(name)
        if name.startswith("pg_") or not (name in known or of_values):
            hint = instead_of_column(name) or suggestion(name, known, "A function in FROM needs columns, AS q (x), to be asked for q.x.")
            raise SqlRejection(f"{alias[:80]} has no column {name[:80]}.", blocked_by="name", hint=hint, at=place(column))


def _known(sources: Sequence[Source], named: frozenset[str]) -> frozenset[str]:
    """The columns behind an alias, wherever in the query it is given: a function's values may be anything, so that those of all functions
    of that alias have to agree; on rows of views and queries no function runs text."""
    functions = [source.columns or frozenset() for source in sources if source.of_function]
    if functions:
        return frozenset.intersection(*functions)
    rows = [named if source.columns is None else source.columns for source in sources]
    return named if any(each is named for each in rows) else frozenset().union(*rows)


def _sources(tree: exp.Expr) -> dict[str, list[Source]]:
    """What each alias stands for, wherever in the query."""
    found: dict[str, list[Source]] = {}
    queries = {folded(cte.args["alias"].this) for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and table.args.get("alias") is None:
            found.setdefault(folded(table.this), []).append(_of_view(table, queries))
    for alias in tree.find_all(exp.TableAlias):
        if isinstance(alias.this, exp.Identifier):
            found.setdefault(folded(alias.this), []).append(_source(alias, queries))
    return found


def _has_nameless(tree: exp.Expr) -> bool:
    """Whether a function in FROM has no alias: Postgres makes one of it, so that no name given elsewhere can be trusted to be of rows."""
    return any(
        source.args.get("alias") is None and not has_rows(source)
        for source in tree.find_all(exp.Table, exp.Unnest, exp.Lateral)
        if not isinstance(source.parent, exp.Lateral)
    )


def _source(alias: exp.TableAlias, queries: set[str]) -> Source:
    if not has_rows(alias.parent):
        return Source(frozenset(_columns(alias)) | _OF_FUNCTIONS, of_function=True)
    if isinstance(alias.parent, exp.Table) and not alias.args.get("columns"):
        return _of_view(alias.parent, queries)
    return Source(None)


def _of_view(table: exp.Table, queries: set[str]) -> Source:
    name = folded(table.this)
    return Source(None if name in queries else _OF_VIEWS.get(name))


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
