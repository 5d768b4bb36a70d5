"""The checker: whether a text may run at all.

In: the text and its parameters. Out: `Question`; raises `SqlRejection`, which says what was refused, where, and what is allowed. No I/O.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from service.sqltool.parse import Question, parse
from service.sqltool.rejection import SqlRejection
from service.sqltool.rules import columns, constructs, effort, functions, names, parameters, statement, tables, types

_RULES: Final[tuple[Callable[[Question], None], ...]] = (
    statement.check,
    functions.check,
    names.check,
    types.check,
    constructs.check,
    tables.check,
    columns.check,
)


def check(text: str, params: Sequence[Any] = ()) -> Question:
    """Reads one query and holds it against every rule."""
    try:
        question = parse(text)
        for rule in _RULES:
            rule(question)
        parameters.check(question, params)
        effort.check(question, params)
    except SqlRejection as refusal:
        raise refusal.located(text) from refusal
    return question
