"""What the parser makes of queries."""

import pytest

from service.graph.ast import (
    Aggregate,
    All,
    Compare,
    Constant,
    Contains,
    Cos,
    Either,
    Listing,
    Not,
    Param,
    Property,
    Variable,
    Within,
    printed,
)
from service.graph.parse import parse
from service.graph.rejection import GraphRejection

HEAD = "START a = events(ids: $ids) "


def condition(text: str) -> object:
    return parse(f"{HEAD}MATCH (a)-[s:SHARES]-(b) WHERE {text} RETURN b").matches[0].where


def test_every_clause() -> None:
    query = parse(
        "START a = events(entity: $n, text: 'x', k: 3) MATCH (a:Event)-[s:SHARES*1..2 {min: 2}]-(b {id: $b})<-[:NEXT]-(), (b)-[:MEMBER_OF]->(t) "
        "WHERE s.count > 1 MATCH (b)-[:PARTICIPATED_IN]-(e) RETURN DISTINCT b AS order, count(DISTINCT e) ORDER BY order DESC, b.id ASC LIMIT $l;"
    )
    assert [(entry.key, type(entry.value)) for entry in query.start.entries] == [("entity", Param), ("text", Constant), ("k", Constant)]
    assert [len(match.chains) for match in query.matches] == [2, 1]
    first = query.matches[0].chains[0]
    assert [(r.type, r.low, r.high, r.direction) for r in first.relations] == [("SHARES", 1, 2, "none"), ("NEXT", None, None, "in")]
    assert [(n.variable, n.label) for n in first.nodes] == [("a", "Event"), ("b", None), (None, None)]
    assert query.distinct
    assert [item.alias for item in query.items] == ["order", None]
    assert [(printed(sort.expression), sort.descending) for sort in query.order] == [("order", True), ("b.id", False)]
    assert isinstance(query.limit, Param)


def test_precedence_is_comparison_not_and_or() -> None:
    found = condition("NOT b.id = $x AND s.count > 1 OR b.id IN $y")
    assert isinstance(found, Either)
    left, right = found.conditions
    assert isinstance(left, All)
    assert isinstance(left.conditions[0], Not)
    assert isinstance(right, Within)


def test_not_binds_to_the_whole_comparison() -> None:
    found = condition("NOT b.id IN $seen")
    assert isinstance(found, Not)
    assert isinstance(found.condition, Within)


@pytest.mark.parametrize("op", ["=", "<>", "<", "<=", ">", ">="])
def test_comparisons(op: str) -> None:
    found = condition(f"s.count {op} -1")
    assert isinstance(found, Compare)
    assert (found.op, found.right) == (op, Constant(value=-1, at=found.right.at))


def test_less_than_a_negative_number_is_no_arrow() -> None:
    found = condition("a.score<-0.5")
    assert isinstance(found, Compare)
    assert found.op == "<"


def test_operands() -> None:
    found = condition("cos(a, b) > 0.5 AND b.name CONTAINS $x AND b.id IN [$x, 'y', null, true]")
    assert isinstance(found, All)
    cosine, contains, within = found.conditions
    assert isinstance(cosine, Compare)
    assert isinstance(cosine.left, Cos)
    assert isinstance(contains, Contains)
    assert isinstance(within, Within)
    assert isinstance(within.right, Listing)
    assert [type(item) for item in within.right.items] == [Param, Constant, Constant, Constant]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("COUNT ( * )", "count(*)"), ("Count(distinct  a)", "count(DISTINCT a)"), ("COS( a ,b )", "cos(a, b)"), ("a . id", "a.id"), ("max(a.order_index)", "max(a.order_index)")],
)  # fmt: skip
def test_columns_are_named_canonically(text: str, canonical: str) -> None:
    assert printed(parse(f"{HEAD}RETURN {text}").items[0].expression) == canonical


def test_keywords_are_properties_aliases_and_parameters_elsewhere() -> None:
    query = parse("START a = events(ids: $match) RETURN a.order AS limit, count(a) AS where ORDER BY where, limit")
    assert [item.alias for item in query.items] == ["limit", "where"]
    assert isinstance(query.items[0].expression, Property)
    assert isinstance(query.order[0].expression, Variable)
    assert isinstance(query.items[1].expression, Aggregate)


def test_nesting_to_the_limit_is_read() -> None:
    assert condition("(" * 64 + "s.count = 1" + ")" * 64)
    assert condition("NOT " * 64 + "s.count = 1")
    with pytest.raises(GraphRejection, match="nested"):
        condition("NOT " * 100 + "s.count = 1")


def test_a_long_conjunction_is_not_nesting() -> None:
    found = condition(" AND ".join(["s.count = 1"] * 200))
    assert isinstance(found, All)
    assert len(found.conditions) == 200
