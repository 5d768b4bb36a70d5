"""What comes from Cypher elsewhere, or from the other tools: the hint says how it is asked here, in words that run."""

import pytest

from service.graph.arguments import fill, read_params
from service.graph.compile import compiled
from service.graph.limits import GraphLimits
from tests.unit.graph.test_rejections import PARAMS, rejected


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        (
            'MATCH (e:Entity {name:"PayBridge"})<-[:PARTICIPATED_IN]-(ev) RETURN ev',
            'START a = events(entity: "PayBridge") RETURN a,',
        ),
        ("MATCH (e {name: 'it\\'s'}) RETURN e", "START a = events(entity: 'it\\'s') RETURN a,"),
        ("MATCH (e)-[:CONNECTED]-(o) WHERE e.name = $who RETURN o", "START a = events(entity: $who) RETURN a,"),
        ("MATCH (t:Tag)--(e) WHERE t.name = 'area/auth' RETURN e", "START a = events(tag: 'area/auth') RETURN a,"),
        (f"MATCH (:Tag {{name: '{'x' * 90}'}}) RETURN 1", "START a = events(tag: $name) RETURN a,"),
        ("MATCH (n) RETURN n", "for all events list_memory_timeline, for all entities and tags query_memories_with_sql"),
        ("MATCH (n:Event) RETURN count(n)", "list_memory_timeline"),
        ("MATCH (:Person)-[:WORKS_ON]->(p) RETURN p", "MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN DISTINCT n"),
        ("MATCH (a)-[r:SHARES]-(b) RETURN b", "write START a = events(text: $q) - or entity:, tag:, ids:"),
        ("MATCH", "START a = events"),
        ("MATCH (n) DETACH DELETE n", "only reads"),
        ("START x = events(entity: $name, tag: $q) RETURN x", "MATCH (x)-[:MEMBER_OF]->(t) WHERE t.name = $tag"),
        ("START a = events(kind: 'decision') RETURN a", "memory_query takes `kinds`, and query_memories_with_sql"),
        ("START x = events(since: '2026-01-01') RETURN x", "MATCH (x) WHERE x.timestamp >= $since"),
        ("START a = events(entity: $name, until: $q) RETURN a", "MATCH (a) WHERE a.timestamp <= $until"),
        ("START a = events(entity: $name, session: $q) RETURN a", "list_memory_timeline"),
        ("START a = events(text: $q, limit: 3) RETURN a", "k says how many"),
    ],
)
def test_the_hint_says_how_it_is_asked_here(query: str, hint: str) -> None:
    rejection = rejected(query)
    assert rejection.blocked_by == "grammar"
    assert hint in (rejection.hint or "")


def test_unknown_relations_bring_those_there_are() -> None:
    assert "PARTICIPATED_IN" in rejected("MATCH (:Person)-[w:WORKS_ON]->(p) RETURN p").members["allowed_relations"]
    assert "allowed_relations" not in rejected("MATCH (a)-[:SHARES]-(b) RETURN b").members


@pytest.mark.parametrize(
    ("query", "offered"),
    [
        ('MATCH (e {name: "x"}) RETURN e', "{hint} RETURN a"),
        ("MATCH (n) RETURN n", "{hint} RETURN a"),
        ("MATCH (:Person)-[:WORKS_ON]->(p) RETURN p", "{hint} RETURN DISTINCT n"),
        ("START a = events(entity: $name, tag: $q) RETURN a", "START a = events(entity: $name) {hint} WHERE t.name = $tag RETURN a"),
        ("START a = events(since: $q) RETURN a", "START a = events(entity: $name) {hint} WHERE a.timestamp >= $since RETURN a"),
    ],
)
def test_what_is_offered_is_a_query(query: str, offered: str) -> None:
    """The hint from its START or MATCH on, up to where `offered` goes on; that must stand in it."""
    hint = rejected(query).hint or ""
    before, _, after = offered.partition("{hint}")
    end = after.removesuffix(" RETURN a") if before else after
    told = hint[hint.index("MATCH" if before else "START") : hint.index(end)]
    params = {**PARAMS, "tag": "t", "since": "2026-01-01"}
    assert fill(compiled(before + told + after, vectors=True), read_params(params), GraphLimits()).start.k
