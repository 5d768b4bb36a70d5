"""Conditions checked and turned into tests.

In: a WHERE condition or a node's map, and the names bound there. Out: tests, those joined by AND apart, so that each can be
asked as early as its terms are bound; raises `grammar` and `params` rejections.
"""

from collections.abc import Iterator

from service.graph.ast import (
    Aggregate,
    All,
    Compare,
    Comparison,
    Condition,
    Constant,
    Contains,
    Cos,
    Either,
    Entry,
    Listing,
    Not,
    Operand,
    Param,
    Property,
    Variable,
    Within,
)
from service.graph.bindings import PROPERTIES, Bindings, argument_kind
from service.graph.rejection import grammar, misfit, suggestion
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
    apart,
)

_FLIPPED: dict[Comparison, Comparison] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
CONTAINABLE = ["Entity.name", "Tag.name"]


def tests_of(condition: Condition, bindings: Bindings) -> list[Test]:
    """The tests that all have to hold."""
    if isinstance(condition, All):
        return [test for part in condition.conditions for test in tests_of(part, bindings)]
    test = _test(condition, bindings)
    apart = _apart(test)
    return [apart or test]


def _apart(test: Test) -> ApartTest | None:
    if isinstance(test, CompareTest) and test.op == "<>":
        left, right = _node(test.left), _node(test.right)
        if left and right and left.label == right.label and left != right:
            return apart(left, right)
    if isinstance(test, NotTest) and isinstance(test.test, CompareTest) and test.test.op == "=":
        return _apart(CompareTest("<>", test.test.left, test.test.right))
    return None


def _node(side: object) -> NodeTerm | None:
    """The node that a term compares by its number."""
    if isinstance(side, FieldTerm) and side.kind == "id":
        return side.node
    return side if isinstance(side, NodeTerm) else None


def _test(condition: Condition, bindings: Bindings) -> Test:
    match condition:
        case Not(condition=inner):
            return NotTest(_test(inner, bindings))
        case All(conditions=parts):
            return AllTest(tuple(_test(part, bindings) for part in parts))
        case Either(conditions=parts):
            return EitherTest(tuple(_test(part, bindings) for part in parts))
        case Compare():
            return _compare(condition, bindings)
        case Within():
            return _within(condition, bindings)
        case Contains():
            return _contains(condition, bindings)


def _side(operand: Operand, bindings: Bindings) -> RowTerm | Param | Constant:
    if isinstance(operand, Listing):
        raise grammar("comparing with a list is not part of the subset", operand.at, "write x.property IN [...]")
    if isinstance(operand, Param | Constant):
        return operand
    term = bindings.row_term(operand)
    if isinstance(term, FieldTerm) and term.name == "summary":
        hint = "use START text: for meaning, or query_memories_with_sql for exact wording"
        raise grammar("a condition on Event.summary is not part of the subset", operand.at, hint)
    if argument_kind(term) == "list":
        raise grammar("a condition on a list is not part of the subset", operand.at, "compare count or weight instead")
    return term


def _compare(condition: Compare, bindings: Bindings) -> CompareTest:
    left, right = _side(condition.left, bindings), _side(condition.right, bindings)
    op = condition.op
    if isinstance(left, Param | Constant) and not isinstance(right, Param | Constant):
        left, right, op = right, left, _FLIPPED[op]
    for side, operand in ((left, condition.left), (right, condition.right)):
        if isinstance(side, Param | Constant):
            continue
        if argument_kind(side) == "id" and op not in ("=", "<>"):
            raise grammar("ids have no order", operand.at, "compare ids with =, <> or IN; for an order use order_index or timestamp")
    if isinstance(left, NodeTerm) != isinstance(right, NodeTerm):
        node = next(operand for operand in (condition.left, condition.right) if isinstance(operand, Variable))
        raise grammar("a node is compared with nodes only", node.at, f"compare its id: {node.name}.id = 'evt_42'")
    return CompareTest(op, left, right)


def _within(condition: Within, bindings: Bindings) -> WithinTest:
    left = _side(condition.left, bindings)
    if isinstance(left, NodeTerm) and isinstance(condition.left, Variable):
        raise grammar("a node is compared with nodes only", condition.left.at, f"compare its id: {condition.left.name}.id IN $ids")
    right = condition.right
    if isinstance(right, Constant) and right.value is not None:
        raise misfit("IN needs a list on its right", right.at, "write IN [...] or IN $list, or compare with =")
    if isinstance(right, Variable | Property | Cos | Aggregate):
        raise grammar("IN takes a list or a parameter on its right", right.at, "write IN [...] or IN $list, or compare with =")
    return WithinTest(left, right)


def _contains(condition: Contains, bindings: Bindings) -> ContainsTest:
    left = _side(condition.left, bindings)
    if not (isinstance(left, FieldTerm) and left.name == "name"):
        hint = "CONTAINS looks into the names of entities and tags; for events use START text:"
        raise grammar("CONTAINS works on Entity.name and Tag.name only", condition.left.at, hint, allowed_properties=CONTAINABLE)
    right = condition.right
    if isinstance(right, Listing) or (isinstance(right, Constant) and not isinstance(right.value, str | None)):
        raise misfit("CONTAINS looks for text", right.at, "write CONTAINS $part or CONTAINS 'part'")
    if not isinstance(right, Param | Constant):
        raise grammar("CONTAINS takes a literal or a parameter", right.at, "write CONTAINS $part or CONTAINS 'part'")
    return ContainsTest(left, right)


def contains_used(condition: Condition) -> Iterator[Contains]:
    """Each CONTAINS in a condition."""
    match condition:
        case Contains():
            yield condition
        case Not(condition=inner):
            yield from contains_used(inner)
        case All(conditions=parts) | Either(conditions=parts):
            for part in parts:
                yield from contains_used(part)
        case _:
            return


def entry_tests(node: NodeTerm, entries: tuple[Entry, ...]) -> list[Test]:
    """The tests of a node's map: each key equals its value."""
    allowed = [name for name in PROPERTIES[node.label] if name not in ("score", "summary")]
    tests: list[Test] = []
    for entry in entries:
        if entry.key not in allowed:
            hint = suggestion(entry.key, allowed, f"{node.label} takes {', '.join(allowed)} here")
            raise grammar(f"{node.label} cannot be matched by {entry.key}", entry.at, hint, allowed_properties=allowed)
        if isinstance(entry.value, Listing):
            raise grammar("a list in a node's map is not part of the subset", entry.value.at, f"write WHERE x.{entry.key} IN [...]")
        tests.append(CompareTest("=", FieldTerm(node, entry.key, PROPERTIES[node.label][entry.key]), entry.value))
    return tests
