"""What a relation is: its ends, arrow, parameters, readable properties, and the SQL that walks it.

Each relation is one file that makes one object of this shape; `registry` lists them.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal, Protocol

import msgspec
from sqlglot import exp

Label = Literal["Event", "Entity", "Tag"]
Kind = Literal["id", "text", "integer", "float", "time", "list"]
Arrow = Literal["free", "required", "inferred"]


class Whole(msgspec.Struct, frozen=True):
    """A parameter that is an integer in a range."""

    low: int
    high: int | None = None


class Fraction(msgspec.Struct, frozen=True):
    """A parameter that is a number in a range."""

    low: float
    high: float = 1e308


class Choice(msgspec.Struct, frozen=True):
    """A parameter that is one word, or with `many` a list of words, of a fixed set; `listed` names the `allowed_*` member."""

    options: tuple[str, ...]
    listed: str
    many: bool = False


Rule = Whole | Fraction | Choice


class Step(msgspec.Struct, frozen=True):
    """What a relation needs to write its SQL.

    `near` is the bound end's number and `far` the other's, where that is bound too. `given(key, sql_type)` is the bound value of
    a written parameter, None where it was left out. `wanted` are the properties that the query reads. `exact` is a boolean: whether
    every head vector is measured, rather than those that the vector index finds.
    """

    near: exp.Expr
    near_is_left: bool
    far: exp.Expr | None
    wanted: frozenset[str]
    low: int | None
    high: int | None
    given: Callable[[str, str], exp.Expr | None]
    exact: exp.Expr


class Relation(Protocol):
    """A relation of the graph."""

    @property
    def name(self) -> str:
        """As written in a query."""
        ...

    @property
    def left(self) -> Label:
        """The label of the end that the arrow leaves."""
        ...

    @property
    def right(self) -> Label:
        """The label of the end that the arrow points at."""
        ...

    @property
    def arrow(self) -> Arrow:
        """Whether an arrow changes nothing, is required, or is inferred from the labels when missing."""
        ...

    @property
    def parameters(self) -> Mapping[str, Rule]:
        """The keys its map takes."""
        ...

    @property
    def properties(self) -> Mapping[str, Kind]:
        """What its variable can be asked for."""
        ...

    @property
    def starred(self) -> bool:
        """Whether it takes a variable length."""
        ...

    @property
    def needs_both(self) -> bool:
        """Whether both of its ends have to be bound elsewhere."""
        ...

    @property
    def nearest(self) -> bool:
        """Whether it takes the k nearest of the end that is bound first, so that its edges are found before anything is asked of them."""
        ...

    @property
    def parallel(self) -> str | None:
        """The property that tells several edges of one pair of ends apart; None where a pair has at most one edge."""
        ...

    @property
    def late(self) -> frozenset[str]:
        """The properties of a single edge that are better read for the returned rows alone, by `between`."""
        ...

    def between(self, name: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        """A late property of the edge between two nodes."""
        ...

    def walk(self, step: Step) -> exp.Select:
        """The edges at `step.near`: a SELECT of `far` (bigint) and of each wanted property by its name."""
        ...


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What most relations say about themselves; a relation adds `walk`."""

    name: str
    left: Label
    right: Label
    arrow: Arrow = "free"
    parameters: Mapping[str, Rule] = {}
    properties: Mapping[str, Kind] = {}
    starred: bool = False
    needs_both: bool = False
    nearest: bool = False
    parallel: str | None = None
    late: frozenset[str] = frozenset()

    def between(self, name: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        """Only relations with late properties have it."""
        raise NotImplementedError(f"{self.name} has no late property {name} of {left} and {right}")


def table(name: str, alias: str) -> exp.Table:
    """A table of the project; the transaction puts its schema in."""
    named = exp.TableAlias(this=exp.to_identifier(alias))
    return exp.Table(this=exp.to_identifier(name), db=exp.to_identifier("m_0"), alias=named)


def column(alias: str, name: str) -> exp.Column:
    """A column, quoted: `timestamp` is a type's name too."""
    return exp.column(exp.to_identifier(name, quoted=name == "timestamp"), table=alias)


@cache
def _type(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="postgres")


def cast(value: exp.Expr, sql_type: str) -> exp.Cast:
    """`value` as a type, whose name is read once: reading it costs more than all else of a cast."""
    return exp.Cast(this=value, to=_type(sql_type).copy())


def among(value: exp.Expr, listed: exp.Expr) -> exp.EQ:
    """`value = ANY(listed)`."""
    return exp.EQ(this=value, expression=exp.Any(this=exp.Paren(this=listed)))
