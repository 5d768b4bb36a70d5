"""The parameters of one SQL statement: each given value once, in the order of their numbers.

In: what is to be bound. Out: `$n` with its type written out, so that Postgres infers nothing; `slots` in order.
"""

import msgspec
from sqlglot import exp

from service.graph.relations.protocol import cast
from service.graph.values import Equals, Fitting, Found, Members, Ordered, Piece, Verdict


class Runtime(msgspec.Struct, frozen=True):
    """Something that only the run knows: `budget`, `rows`, `exact` (measure every vector), `others` (how many a vector can be
    compared with, at least), or a column of the bindings."""

    name: str


Given = Equals | Fitting | Found | Members | Ordered | Piece | Verdict
Slot = Given | Runtime


def place(slot: Given) -> int:
    """Where in the text the given value stands."""
    return slot.left.at if isinstance(slot, Found | Verdict) else slot.given.at


class Slots:
    """The parameters asked for so far."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Slot, str], int] = {}

    def place(self, slot: Slot, sql_type: str) -> exp.Expr:
        """The SQL of a bound value."""
        number = self._numbers.setdefault((slot, sql_type), len(self._numbers) + 1)
        return cast(exp.Parameter(this=exp.Literal.number(number)), sql_type)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """All slots by number."""
        return tuple(slot for slot, _ in self._numbers)


class Statement(msgspec.Struct, frozen=True):
    """SQL text and what its parameters are bound to."""

    sql: str
    slots: tuple[Slot, ...]


def written(select: exp.Expr, slots: Slots, *, vectors: bool) -> Statement:
    """The statement of a tree; without `vectors` the project has no embedding space, and an empty table stands in."""
    tree = select if vectors else select.transform(_without_vectors)
    return Statement(sql=tree.sql(dialect="postgres", copy=False), slots=slots.slots)


def _without_vectors(node: exp.Expr) -> exp.Expr:
    if not (isinstance(node, exp.Table) and node.name == "vector_0"):
        return node
    nothing = exp.select(
        exp.cast(exp.null(), "bigint").as_("owner_id"),
        exp.cast(exp.null(), "smallint").as_("kind"),
        exp.cast(exp.null(), exp.DataType.build("halfvec", dialect="postgres", udt=True)).as_("vector"),
    ).where(exp.false(), copy=False)
    return nothing.subquery(node.alias, copy=False)
