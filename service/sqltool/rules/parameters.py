"""Parameters are $1, $2, … without gaps, and each has a value."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from sqlglot import exp

from service.sqltool.parse import Question
from service.sqltool.rejection import SqlRejection

MOST_PARAMS: Final = 100


class Place(msgspec.Struct, frozen=True):
    """Where a parameter stands: its first character, and the one after its last."""

    start: int
    after: int


def find_parameters(question: Question) -> Mapping[Place, int]:
    """The number of each parameter by its place, in the text's order."""
    found: dict[Place, int] = {}
    for start, token in question.parameters.items():
        digits = question.text[start + 1 : token.end + 1]
        if not digits.isascii() or not digits.isdecimal() or not 1 <= int(digits) <= MOST_PARAMS:
            raise SqlRejection(
                f"${digits[:40]} is no parameter.", blocked_by="params", hint=f"Parameters are $1 to ${MOST_PARAMS}.", at=start
            )
        found[Place(start, token.end + 1)] = int(digits)
    return found


def check(question: Question, params: Sequence[Any]) -> None:
    """Raises `SqlRejection` when the parameters in the text and the values do not fit."""
    _check_places(question)
    used = set(find_parameters(question).values())
    if used != set(range(1, len(params) + 1)):
        names = ", ".join(f"${number}" for number in sorted(used)) or "no parameter"
        raise SqlRejection(
            f"The query names {names}; params holds {len(params)}.",
            blocked_by="params",
            hint="Give one value for each of $1, $2, …, in their order.",
        )


def _check_places(question: Question) -> None:
    """A parameter is a value: it is no alias, no table, and no part of a longer name."""
    for name in question.tree.find_all(exp.Identifier):
        start = name.meta.get("start")
        if start in question.parameters and not (isinstance(name.parent, exp.Column) and len(name.parent.parts) == 1):
            raise SqlRejection("A parameter stands where a name belongs.", blocked_by="params", hint="Parameters are values.", at=start)
