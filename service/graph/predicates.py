"""Tests as SQL with Cypher's three values.

In: a test, the scope of the SELECT it stands in, the statement's slots. Out: a boolean expression; never a coercion of text, and
equality always as `= ANY(array)`, so that a value of another type is simply not in the array.
"""

from sqlglot import exp

from service.graph.ast import Comparison, Constant, Param
from service.graph.bindings import argument_kind
from service.graph.relations.protocol import Kind, Label, among, column, table
from service.graph.scope import TABLES, Scope
from service.graph.slots import Slots
from service.graph.terms import (
    AllTest,
    ApartTest,
    CompareTest,
    ContainsTest,
    EitherTest,
    FieldTerm,
    NodeTerm,
    NotTest,
    RowTerm,
    Test,
    WithinTest,
)
from service.graph.values import ARRAYS, Equals, Found, Members, Ordered, Piece, Verdict

_OPERATORS: dict[Comparison, type[exp.Binary]] = {"=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}
_NUMBERS: tuple[Kind, ...] = ("integer", "float")


def by_code_point(text: exp.Expr) -> exp.Expr:
    """Text that compares and sorts by code point, whatever the database's collation."""
    return exp.Collate(this=text, expression=exp.to_identifier("C", quoted=True))


def predicate(test: Test, scope: Scope, slots: Slots) -> exp.Expr:
    """The SQL of a test."""
    match test:
        case CompareTest():
            return _compare(test, scope, slots)
        case WithinTest(left=left, values=values):
            if isinstance(left, Param | Constant):
                return slots.place(Found(left, values), "boolean")
            kind = argument_kind(left)
            return among(_comparable(left, scope), slots.place(Members(values, kind, _label(left)), ARRAYS[kind]))
        case ContainsTest(left=left, piece=piece):
            place = exp.StrPosition(this=scope.field(left.node, "folded"), substr=slots.place(Piece(piece), "text"))
            return exp.GT(this=place, expression=exp.Literal.number(0))
        case NotTest(test=inner):
            return exp.Not(this=exp.Paren(this=predicate(inner, scope, slots)))
        case AllTest(tests=tests):
            return exp.Paren(this=exp.and_(exp.true(), *(predicate(inner, scope, slots) for inner in tests)))
        case EitherTest(tests=tests):
            return exp.Paren(this=exp.or_(*(predicate(inner, scope, slots) for inner in tests)))
        case ApartTest(left=left, right=right):
            return scope.places[left].copy().neq(scope.places[right].copy())


def _label(term: RowTerm) -> Label:
    return term.node.label if isinstance(term, FieldTerm) else "Event"


def _comparable(term: RowTerm, scope: Scope) -> exp.Expr:
    """A term as the type its given values are bound with: integers as numeric, so that 1 = 1.0 and large ones stay exact."""
    found = scope.term(term)
    return exp.cast(found, "numeric") if argument_kind(term) == "integer" else found


def _compare(test: CompareTest, scope: Scope, slots: Slots) -> exp.Expr:
    left, right, op = test.left, test.right, test.op
    if isinstance(left, Param | Constant):
        if not isinstance(right, Param | Constant):
            raise TypeError("a comparison has its term on the left")
        return slots.place(Verdict(op, left, right), "boolean")
    if not isinstance(right, Param | Constant):
        return _compare_terms(op, left, right, scope)
    kind = argument_kind(left)
    if op in ("=", "<>"):
        equal = among(_comparable(left, scope), slots.place(Equals(right, kind, _label(left)), ARRAYS[kind]))
        return equal if op == "=" else exp.Not(this=exp.Paren(this=equal))
    subject = _comparable(left, scope)
    value = slots.place(Ordered(right, kind), ARRAYS[kind].removesuffix("[]"))
    return _OPERATORS[op](this=by_code_point(subject) if kind == "text" else subject, expression=value)


def _compare_terms(op: Comparison, left: RowTerm, right: RowTerm, scope: Scope) -> exp.Expr:
    kinds = argument_kind(left), argument_kind(right)
    a, b = scope.term(left), scope.term(right)
    if kinds == ("id", "id"):
        alike = _node(left).label == _node(right).label
        return _OPERATORS[op](this=a, expression=b) if alike else exp.false() if op == "=" else exp.true()
    if kinds[0] == kinds[1]:
        return _OPERATORS[op](this=by_code_point(a) if kinds[0] == "text" else a, expression=b)
    if all(kind in _NUMBERS for kind in kinds):
        return _OPERATORS[op](this=exp.cast(a, "float8"), expression=exp.cast(b, "float8"))
    unlike = exp.null() if op not in ("=", "<>") else exp.false() if op == "=" else exp.true()
    missing = exp.or_(a.is_(exp.null()), b.is_(exp.null()))
    return exp.Paren(this=exp.case().when(missing, exp.cast(exp.null(), "boolean")).else_(exp.cast(unlike, "boolean")))


def _node(term: RowTerm) -> NodeTerm:
    if isinstance(term, NodeTerm):
        return term
    if isinstance(term, FieldTerm):
        return term.node
    raise TypeError("only nodes and their ids are compared as ids")


def reads_only_numbers(test: Test) -> bool:
    """Whether a test needs nothing but the nodes' numbers, so that it can be asked inside the walk of a relation."""
    match test:
        case CompareTest(left=left, right=right):
            sides = [side for side in (left, right) if not isinstance(side, Param | Constant)]
            return bool(sides) and all(argument_kind(side) == "id" for side in sides)
        case WithinTest(left=left):
            return not isinstance(left, Param | Constant) and argument_kind(left) == "id"
        case NotTest(test=inner):
            return reads_only_numbers(inner)
        case AllTest(tests=tests) | EitherTest(tests=tests):
            return all(reads_only_numbers(inner) for inner in tests)
        case ApartTest():
            return True
        case ContainsTest():
            return False


def looked_up(test: Test, far: NodeTerm, slots: Slots) -> exp.Expr | None:
    """The numbers of the nodes with a given name, where a test asks for one: found once, before the walk."""
    match test:
        case CompareTest(op="=", left=FieldTerm(node=node, name="name") as left, right=Param() | Constant() as right) if node == far:
            named = slots.place(Equals(right, "text"), "text[]")
        case WithinTest(left=FieldTerm(node=node, name="name") as left, values=values) if node == far:
            named = slots.place(Members(values, "text"), "text[]")
        case _:
            return None
    stored = "path" if left.node.label == "Tag" else "name"
    numbers = (
        exp.select(column("t", "id"))
        .from_(table(TABLES[left.node.label], "t"), copy=False)
        .where(among(column("t", stored), named), copy=False)
    )
    return exp.Array(expressions=[numbers])
