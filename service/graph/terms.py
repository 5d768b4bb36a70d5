"""What a plan is made of: terms (what a row can be asked for), tests (conditions over terms), hops, and the plan itself.

`plan` makes them, `compile` turns them into SQL. A variable is named by its column: `v0` for the start, `v1`, … in order of
appearance; the hops are numbered over the whole query.
"""

from typing import Literal

import msgspec

from service.graph.ast import Comparison, Constant, Entry, Listing, Param
from service.graph.relations.protocol import Kind, Label, Relation


class NodeTerm(msgspec.Struct, frozen=True):
    """A node, compared and sorted by its number."""

    column: str
    label: Label


class FieldTerm(msgspec.Struct, frozen=True):
    """A property of a node."""

    node: NodeTerm
    name: str
    kind: Kind


class EdgeTerm(msgspec.Struct, frozen=True):
    """A property of a relation; `ends` are the nodes it is read from where only the returned rows need it."""

    hop: int
    name: str
    kind: Kind
    ends: tuple[NodeTerm, NodeTerm] | None = None

    @property
    def column(self) -> str:
        """The column of the bindings that carries it."""
        return f"r{self.hop}_{self.name}"


class ScoreTerm(msgspec.Struct, frozen=True):
    """An event's cosine to the start text; null unless it is the start event."""

    node: NodeTerm
    kind: Kind = "float"


class CosTerm(msgspec.Struct, frozen=True):
    """The cosine of two events' head vectors."""

    left: NodeTerm
    right: NodeTerm
    kind: Kind = "float"


class AggregateTerm(msgspec.Struct, frozen=True):
    """An aggregate; the argument is None in `count(*)`."""

    function: str
    argument: "RowTerm | None"
    distinct: bool


RowTerm = NodeTerm | FieldTerm | EdgeTerm | ScoreTerm | CosTerm
Term = RowTerm | AggregateTerm
Given = Param | Constant
StartKind = Literal["text", "entity", "tag", "ids", "entity+text", "tag+text"]


class CompareTest(msgspec.Struct, frozen=True):
    """`left op right`; a term, if there is one, is on the left."""

    op: Comparison
    left: RowTerm | Given
    right: RowTerm | Given


class WithinTest(msgspec.Struct, frozen=True):
    """`left IN values`."""

    left: RowTerm | Given
    values: Param | Listing | Constant


class ContainsTest(msgspec.Struct, frozen=True):
    """`left CONTAINS piece` on the folded name."""

    left: FieldTerm
    piece: Given


class NotTest(msgspec.Struct, frozen=True):
    """Not."""

    test: "Test"


class AllTest(msgspec.Struct, frozen=True):
    """And."""

    tests: tuple["Test", ...]


class EitherTest(msgspec.Struct, frozen=True):
    """Or."""

    tests: tuple["Test", ...]


class ApartTest(msgspec.Struct, frozen=True):
    """Two nodes of one label differ: written by the user, or asked for by the uniqueness of edges."""

    left: str
    right: str


def apart(left: NodeTerm, right: NodeTerm) -> ApartTest:
    """The test that two nodes differ, the same whichever is named first."""
    first, second = sorted((left.column, right.column))
    return ApartTest(first, second)


Test = CompareTest | WithinTest | ContainsTest | NotTest | AllTest | EitherTest | ApartTest


class Hop(msgspec.Struct, frozen=True):
    """One relation to walk: from the bound `near` node to `far`, which is bound already (a filter) or new."""

    number: int
    match: int
    relation: Relation
    near: NodeTerm
    far: NodeTerm
    near_is_left: bool
    far_is_bound: bool
    low: int | None
    high: int | None
    entries: tuple[Entry, ...]
    wanted: tuple[EdgeTerm, ...]
    tests: tuple[Test, ...]


class MatchPlan(msgspec.Struct, frozen=True):
    """One MATCH clause: tests on what is bound before it, then its hops in the order they are walked."""

    tests: tuple[Test, ...]
    hops: tuple[Hop, ...]


class Column(msgspec.Struct, frozen=True):
    """A returned column."""

    name: str
    term: Term


class SortKey(msgspec.Struct, frozen=True):
    """A key of ORDER BY: the number of a returned column, or a term of the row."""

    column: int | None
    term: Term
    descending: bool


class StartPlan(msgspec.Struct, frozen=True):
    """The start: its kind, what it is asked with, and how many at most."""

    kind: StartKind
    name: Param | Constant | Listing | None
    text: Param | Constant | Listing | None
    ids: Param | Constant | Listing | None
    k: Param | Constant | Listing | None
    max_k: int


class Feature(msgspec.Struct, frozen=True):
    """A use of something that the switch `scoped match` turns off."""

    name: str
    at: int


class Plan(msgspec.Struct, frozen=True):
    """A checked query."""

    start: StartPlan
    named: tuple[NodeTerm, ...]
    matches: tuple[MatchPlan, ...]
    distinct: bool
    columns: tuple[Column, ...]
    order: tuple[SortKey, ...]
    limit: Param | Constant | None
    parameters: frozenset[str]
    arrows: tuple[str, ...]
    scoped: tuple[Feature, ...]
    contains: bool

    @property
    def aggregates(self) -> bool:
        """Whether rows are grouped."""
        return any(isinstance(column.term, AggregateTerm) for column in self.columns)

    @property
    def hops(self) -> tuple[Hop, ...]:
        """All hops in the order they are walked."""
        return tuple(hop for match in self.matches for hop in match.hops)


def row_terms(test: Test) -> list[RowTerm]:
    """The terms a test reads."""
    match test:
        case CompareTest(left=left, right=right):
            return [side for side in (left, right) if not isinstance(side, Param | Constant)]
        case WithinTest(left=left):
            return [] if isinstance(left, Param | Constant) else [left]
        case ContainsTest(left=left):
            return [left]
        case NotTest(test=inner):
            return row_terms(inner)
        case AllTest(tests=tests) | EitherTest(tests=tests):
            return [term for inner in tests for term in row_terms(inner)]
        case ApartTest(left=left, right=right):
            return [NodeTerm(left, "Event"), NodeTerm(right, "Event")]


def node_columns(term: Term) -> set[str]:
    """The node columns a term reads."""
    match term:
        case NodeTerm(column=column):
            return {column}
        case FieldTerm(node=node) | ScoreTerm(node=node):
            return {node.column}
        case CosTerm(left=left, right=right):
            return {left.column, right.column}
        case EdgeTerm():
            return set()
        case AggregateTerm(argument=argument):
            return set() if argument is None else node_columns(argument)
