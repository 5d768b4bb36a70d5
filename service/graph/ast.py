"""The typed syntax of a graph query: what `parse` hands on and `plan` reads.

Every element keeps `at`, its offset in the text, so that a rejection can point at it.
"""

from typing import Literal

import msgspec

Scalar = str | int | float | bool | None
Direction = Literal["out", "in", "none"]
Comparison = Literal["=", "<>", "<", "<=", ">", ">="]


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """Anything with a place in the text."""

    at: int


class Param(Node, frozen=True):
    """`$name`."""

    name: str


class Constant(Node, frozen=True):
    """A literal."""

    value: Scalar


class Listing(Node, frozen=True):
    """A flat list literal; its items are literals or parameters."""

    items: tuple["Param | Constant", ...]


Value = Param | Constant | Listing


class Entry(Node, frozen=True):
    """`key: value` of a map or of START."""

    key: str
    value: Value


class Start(Node, frozen=True):
    """`START var = events(entries)`."""

    variable: str
    entries: tuple[Entry, ...]


class NodePattern(Node, frozen=True):
    """`(variable:Label {entries})`, each part optional."""

    variable: str | None
    label: str | None
    entries: tuple[Entry, ...]


class RelationPattern(Node, frozen=True):
    """`-[variable:TYPE*low..high {entries}]-` with its arrow as written; `low` is None without a star."""

    variable: str | None
    type: str
    low: int | None
    high: int | None
    entries: tuple[Entry, ...]
    direction: Direction


class Chain(Node, frozen=True):
    """Nodes with one relation between each two neighbours."""

    nodes: tuple[NodePattern, ...]
    relations: tuple[RelationPattern, ...]


class Variable(Node, frozen=True):
    """A name alone: a variable, or an alias in ORDER BY."""

    name: str


class Property(Node, frozen=True):
    """`variable.name`."""

    variable: str
    name: str


class Cos(Node, frozen=True):
    """`cos(left, right)` of two event variables."""

    left: str
    right: str


class Aggregate(Node, frozen=True):
    """`function([DISTINCT] argument)`; the argument is None in `count(*)`."""

    function: str
    argument: "Variable | Property | Cos | None"
    distinct: bool


Operand = Variable | Property | Cos | Aggregate | Param | Constant | Listing


class Compare(Node, frozen=True):
    """`left op right`."""

    op: Comparison
    left: Operand
    right: Operand


class Within(Node, frozen=True):
    """`left IN right`."""

    left: Operand
    right: Operand


class Contains(Node, frozen=True):
    """`left CONTAINS right`."""

    left: Operand
    right: Operand


class Not(Node, frozen=True):
    """`NOT condition`."""

    condition: "Condition"


class All(Node, frozen=True):
    """Conditions joined by AND."""

    conditions: tuple["Condition", ...]


class Either(Node, frozen=True):
    """Conditions joined by OR."""

    conditions: tuple["Condition", ...]


Condition = Compare | Within | Contains | Not | All | Either


class Match(Node, frozen=True):
    """One MATCH clause."""

    chains: tuple[Chain, ...]
    where: Condition | None


Expression = Variable | Property | Cos | Aggregate


class Item(Node, frozen=True):
    """One returned column."""

    expression: Expression
    alias: str | None


class Sort(Node, frozen=True):
    """One key of ORDER BY."""

    expression: Expression
    descending: bool


class Query(Node, frozen=True):
    """A whole query."""

    start: Start
    matches: tuple[Match, ...]
    distinct: bool
    items: tuple[Item, ...]
    order: tuple[Sort, ...]
    limit: Param | Constant | None


def printed(expression: Expression) -> str:
    """The canonical text of a returned expression: the name of a column without AS, and what makes two the same."""
    match expression:
        case Variable(name=name):
            return name
        case Property(variable=variable, name=name):
            return f"{variable}.{name}"
        case Cos(left=left, right=right):
            return f"cos({left}, {right})"
        case Aggregate(function=function, argument=argument, distinct=distinct):
            return f"{function}({'DISTINCT ' if distinct else ''}{'*' if argument is None else printed(argument)})"
