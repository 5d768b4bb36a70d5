"""What the plan makes of a query: labels, order of the walk, where tests are asked, notes."""

import pytest

from service.graph.parse import parse
from service.graph.plan import make_plan
from service.graph.terms import ApartTest, ContainsTest, NotTest, Plan

HEAD = "START a = events(ids: $ids) "


def plan(text: str) -> Plan:
    return make_plan(parse(HEAD + text))


@pytest.mark.parametrize(
    ("match", "labels"),
    [
        ("(a)-[:PARTICIPATED_IN]-(n)", ["Event", "Entity"]),
        ("(a)-[:PARTICIPATED_IN]->(n)-[:CONNECTED]-(m)<-[:PARTICIPATED_IN]-(b)", ["Event", "Entity", "Entity", "Event"]),
        ("(t)-[:MEMBER_OF]-(a)", ["Event", "Tag"]),
        ("(c)-[:MEMBER_OF]-(t)<-[:MEMBER_OF]-(a)", ["Event", "Event", "Tag"]),
        ("(x)-[:SAME_AS]-(n)-[:PARTICIPATED_IN]-(a)", ["Event", "Entity", "Entity"]),
    ],
)
def test_labels_are_inferred(match: str, labels: list[str]) -> None:
    assert [node.label for node in plan(f"MATCH {match} RETURN a").named] == labels


def test_chains_are_walked_from_what_is_bound() -> None:
    hops = plan("MATCH (c)-[:NEXT]->(b)-[:SHARES]-(a), (c)-[:FAR]-(a) RETURN c").hops
    assert [(hop.relation.name, hop.near.column, hop.far.column, hop.far_is_bound) for hop in hops] == [
        ("SHARES", "v0", "v2", False),
        ("NEXT", "v2", "v1", False),
        ("FAR", "v1", "v0", True),
    ]
    assert hops[1].near_is_left is False


def test_far_waits_until_both_ends_are_bound() -> None:
    hops = plan("MATCH (b)-[f:FAR]-(a), (a)-[:SHARES]-(b) RETURN b, f.cos").hops
    assert [hop.relation.name for hop in hops] == ["SHARES", "FAR"]


def test_tests_are_asked_as_soon_as_their_terms_are_bound() -> None:
    planned = plan(
        "MATCH (a)-[:PARTICIPATED_IN]-(e)-[:PARTICIPATED_IN]-(b) WHERE a.order_index > 1 AND e.name CONTAINS 'ab' AND NOT b.id IN $x RETURN b"
    )
    (match,) = planned.matches
    assert len(match.tests) == 1
    assert [type(test) for test in match.hops[0].tests] == [ContainsTest]
    assert [type(test) for test in match.hops[1].tests] == [NotTest, ApartTest]


def test_no_edge_is_used_twice_in_a_clause() -> None:
    within = plan("MATCH (a)-[:SHARES]-(b)-[:SHARES]-(c) RETURN c").hops
    assert within[1].tests == (ApartTest("v0", "v2"),)
    apart = plan("MATCH (a)-[:SHARES]-(b) MATCH (b)-[:SHARES]-(c) RETURN c").hops
    assert apart[1].tests == ()


def test_memberships_of_two_kinds_are_two_edges() -> None:
    (first, second) = plan("MATCH (a)-[:MEMBER_OF]->(t)<-[:MEMBER_OF]-(b) RETURN b").hops
    assert [term.name for term in (*first.wanted, *second.wanted)] == ["kind", "kind"]
    assert len(second.tests) == 1


def test_the_user_s_own_inequality_is_the_same_test() -> None:
    hops = plan("MATCH (a)-[:PARTICIPATED_IN]-(e)-[:PARTICIPATED_IN]-(b) WHERE b.id <> a.id RETURN b").hops
    assert hops[1].tests == (ApartTest("v0", "v2"),)


def test_arrows_that_are_filled_in_are_told() -> None:
    assert plan("MATCH (a)-[m:MEMBER_OF {kind: 'refers'}]-(t), ()-[:MEMBER_OF]-(t) RETURN t").arrows == (
        "direction inferred: (a)-[:MEMBER_OF]->(t)",
        "direction inferred: ()-[:MEMBER_OF]->(t)",
    )


def test_only_properties_that_are_read_are_wanted() -> None:
    (hop,) = plan("MATCH (a)-[s:SHARES]-(b) WHERE s.count > 1 RETURN b ORDER BY s.weight").hops
    assert [term.name for term in hop.wanted] == ["weight", "count"]


def test_all_parameters_of_the_text_are_known() -> None:
    planned = plan("MATCH (a)-[:SHARES {min: $m}]-(b {id: $b}) WHERE b.id IN [$x, 'y'] RETURN b LIMIT $l")
    assert planned.parameters == {"ids", "m", "b", "x", "l"}
