"""Casts go to plain types: none that looks things up in the catalogue (reg*), none that is a row of a table."""

from typing import Final

from sqlglot import exp

from service.sqltool.parse import Question
from service.sqltool.rejection import SqlRejection, suggestion
from service.sqltool.rules.names import folded
from service.sqltool.rules.place import place

TYPES: Final = (
    "text", "varchar", "char", "smallint", "integer", "bigint", "numeric", "real", "double precision", "boolean", "date", "time",
    "timestamp", "timestamptz", "interval", "uuid", "json", "jsonb", "jsonpath", "tsvector", "tsquery",
)  # fmt: skip
_KIND_NAMES: Final = """
    TEXT VARCHAR CHAR BPCHAR SMALLINT INT BIGINT DECIMAL FLOAT DOUBLE BOOLEAN DATE TIME TIMETZ TIMESTAMP TIMESTAMPTZ UUID JSON JSONB
    ARRAY INTERVAL
"""
_KINDS: Final = frozenset(getattr(exp.DType, name) for name in _KIND_NAMES.split())
_NAMED: Final = frozenset(("tsvector", "tsquery", "jsonpath"))


def check(question: Question) -> None:
    """Raises `SqlRejection` for a type that is not listed."""
    for kind in question.tree.find_all(exp.DataType, exp.ObjectIdentifier, exp.PseudoType):
        if not _is_listed(kind):
            name = kind.sql(dialect="postgres")[:80]
            raise SqlRejection(
                f"The type {name} is not among those that a query may name.",
                blocked_by="type",
                hint=suggestion(name, TYPES, "Use one of allowed_types."),
                at=place(kind.parent),
                allowed_types=list(TYPES),
            )


def _is_listed(kind: exp.Expr) -> bool:
    if not isinstance(kind, exp.DataType):
        return False
    if kind.this == exp.DType.USERDEFINED:
        name = kind.args.get("kind")
        return isinstance(name, exp.Identifier) and folded(name) in _NAMED
    return kind.this in _KINDS or isinstance(kind.this, exp.Interval | exp.IntervalSpan)
