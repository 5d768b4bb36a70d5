"""Cosines of head vectors, as SQL over aliases of the current space's vector table."""

from sqlglot import exp

from service.graph.relations.protocol import cast, column


def heads(alias: str) -> exp.EQ:
    """Only the head vectors of events."""
    return column(alias, "kind").eq(exp.Literal.number(0))


def distance(left: str, right: str) -> exp.Operator:
    """The cosine distance, written with the operator that the vector index knows."""
    return exp.Operator(this=column(left, "vector"), operator=exp.var("<=>"), expression=column(right, "vector"))


def cosine(left: str, right: str) -> exp.Expr:
    """The cosine; null where a vector is missing or has no direction."""
    value = exp.Sub(this=cast(exp.Literal.number(1), "float8"), expression=exp.Paren(this=distance(left, right)))
    return exp.Nullif(this=exp.Paren(this=value), expression=cast(exp.Literal.string("NaN"), "float8"))
