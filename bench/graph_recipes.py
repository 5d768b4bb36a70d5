"""The recipes that are measured, each with the best SQL that we can write for the same answer.

In: a `Graph` and a number. Out: `Recipe`s: the query, its parameters, the SQL with its arguments, and the answer as plain values to
compare. The SQL knows what the language does not: it fetches the texts in the same statement and counts nothing beside its answer.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from bench.graph_data import EVENTS, Graph

_PAIRS = """
start AS MATERIALIZED (SELECT e.id, e.pos FROM unnest($1::bigint[]) WITH ORDINALITY AS e (id, pos) JOIN m_0.event USING (id)),
pair AS MATERIALIZED (
    SELECT s.pos, s.id AS a, x.b, x.n, x.weight FROM start AS s CROSS JOIN LATERAL (
        SELECT q.event_id AS b, count(*) AS n, sum(p.w) AS weight
        FROM (
            SELECT i.entity_id, 1 / ln((1 + e.event_count)::float8) AS w
            FROM m_0.participation AS i JOIN m_0.entity AS e ON e.id = i.entity_id WHERE i.event_id = s.id OFFSET 0
        ) AS p JOIN m_0.participation AS q ON q.entity_id = p.entity_id
        WHERE q.event_id <> s.id
        GROUP BY q.event_id HAVING count(*) >= 2
    ) AS x
)
"""
_VIA = """
CROSS JOIN LATERAL (
    SELECT array_agg(e.id ORDER BY e.event_count, e.id) AS via FROM m_0.participation AS p JOIN m_0.participation AS q USING (entity_id)
    JOIN m_0.entity AS e ON e.id = p.entity_id WHERE p.event_id = t.a AND q.event_id = t.b
) AS v
"""
# Recipe 6 reads the longest list of events only where it has to, as service/graph/compile_highest.py does.
_EVENTS = "SELECT event_id FROM m_0.participation WHERE entity_id = n.entity_id AND event_id <> ALL($1::bigint[])"
_IN_LONGEST = """(
    SELECT count(*) FROM longest AS n JOIN m_0.participation AS q ON q.event_id = m.event_id AND q.entity_id = n.entity_id
)"""
_HOPS = " UNION ALL ".join(
    f"SELECT n{length}.to_id AS b, {length} AS hops, n1.source FROM m_0.next_link AS n1 "
    + " ".join(f"JOIN m_0.next_link AS n{i} ON n{i}.from_id = n{i - 1}.to_id AND n{i}.source = n1.source" for i in range(2, length + 1))
    + " WHERE n1.from_id = s.id"
    for length in (1, 2, 3)
)

BY_HAND = {
    5: """
WITH one AS MATERIALIZED (SELECT id FROM m_0.entity WHERE name = $1), two AS MATERIALIZED (SELECT id FROM m_0.entity WHERE name = $2)
SELECT e.id, e.summary, e."timestamp" FROM (
    SELECT p.event_id FROM one CROSS JOIN LATERAL (
        SELECT event_id, "timestamp" FROM m_0.participation WHERE entity_id = one.id
        ORDER BY "timestamp" DESC NULLS LAST, event_id DESC LIMIT 200
    ) AS p ORDER BY p."timestamp" DESC NULLS LAST, p.event_id DESC LIMIT 200
) AS s CROSS JOIN LATERAL (SELECT 1 FROM two JOIN m_0.participation AS q ON q.event_id = s.event_id AND q.entity_id = two.id LIMIT 1) AS hit
JOIN m_0.event AS e ON e.id = s.event_id ORDER BY e.id LIMIT 200""",
    6: f"""
WITH start AS MATERIALIZED (SELECT DISTINCT entity_id FROM m_0.participation WHERE event_id = ANY($1::bigint[])),
n AS MATERIALIZED (
    SELECT s.entity_id, e.event_count AS size, row_number() OVER (ORDER BY e.event_count DESC, e.id) AS place,
        sum(e.event_count) OVER () AS length
    FROM start AS s JOIN m_0.entity AS e ON e.id = s.entity_id
),
longest AS MATERIALIZED (
    SELECT * FROM n WHERE place = 1 AND length >= 4000 AND size * 4 >= length AND (size * 3 >= length * 2 OR EXISTS (
        SELECT q.event_id FROM n CROSS JOIN LATERAL ({_EVENTS} LIMIT n.size / 16 + 1) AS q WHERE n.place <= 32
        GROUP BY q.event_id HAVING count(*) > 2 OFFSET 19
    ))
),
other AS MATERIALIZED (SELECT * FROM n WHERE place > 1 AND EXISTS (SELECT FROM longest)),
met AS MATERIALIZED (
    SELECT q.event_id, count(*) AS shared FROM other AS n CROSS JOIN LATERAL ({_EVENTS} OFFSET 0) AS q
    GROUP BY q.event_id HAVING count(*) > 1
),
bar AS MATERIALIZED (
    SELECT u.shared FROM (
        SELECT m.shared + {_IN_LONGEST} AS shared FROM (
            SELECT * FROM met WHERE shared >= (SELECT shared FROM met ORDER BY shared DESC OFFSET 19 LIMIT 1)
            LIMIT (SELECT greatest(size / 64, 20) FROM longest)
        ) AS m
    ) AS u WHERE u.shared > 2 ORDER BY u.shared DESC OFFSET 19 LIMIT 1
),
few AS MATERIALIZED (
    SELECT FROM longest WHERE EXISTS (SELECT FROM bar)
        AND (SELECT count(*) FROM met WHERE shared >= (SELECT shared - 1 FROM bar)) * 8 <= longest.size
),
every AS MATERIALIZED (SELECT * FROM start WHERE NOT EXISTS (SELECT FROM bar)),
top AS (
    SELECT event_id, shared FROM (
        SELECT m.event_id, m.shared + {_IN_LONGEST} AS shared FROM met AS m
        WHERE m.shared >= (SELECT shared - 1 FROM bar) AND EXISTS (SELECT FROM few)
        UNION ALL
        SELECT m.event_id, m.shared + CASE WHEN m.event_id IN (
            SELECT q.event_id FROM longest AS n CROSS JOIN LATERAL ({_EVENTS} OFFSET 0) AS q
        ) THEN 1 ELSE 0 END FROM met AS m
        WHERE m.shared >= (SELECT shared - 1 FROM bar) AND NOT EXISTS (SELECT FROM few)
        UNION ALL
        SELECT q.event_id, count(*) FROM every AS n CROSS JOIN LATERAL ({_EVENTS} OFFSET 0) AS q GROUP BY q.event_id
    ) AS u ORDER BY shared DESC, event_id LIMIT 20
)
SELECT t.event_id, t.shared, e.summary, e."timestamp" FROM top AS t JOIN m_0.event AS e ON e.id = t.event_id
ORDER BY t.shared DESC, t.event_id""",
    7: """
WITH top AS (
    SELECT s.pos, s.id AS a, x.b, x.distance FROM unnest($1::bigint[]) WITH ORDINALITY AS s (id, pos)
    JOIN m_0.vector_0 AS n ON n.owner_id = s.id AND n.kind = 0
    CROSS JOIN LATERAL (
        SELECT o.owner_id AS b, o.vector <=> n.vector AS distance FROM m_0.vector_0 AS o WHERE o.kind = 0 AND o.owner_id <> s.id
        ORDER BY o.vector <=> n.vector LIMIT 5
    ) AS x ORDER BY x.distance, s.pos, x.b LIMIT 10
)
SELECT t.b, 1 - t.distance AS cos, e.summary, e."timestamp" FROM top AS t JOIN m_0.event AS e ON e.id = t.b
ORDER BY t.distance, t.pos, t.b""",
    8: f"""
WITH top AS (
    SELECT s.pos, x.b, x.hops FROM unnest($1::bigint[]) WITH ORDINALITY AS s (id, pos) JOIN m_0.event USING (id)
    CROSS JOIN LATERAL (SELECT u.b, u.source, min(u.hops) AS hops FROM ({_HOPS}) AS u WHERE u.b <> s.id GROUP BY u.b, u.source) AS x
    ORDER BY x.hops, s.pos, s.id, x.b LIMIT 30
)
SELECT t.b, t.hops, e.summary, e."timestamp" FROM top AS t JOIN m_0.event AS e ON e.id = t.b ORDER BY t.hops, t.pos, t.b""",
    9: f"""
WITH {_PAIRS}, top AS (SELECT * FROM pair WHERE b <> ALL($2::bigint[]) ORDER BY weight DESC, pos, b LIMIT 20)
SELECT t.b, t.n, v.via, e.summary, e."timestamp" FROM top AS t {_VIA} JOIN m_0.event AS e ON e.id = t.b
ORDER BY t.weight DESC, t.pos, t.b""",
    11: f"""
WITH {_PAIRS}, top AS (
    SELECT p.pos, p.a, p.b, p.n, p.weight, c.cos FROM (SELECT * FROM pair ORDER BY weight DESC, pos, b OFFSET 0) AS p
    CROSS JOIN LATERAL (
        SELECT 1 - (n.vector <=> o.vector) AS cos FROM m_0.vector_0 AS n JOIN m_0.vector_0 AS o ON o.owner_id = p.b AND o.kind = 0
        WHERE n.owner_id = p.a AND n.kind = 0 OFFSET 0
    ) AS c WHERE c.cos < 0.5 LIMIT 10
)
SELECT t.b, t.n, v.via, t.cos, e.summary, e."timestamp" FROM top AS t {_VIA} JOIN m_0.event AS e ON e.id = t.b
ORDER BY t.weight DESC, t.pos, t.b""",
    12: """
WITH start AS MATERIALIZED (SELECT owner_id AS id FROM m_0.vector_0 WHERE kind = 0 ORDER BY vector <=> $1::text::halfvec LIMIT 5),
n AS MATERIALIZED (
    SELECT p.entity_id, min(p.event_id) AS least, max(p.event_id) AS most FROM start AS s JOIN m_0.participation AS p ON p.event_id = s.id
    GROUP BY p.entity_id
),
named AS MATERIALIZED (SELECT e.name, n.*, count(*) OVER (PARTITION BY e.name) AS alike FROM n JOIN m_0.entity AS e ON e.id = n.entity_id)
SELECT name, n FROM (
    SELECT m.name, c.n FROM named AS m CROSS JOIN LATERAL (
        SELECT count(*) AS n FROM m_0.participation AS q WHERE q.entity_id = m.entity_id AND (q.event_id <> m.least OR q.event_id <> m.most)
    ) AS c WHERE m.alike = 1
    UNION ALL
    SELECT m.name, count(DISTINCT q.event_id) FROM named AS m
    JOIN m_0.participation AS q ON q.entity_id = m.entity_id AND (q.event_id <> m.least OR q.event_id <> m.most)
    WHERE m.alike > 1 GROUP BY m.name
) AS u WHERE n > 0 ORDER BY n DESC, name COLLATE "C" LIMIT 15""",
}

QUERIES = {
    5: "START a = events(entity: $a, k: 200) MATCH (a)-[:PARTICIPATED_IN]-(n {name: $b}) RETURN DISTINCT a LIMIT 200",
    6: "START a = events(ids: $ids) MATCH (a)-[:PARTICIPATED_IN]-(e)-[:PARTICIPATED_IN]-(b) WHERE NOT b.id IN $ids "
    "RETURN b, count(DISTINCT e) AS shared ORDER BY shared DESC LIMIT 20",
    7: "START a = events(ids: $ids) MATCH (a)-[f:SIMILAR {k: 5}]-(b) RETURN b, f.cos ORDER BY f.cos DESC LIMIT 10",
    8: "START a = events(ids: $ids) MATCH (a)-[n:NEXT*1..3]->(b) RETURN b, n.hops ORDER BY n.hops LIMIT 30",
    9: "START a = events(ids: $ids) MATCH (a)-[s:SHARES {min: 2}]-(b) WHERE NOT b.id IN $seen "
    "RETURN b, s.count, s.via ORDER BY s.weight DESC LIMIT 20",
    11: "START a = events(ids: $ids) MATCH (a)-[s:SHARES {min: 2}]-(b)-[f:FAR {max: 0.5}]-(a) "
    "RETURN b, s.count, s.via, f.cos ORDER BY s.weight DESC LIMIT 10",
    12: "START a = events(text: $q, k: 5) MATCH (a)-[:PARTICIPATED_IN]-(e)-[:PARTICIPATED_IN]-(b) WHERE b.id <> a.id "
    "RETURN e.name, count(DISTINCT b) AS n ORDER BY n DESC LIMIT 15",
}


class Asked(msgspec.Struct, frozen=True):
    """One question: a recipe's parameters, and the arguments of the SQL by hand."""

    recipe: int
    params: dict[str, Any]
    arguments: tuple[Any, ...]

    @property
    def query(self) -> str:
        return QUERIES[self.recipe]

    @property
    def by_hand(self) -> str:
        return BY_HAND[self.recipe]


def ask(graph: Graph, recipe: int, number: int) -> Asked:
    """The question of this number; the same for every size of the graph."""
    chance = random.Random(number)
    if recipe == 5:
        names = graph.name(chance.randint(1, 20)), graph.name(chance.randint(1, 100))
        return Asked(recipe, {"a": names[0], "b": names[1]}, names)
    if recipe == 12:
        vector = graph.vector(chance.randint(1, EVENTS))
        return Asked(recipe, {"q": vector}, (vector,))
    ids = chance.sample(range(1, EVENTS + 1), 5)
    params: dict[str, Any] = {"ids": [f"evt_{n}" for n in ids]}
    if recipe != 9:
        return Asked(recipe, params, (ids,))
    return Asked(recipe, params | {"seen": params["ids"]}, (ids, ids))


def plain(recipe: int, rows: Sequence[Any]) -> list[tuple[Any, ...]]:
    """An answer of ours or of the SQL as numbers and names, cosines to five places."""
    columns = {5: 1, 9: 3, 11: 4}.get(recipe, 2)
    readers: list[Callable[[Any], Any]] = [_value] * columns
    return [tuple(read(row[i]) for i, read in enumerate(readers)) for row in rows]


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return int(value["id"].partition("_")[2])
    if isinstance(value, list):
        return [_value(item) for item in value]
    return round(value, 5) if isinstance(value, float) else value
