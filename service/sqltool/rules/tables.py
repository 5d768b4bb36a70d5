"""Whatever a query reads from is one of the views, or a WITH query that stands in scope there."""

from collections.abc import Iterator

from sqlglot import exp

from service.sqltool.parse import Question
from service.sqltool.rejection import SqlRejection, suggestion
from service.sqltool.rules.names import folded
from service.sqltool.rules.place import place
from service.sqltool.views import VIEWS


def check(question: Question) -> None:
    """Raises `SqlRejection` for a table that is none of the views."""
    for table in question.tree.find_all(exp.Table):
        if table.args.get("db") or table.args.get("catalog"):
            raise SqlRejection(
                "A table is named with a schema.",
                blocked_by="table",
                hint="Name the view alone.",
                at=place(table),
                allowed_tables=list(VIEWS),
            )
        if not isinstance(table.this, exp.Identifier):
            continue  # a function: its name is checked as one
        name = folded(table.this)
        if name not in VIEWS and name not in _in_scope(table):
            raise SqlRejection(
                f"There is no view {name[:80]!r}.",
                blocked_by="table",
                hint=suggestion(name, VIEWS, "Read from the views that are listed in allowed_tables."),
                at=place(table),
                allowed_tables=list(VIEWS),
            )


def _in_scope(table: exp.Table) -> frozenset[str]:
    """The names of the WITH queries that Postgres would find from here."""
    return frozenset(folded(cte.args["alias"].this) for cte in _visible(table))


def _visible(table: exp.Table) -> Iterator[exp.Expr]:
    inner: exp.Expr = table
    outer = table.parent
    while outer is not None:
        if isinstance(outer, exp.With):
            siblings: list[exp.Expr] = outer.expressions
            yield from siblings if outer.args.get("recursive") else siblings[: siblings.index(inner)]
        elif (clause := outer.args.get("with_")) is not None and clause is not inner:
            yield from clause.expressions
        inner, outer = outer, outer.parent
