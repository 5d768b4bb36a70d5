"""MATCH, WHERE and RETURN on a real database: the recipes as written, the notes to the letter, nulls, names, lists, limits."""

from typing import Any

import msgspec
import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.graph.limits import GraphLimits
from service.graph.rejection import GraphRejection


def ids(answer: Any) -> list[str]:
    return [row[0]["id"] for row in answer.rows]


RECIPES: list[tuple[str, dict[str, Any], list[list[Any]]]] = [
    (
        "START a = events(entity: $name, text: $q, k: 20) RETURN a, a.score ORDER BY a.score DESC, a.id",
        {"name": "save format", "q": "0,1,0"},
        [["evt_3", 1.0], ["evt_2", 0.7071], ["evt_1", 0.0]],
    ),
    (
        "START a = events(tag: $tag, text: $q, k: 20) RETURN a, a.score ORDER BY a.score DESC, a.id",
        {"tag": "balance", "q": "1,0,0"},
        [["evt_1", 1.0], ["evt_2", 0.7071]],
    ),
    (
        "START a = events(entity: $name, k: 200) MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE n.name CONTAINS $part RETURN DISTINCT n.name LIMIT 200",
        {"name": "save format", "part": "BUG"},
        [["bug 7"], ["Ümlaut Bug"]],
    ),
    ("START a = events(tag: $tag, k: 200) RETURN a LIMIT 200", {"tag": "balance"}, [["evt_2"], ["evt_1"]]),
    (
        "START a = events(entity: $a, k: 200) MATCH (a)-[:PARTICIPATED_IN]-(n {name: $b}) RETURN DISTINCT a LIMIT 200",
        {"a": "inventory", "b": "save format"},
        [["evt_1"], ["evt_2"]],
    ),
    (
        "START a = events(ids: $ids) MATCH (a)-[:PARTICIPATED_IN]-(e)-[:PARTICIPATED_IN]-(b) WHERE NOT b.id IN $ids RETURN b, count(DISTINCT e) AS shared ORDER BY shared DESC LIMIT 20",
        {"ids": ["evt_1"]},
        [["evt_2", 2], ["evt_3", 1], ["evt_5", 1]],
    ),
    (
        "START a = events(ids: $ids) MATCH (a)-[f:SIMILAR {k: 5}]-(b) RETURN b, f.cos ORDER BY f.cos DESC LIMIT 10",
        {"ids": ["evt_1"]},
        [["evt_2", 0.7071], ["evt_3", 0.0], ["evt_4", -1.0]],
    ),
    (
        "START a = events(ids: $ids) MATCH (a)-[n:NEXT*1..3]->(b) RETURN b, n.hops ORDER BY n.hops LIMIT 30",
        {"ids": ["evt_1"]},
        [["evt_2", 1], ["evt_3", 1], ["evt_3", 2], ["evt_4", 3]],
    ),
    (
        "START a = events(ids: $ids) MATCH (a)-[s:SHARES {min: 2}]-(b) WHERE NOT b.id IN $seen RETURN b, s.count, s.via ORDER BY s.weight DESC LIMIT 20",
        {"ids": ["evt_1"], "seen": ["evt_3"]},
        [["evt_2", 2, ["inventory", "save format"]]],
    ),
    (
        "START a = events(tag: $tag, text: $q, k: 10) RETURN a.id, a.summary, a.score ORDER BY a.score DESC, a.id",
        {"tag": "balance", "q": "0,1,0"},
        [["evt_2", "try", 0.7071], ["evt_1", "plan", 0.0]],
    ),
    (
        "START a = events(ids: $ids) MATCH (a)-[s:SHARES {min: 2}]-(b)-[f:FAR {max: 0.9}]-(a) RETURN b, s.count, s.via, f.cos ORDER BY s.weight DESC LIMIT 10",
        {"ids": ["evt_1"]},
        [["evt_2", 2, ["inventory", "save format"], 0.7071]],
    ),
    (
        "START a = events(text: $q, k: 5) MATCH (a)-[:PARTICIPATED_IN]-(e)-[:PARTICIPATED_IN]-(b) WHERE b.id <> a.id RETURN e.name, count(DISTINCT b) AS n ORDER BY n DESC LIMIT 15",
        {"q": "1,0,0"},
        [["inventory", 3], ["save format", 3], ["health", 1]],
    ),
]


def small_form(value: Any) -> Any:
    """Nodes as their ids, lists of them as names, floats rounded."""
    if isinstance(value, dict):
        return value["id"]
    if isinstance(value, list):
        return [item["name"] for item in value]
    return round(value, 4) if isinstance(value, float) else value


@pytest.mark.parametrize(("query", "params", "expected"), RECIPES, ids=[str(i) for i in range(1, len(RECIPES) + 1)])
async def test_recipes_work_as_written(ask: Any, thread: list[str], query: str, params: dict[str, Any], expected: list[list[Any]]) -> None:
    answer = await ask(query, **params)
    assert [[small_form(value) for value in row] for row in answer.rows] == expected
    assert not answer.partial
    assert (answer.row_count, answer.truncated) == (len(expected), [])


async def test_nodes_are_projected_small(ask: Any, thread: list[str]) -> None:
    answer = await ask("START a = events(ids: ['evt_3']) MATCH (a)-[:PARTICIPATED_IN]-(e {name: 'save format'}) RETURN a, e")
    event, entity = answer.rows[0]
    assert event == {"id": "evt_3", "summary": "fix", "timestamp": "2026-02-01T10:00:00Z", "order_index": 3}
    assert set(entity) == {"id", "name", "type"}
    answer = await ask("START a = events(ids: ['evt_1']) MATCH (a)-[m:MEMBER_OF]->(t) RETURN t, m.kind, t.name")
    assert answer.rows == [[{"id": "tag_1", "name": "balance"}, "contains", "balance"]]


async def test_the_plan_says_what_was_walked(ask: Any, thread: list[str]) -> None:
    answer = await ask("START a = events(ids: ['evt_1']) MATCH (a)-[:MEMBER_OF]->(t)-[:MEMBER_OF]-(b) RETURN b")
    steps = [{k: v for k, v in step.items() if k != "ms"} for step in msgspec.to_builtins(answer)["plan"]]
    assert steps == [
        {"step": 0, "op": "start", "rows": 1},
        {"step": 1, "op": "walk", "rows": 1, "relation": "MEMBER_OF", "direction": "out"},
        {"step": 2, "op": "walk", "rows": 1, "relation": "MEMBER_OF", "direction": "in"},
        {"step": 3, "op": "return", "rows": 1},
    ]
    assert (answer.budget.deadline_ms, answer.budget.statement_timeout_ms, answer.budget.row_budget) == (10_000, 5_000, 200_000)


async def test_arrows_are_filled_in_with_a_note(ask: Any, thread: list[str]) -> None:
    answer = await ask("START a = events(ids: ['evt_1']) MATCH (a)-[:MEMBER_OF]-(t), (t)-[:MEMBER_OF]-(b) RETURN b")
    assert answer.notes == ["direction inferred: (a)-[:MEMBER_OF]->(t)", "direction inferred: (t)<-[:MEMBER_OF]-(b)"]


async def test_revoked_links_never_appear(ask: Any, thread: list[str]) -> None:
    answer = await ask("START a = events(ids: ['evt_1']) MATCH (a)-[r:RESOLVED_BY]->(b) RETURN b, r.relation")
    assert [[row[0]["id"], row[1]] for row in answer.rows] == [["evt_5", "realization"]]
    backwards = await ask("START b = events(ids: ['evt_5']) MATCH (b)<-[r:RESOLVED_BY]-(a) RETURN a.id, r.asserted_at")
    assert backwards.rows[0][0] == "evt_1"
    assert backwards.rows[0][1].endswith("Z")


async def test_same_as_compares_confidence_as_it_was_written(ask: Any, thread: list[str]) -> None:
    query = "START a = events(ids: ['evt_1']) MATCH (a)-[:PARTICIPATED_IN]-(e)-[s:SAME_AS {min: 0.9}]-(f) WHERE s.confidence = 0.9 RETURN f.name, s.confidence"
    assert (await ask(query)).rows == [["Ümlaut Bug", 0.9]]


async def test_uniqueness_holds_within_a_clause_only(ask: Any, thread: list[str]) -> None:
    within = await ask("START a = events(ids: ['evt_4']) MATCH (a)-[:PARTICIPATED_IN]-(e)-[:PARTICIPATED_IN]-(b) RETURN b.id")
    assert within.rows == [["evt_5"]]
    apart = await ask("START a = events(ids: ['evt_4']) MATCH (a)-[:PARTICIPATED_IN]-(e) MATCH (e)-[:PARTICIPATED_IN]-(b) RETURN b.id")
    assert apart.rows == [["evt_4"], ["evt_5"]]
    twice = await ask("START a = events(ids: ['evt_4']) MATCH (a)-[:PARTICIPATED_IN]-(e), (a)-[:PARTICIPATED_IN]-(e) RETURN e")
    assert twice.rows == []


async def test_a_match_without_relations_filters(ask: Any, thread: list[str]) -> None:
    answer = await ask("START a = events(ids: $ids) MATCH (a:Event) WHERE a.timestamp > '2026-02-01T12:00:00' RETURN a.id", ids=thread)
    assert answer.rows == [["evt_4"]]
    answer = await ask("START a = events(ids: $ids) MATCH (a {id: 'evt_2'}) RETURN a.id", ids=thread)
    assert answer.rows == [["evt_2"]]


@pytest.mark.parametrize(
    "query",
    [
        "start a = EVENTS(tag: $t) return Count(distinct a) as n order by n desc limit 5;",
        "Start a = Events(tag: $t) // it's a comment with RETURN\nReturn COUNT(DISTINCT a) AS n",
        'START /* " */ a = events(tag: $t) RETURN count(DISTINCT a) AS order ORDER BY order',
    ],
)
async def test_keywords_in_any_case_and_comments(ask: Any, thread: list[str], query: str) -> None:
    assert (await ask(query, t="balance")).rows == [[2]]


async def test_unused_parameters_are_noted_last(ask: Any, thread: list[str]) -> None:
    answer = await ask("START a = events(ids: $ids) MATCH (a)-[:MEMBER_OF]-(t) RETURN t", ids=["evt_1", "evt_99"], b=1, a=2)
    assert answer.notes == [
        "direction inferred: (a)-[:MEMBER_OF]->(t)",
        "start: 1 of 2 ids are not in this project and were dropped",
        "parameter $a is not used in the query",
        "parameter $b is not used in the query",
    ]


async def test_params_may_be_a_json_string(database: Database, small: ProjectRef, thread: list[str]) -> None:
    from service.graph.run import run_query

    answer = await run_query(
        database, small, "START a = events(ids: $ids) RETURN a.id", '{"ids": ["evt_2"]}', embed=None, limits=GraphLimits()
    )
    assert answer.rows == [["evt_2"]]


async def test_halves_of_characters_never_break_an_answer(ask: Any, thread: list[str]) -> None:
    answer = await ask("START a = events(entity: 'x\ud83d') RETURN a", **{"\ud83d": "\ud83d"})
    assert msgspec.json.encode(answer)
    alike = "(names match exactly; find_memories_by_entity finds those alike)"
    assert answer.notes == [f"start: no entity is named 'x\ufffd' {alike}", "parameter $\ufffd is not used in the query"]
    with pytest.raises(GraphRejection) as caught:
        await ask("START a = events(ids: $ids) RETURN a\ud83d", ids=[])
    assert msgspec.json.encode(caught.value.problem())


async def test_rejections_of_parameters_are_located(ask: Any, thread: list[str]) -> None:
    with pytest.raises(GraphRejection) as caught:
        await ask("START a = events(ids: $ids)\nRETURN a LIMIT $n", ids=[], n=0)
    assert (caught.value.members["line"], caught.value.members["blocked_by"]) == (2, "params")
