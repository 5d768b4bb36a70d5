"""MATCH, WHERE and RETURN on a real database: the recipes as written, the notes to the letter, nulls, names, lists, limits."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.graph.answer import NOT_CONFIRMED
from service.graph.limits import GraphLimits
from service.graph.rejection import GraphRejection


def ids(answer: Any) -> list[str]:
    return [row[0]["id"] for row in answer.rows]


async def link(database: Database, project: ProjectRef, sql: str, rows: Sequence[Sequence[Any]]) -> None:
    async with database.write(project) as tx:
        for row in rows:
            await tx.fetch(sql, *row)


@pytest.fixture
async def thread(memory: Any, small: ProjectRef, database: Database) -> list[str]:
    """Five events with shared names, a chain of NEXT, a resolution, an alias."""
    saved = await memory.save(
        small,
        [
            {"summary": "plan", "entities": [("inventory", "area"), ("save format", "area"), ("bug 7", "bug")], "tags": ["balance"]},
            {"summary": "try", "entities": [("inventory", "area"), ("save format", "area")], "tags": [("balance", "refers")]},
            {"summary": "fix", "entities": [("save format", "area"), ("Ümlaut Bug", "bug")], "timestamp": "2026-02-01T10:00:00Z"},
            {"summary": "talk", "entities": [("health", "area")], "timestamp": "2026-02-02T10:00:00Z"},
            {"summary": "done", "entities": [("inventory", "area"), ("health", "area")]},
        ],
    )
    await memory.vectors(small, dict(zip(saved, [(1, 0, 0), (1, 1, 0), (0, 1, 0), (-1, 0, 0)], strict=False)))
    links = [(1, 2, "thread"), (2, 3, "thread"), (3, 4, "thread"), (1, 3, "file_name"), (4, 1, "thread")]
    await link(database, small, "INSERT INTO m_0.next_link VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", links)
    await link(database, small, "INSERT INTO m_0.resolution (plan_id, evidence_id) VALUES ($1, $2)", [(1, 5), (1, 3)])
    await link(database, small, "UPDATE m_0.resolution SET revoked_at = now() WHERE evidence_id = $1", [(3,)])
    await link(
        database,
        small,
        "INSERT INTO m_0.alias (a_id, b_id, confidence) SELECT min(id), max(id), 0.9 FROM m_0.entity WHERE name = ANY($1)",
        [(["bug 7", "Ümlaut Bug"],)],
    )
    return saved


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
    ("condition", "expected"),
    [
        ("n.name = '1'", ["1"]),
        ("n.name = 1", []),
        ("NOT n.name = 1", ["1", "a"]),
        ("n.name < 1", []),
        ("NOT n.name < 1", []),
        ("n.name IN []", []),
        ("NOT n.name IN []", ["1", "a"]),
        ("n.name IN [null, 'a']", ["a"]),
        ("NOT n.name IN [null, 'a']", []),
        ("n.name <> null", []),
        ("1 = 1.0", ["1", "a"]),
        ("'1' = 1", []),
        ("NOT 'a' < 1", []),
        ("$none = 1 OR n.name = 'a'", ["a"]),
        ("n.name > 'Z'", ["a"]),
        ("n.id = 'ent_1'", ["1"]),
        ("n.id IN ['ent_1', 'evt_2', 'ent_01', 7]", ["1"]),
        ("a.timestamp = '2026-01-01'", []),
        ("NOT a.timestamp = 5", []),
        ("NOT a.timestamp IN [5]", []),
        ("NOT a.order_index = 'x'", ["1", "a"]),
        ("a.order_index = 1.0", ["1", "a"]),
        ("a.score > 0", []),
    ],
)
async def test_nulls_and_types(ask: Any, memory: Any, small: ProjectRef, condition: str, expected: list[str]) -> None:
    await memory.save(small, [{"summary": "x", "entities": [("1", "t"), ("a", "t")]}])
    answer = await ask(f"START a = events(ids: ['evt_1']) MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE {condition} RETURN n.name", none=None)
    assert [row[0] for row in answer.rows] == expected


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("50%", ["50% off"]),
        ("a_b", ["a_b"]),
        ("o'b", ["O'Brien"]),
        ("%%", []),
        ("kafka", ["Kafka", "ＫＡＦＫＡ"]),
        ("ｋａｆ", ["Kafka", "ＫＡＦＫＡ"]),
        ("格", ["save 格式"]),
        ("i\u0307stan", ["İstanbul"]),
        ("a\\b", ["a\\b"]),
        ("\x00\ud800", []),
    ],
)
async def test_contains_is_literal_and_folds_case_and_width(
    ask: Any, memory: Any, small: ProjectRef, part: str, expected: list[str]
) -> None:
    names = ["50% off", "50 off", "a_b", "axb", "a\\b", "O'Brien", "Kafka", "ＫＡＦＫＡ", "İstanbul", "save 格式"]
    await memory.save(small, [{"summary": "x", "entities": [(name, "t") for name in names]}])
    answer = await ask(
        "START a = events(ids: ['evt_1']) MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE n.name CONTAINS $part RETURN n.name", part=part
    )
    assert sorted(row[0] for row in answer.rows) == sorted(expected)


async def test_backslashes_in_names_stay(ask: Any, memory: Any, small: ProjectRef) -> None:
    await memory.save(small, [{"summary": "x", "entities": [("authentication\\username", "t"), ("C:\\users", "t")]}])
    assert len((await ask("START a = events(entity: $n) RETURN a", n="authentication\\username")).rows) == 1
    assert len((await ask(r"START a = events(entity: 'C:\\users') RETURN a")).rows) == 1
    assert len((await ask(r"START a = events(entity: 'C:\users') RETURN a")).rows) == 1


async def test_aggregates_of_nothing(ask: Any, thread: list[str]) -> None:
    query = "START a = events(ids: []) RETURN count(*), count(a), sum(a.order_index), collect(a), avg(a.order_index), min(a.timestamp), max(a.id)"
    assert (await ask(query)).rows == [[0, 0, 0, [], None, None, None]]
    assert (await ask("START a = events(ids: []) RETURN a.id, count(*)")).rows == []


async def test_aggregates_skip_nulls_and_keep_types(ask: Any, thread: list[str]) -> None:
    query = (
        "START a = events(ids: $ids) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN count(a.timestamp), sum(a.order_index), avg(a.order_index),"
        " min(a.timestamp), max(a.id), collect(DISTINCT a), collect(DISTINCT n.type)"
    )
    (row,) = (await ask(query, ids=["evt_3", "evt_2"])).rows
    assert row[:5] == [2, 10, 2.5, "2026-02-01T10:00:00Z", "evt_3"]
    assert [node["id"] for node in row[5]] == ["evt_2", "evt_3"]
    assert row[6] == ["area", "bug"]
    assert isinstance(row[1], int)


async def test_collect_and_via_say_when_they_are_cut(ask: Any, memory: Any, small: ProjectRef) -> None:
    names = [(f"n{i:03}", "t") for i in range(201)]
    await memory.save(
        small,
        [{"summary": "x", "entities": names[:200]}, {"summary": "y", "entities": names[100:]}, {"summary": "z", "entities": names[200:]}],
    )
    answer = await ask("START a = events(ids: $ids) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN collect(DISTINCT n)", ids=["evt_1", "evt_3"])
    assert len(answer.rows[0][0]) == 200
    assert answer.notes == ["collect cut to its first 200 values"]
    answer = await ask("START a = events(ids: ['evt_1']) MATCH (a)-[s:SHARES]-(b) RETURN s.count, s.via")
    assert (answer.rows[0][0], len(answer.rows[0][1])) == (100, 10)
    assert answer.notes == ["via shows the 10 rarest shared entities where there are more"]


async def test_the_default_limit_is_noted_only_when_it_cuts(ask: Any, memory: Any, small: ProjectRef) -> None:
    await memory.save(small, [{"summary": f"n{i}", "tags": ["x"]} for i in range(21)])
    line = "rows cut to the default LIMIT 20; add LIMIT to return more (max 200)"
    answer = await ask("START a = events(tag: 'x', k: 200) RETURN a")
    assert (answer.row_count, answer.notes, answer.partial) == (20, [line], False)
    assert (await ask("START a = events(tag: 'x', k: 20) RETURN a")).notes[-1] != line
    assert (await ask("START a = events(tag: 'x', k: 200) RETURN a LIMIT 20")).notes == []
    off = GraphLimits(scoped_match=False)
    silent = await ask("START a = events(ids: $ids) MATCH (a) RETURN a", limits=off, ids=[f"evt_{i}" for i in range(1, 21)])
    assert silent.notes == []
    walked = "START a = events(ids: ['evt_1']) MATCH (a)-[:MEMBER_OF]->(t)<-[:MEMBER_OF]-(b) RETURN b, t"
    await memory.save(small, [{"summary": "more", "tags": ["x"]}])
    assert (await ask(walked)).notes == [line]
    assert (await ask(walked, limits=off)).notes == []


async def test_ids_sort_by_number_and_nulls_last(ask: Any, memory: Any, small: ProjectRef) -> None:
    await memory.save(
        small, [{"summary": f"n{i}", "tags": ["x"], "timestamp": f"2026-01-{i:02}T00:00:00Z" if i % 2 else None} for i in range(1, 12)]
    )
    answer = await ask("START a = events(tag: 'x', k: 200) RETURN a.id ORDER BY a.id DESC LIMIT 3")
    assert answer.rows == [["evt_11"], ["evt_10"], ["evt_9"]]
    for direction in ("ASC", "DESC"):
        answer = await ask(f"START a = events(tag: 'x', k: 200) RETURN a.timestamp ORDER BY a.timestamp {direction}")
        assert [row[0] is None for row in answer.rows] == [False] * 6 + [True] * 5


@pytest.mark.parametrize(
    ("returned", "order", "expected"),
    [
        ("e.name AS x, count(a) AS c", "c DESC, x", ["save format", "inventory", "bug 7", "Ümlaut Bug"]),
        ("e.name, count(a)", "count(a) DESC, e.name DESC", ["save format", "inventory", "Ümlaut Bug", "bug 7"]),
        ("e.name AS count, count(a) AS order", "order, count", ["bug 7", "Ümlaut Bug", "inventory", "save format"]),
        ("DISTINCT e.name", "e.name DESC", ["Ümlaut Bug", "save format", "inventory", "bug 7"]),
        ("DISTINCT e AS node", "node.name DESC", ["Ümlaut Bug", "save format", "inventory", "bug 7"]),
    ],
)
async def test_order_by_alias_by_expression_and_by_second_key(
    ask: Any, thread: list[str], returned: str, order: str, expected: list[str]
) -> None:
    answer = await ask(
        f"START a = events(ids: ['evt_1', 'evt_2', 'evt_3']) MATCH (a)-[:PARTICIPATED_IN]-(e) RETURN {returned} ORDER BY {order}"
    )
    assert [row[0]["name"] if isinstance(row[0], dict) else row[0] for row in answer.rows] == expected


async def test_numbers_beyond_doubles_stay_exact(ask: Any, database: Database, small: ProjectRef) -> None:
    large = 2**53 + 1
    await link(database, small, "INSERT INTO m_0.event (id, summary) VALUES ($1, 'x')", [(large,), (large - 1,)])
    answer = await ask(
        "START a = events(ids: $ids) MATCH (a) WHERE a.order_index = $n RETURN a.id, a.order_index",
        ids=[f"evt_{large}", f"evt_{large - 1}"],
        n=large,
    )
    assert answer.rows == [[f"evt_{large}", large]]


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
    assert answer.notes == ["start: no entity is named 'x\ufffd'", "parameter $\ufffd is not used in the query"]
    with pytest.raises(GraphRejection) as caught:
        await ask("START a = events(ids: $ids) RETURN a\ud83d", ids=[])
    assert msgspec.json.encode(caught.value.problem())


async def test_rejections_of_parameters_are_located(ask: Any, thread: list[str]) -> None:
    with pytest.raises(GraphRejection) as caught:
        await ask("START a = events(ids: $ids)\nRETURN a LIMIT $n", ids=[], n=0)
    assert (caught.value.members["line"], caught.value.members["blocked_by"]) == (2, "params")


# What is too wide.


@pytest.fixture
async def hub(database: Database, small: ProjectRef) -> None:
    """Events 1 and 3 have few neighbours; event 2 takes part in two hubs of 700."""
    async with database.write(small) as tx:
        await tx.fetch("INSERT INTO m_0.event (id, summary) SELECT n, 'event ' || n FROM generate_series(1, 710) AS n")
        await tx.fetch("INSERT INTO m_0.entity (id, name, type, folded) SELECT n, 'n' || n, 't', 'n' || n FROM generate_series(1, 6) AS n")
        await tx.fetch(
            "INSERT INTO m_0.participation (event_id, entity_id) SELECT n, h FROM generate_series(11, 710) AS n, generate_series(1, 2) AS h"
        )
        await tx.fetch(
            "INSERT INTO m_0.participation (event_id, entity_id) VALUES (2, 1), (1, 3), (4, 3), (1, 4), (6, 4), (3, 5), (5, 5), (3, 6), (7, 6)"
        )


WIDE = "START a = events(ids: ['evt_1', 'evt_2', 'evt_3']) MATCH (a)-[:PARTICIPATED_IN]-(e)"
FAR_TOO_WIDE = (
    WIDE + "-[:PARTICIPATED_IN]-(b) MATCH (b)-[:PARTICIPATED_IN]-(f)-[:PARTICIPATED_IN]-(c)-[:PARTICIPATED_IN]-(g)-[:PARTICIPATED_IN]-(d)"
)


async def test_a_walk_that_is_too_wide_keeps_the_starts_it_finished(ask: Any, hub: None) -> None:
    limits = GraphLimits(deadline_ms=3_000, row_budget=10**12)
    answer = await ask(FAR_TOO_WIDE + " WHERE NOT e.name CONTAINS 'xx' RETURN a.id, count(*)", limits=limits)
    assert answer.partial
    assert [cut.where for cut in answer.truncated] == ["match[1]"]
    reason = answer.truncated[0].reason
    assert reason in ("deadline", "statement_timeout")
    assert answer.notes == [
        f"CONTAINS filtered after the walk and the walk was truncated - {NOT_CONFIRMED}",
        f"walk cut at match[1] ({reason}) - rows may be missing; {NOT_CONFIRMED}",
        "aggregates cover only what was walked before the cut",
    ]
    assert "evt_1" in [row[0] for row in answer.rows]
    assert "evt_2" not in [row[0] for row in answer.rows]


async def test_one_start_that_is_too_wide_gives_nothing_and_says_so(ask: Any, hub: None) -> None:
    limits = GraphLimits(statement_ms=200, row_budget=10**12)
    answer = await ask(FAR_TOO_WIDE.replace("'evt_1', 'evt_2', 'evt_3'", "'evt_2'") + " RETURN d", limits=limits)
    assert (answer.rows, answer.partial) == ([], True)
    assert [(cut.where, cut.reason) for cut in answer.truncated] == [("match[1]", "statement_timeout")]
    assert answer.notes == [f"walk cut at match[1] (statement_timeout) - rows may be missing; {NOT_CONFIRMED}"]


@pytest.mark.parametrize("returned", ["b", "count(*)", "DISTINCT b"])
async def test_more_rows_than_the_budget_are_cut(ask: Any, hub: None, returned: str) -> None:
    answer = await ask(WIDE + f"-[:PARTICIPATED_IN]-(b) RETURN {returned} LIMIT 200", limits=GraphLimits(row_budget=100))
    assert [(cut.where, cut.reason) for cut in answer.truncated] == [("match[0]", "row_budget")]
    assert answer.partial
    assert answer.notes[0] == f"walk cut at match[0] (row_budget) - rows may be missing; {NOT_CONFIRMED}"
    assert answer.rows


async def test_the_budget_holds_between_clauses_too(ask: Any, hub: None) -> None:
    query = WIDE + "-[:PARTICIPATED_IN]-(b) MATCH (b)-[:PARTICIPATED_IN]-(f) WHERE f.name = 'none' RETURN b"
    answer = await ask(query, limits=GraphLimits(row_budget=100))
    assert (answer.rows, [(cut.where, cut.reason) for cut in answer.truncated]) == ([], [("match[0]", "row_budget")])


async def test_a_walk_within_its_budget_is_not_cut(ask: Any, hub: None) -> None:
    answer = await ask(WIDE + "-[:PARTICIPATED_IN]-(b) RETURN count(*)", limits=GraphLimits(row_budget=704))
    assert (answer.rows, answer.partial) == ([[704]], False)
