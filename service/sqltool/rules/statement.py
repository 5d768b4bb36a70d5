"""The query is one SELECT, VALUES, or a combination of them; WITH may stand before it."""

from sqlglot import exp

from service.sqltool.parse import Question
from service.sqltool.rejection import SqlRejection

_ROOTS = (exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Values, exp.Subquery)


def check(question: Question) -> None:
    """Raises `SqlRejection` for another kind of statement."""
    if type(question.tree) not in _ROOTS:
        raise SqlRejection(
            f"{question.tree.key.upper()} is no query that reads.",
            blocked_by="statement",
            hint="Send one query: SELECT, WITH … SELECT, or VALUES.",
        )
