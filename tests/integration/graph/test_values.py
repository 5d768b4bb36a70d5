"""WHERE, RETURN and ORDER BY on a real database: nulls and types, names to the letter, aggregates, lists, limits, order."""

from typing import Any

import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.graph.limits import GraphLimits
from tests.integration.graph.conftest import link


def ids(answer: Any) -> list[str]:
    return [row[0]["id"] for row in answer.rows]


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
