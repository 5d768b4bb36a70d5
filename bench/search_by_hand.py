"""The streams of memory_query by the best SQL that we can write for each alone and that gives what ours gives: the same events and pages
in the same order. Left out is what streams need only to be put together or held back: filters, passages and names to show, lists for the
next statement, the fusion itself.

In: the values that our own statements took for one question. Out: statements with their arguments, to be run one after another; their
rows are `is_page, id, score`, each of the two lists in its order.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from service.search.parse import SearchSettings
from service.search.streams.graph import Seed, seed_values

_SETTINGS = SearchSettings()
_LIMIT = _SETTINGS.stream_size

# An event takes of each word its own score, or a part of the best one beside it in the session.
_WORDS = """
WITH scored AS MATERIALIZED (
    SELECT id, event_id, page_id, 1 / sqrt(0.6 + 0.4 * length / $2::float8) AS share, {terms}
    FROM passage WHERE words @@ (SELECT $1::text::tsquery) AND id + 0 > $3::bigint
), heard AS MATERIALIZED (
    SELECT * FROM (
        SELECT DISTINCT ON (event_id) event_id AS id, share * ({sum}) AS score, share, {names}
        FROM scored WHERE event_id IS NOT NULL ORDER BY event_id, 2 DESC, scored.id
    ) AS h WHERE score > 0 ORDER BY score DESC, id DESC LIMIT {twice}
), near AS (
    SELECT id, share, {names} FROM heard
    UNION ALL
    SELECT n.id, h.share * {neighbour} ^ n.step, {names}
    FROM (SELECT * FROM heard ORDER BY score DESC, id DESC LIMIT {spread}) AS h
        CROSS JOIN LATERAL (SELECT e.session FROM event AS e WHERE e.id = h.id LIMIT 1) AS e
        CROSS JOIN LATERAL (
            SELECT b.id, row_number() OVER (ORDER BY b.id DESC) AS step FROM (
                SELECT v.id FROM event AS v WHERE v.session = e.session AND v.id < h.id ORDER BY v.session DESC, v.id DESC LIMIT {reach}
            ) AS b
            UNION ALL
            SELECT b.id, row_number() OVER (ORDER BY b.id) AS step FROM (
                SELECT v.id FROM event AS v WHERE v.session = e.session AND v.id > h.id ORDER BY v.session, v.id LIMIT {reach}
            ) AS b
        ) AS n
)
(SELECT false AS is_page, id, {best} AS score FROM near GROUP BY id HAVING {best} > 0 ORDER BY 3 DESC, 2 DESC LIMIT {limit})
UNION ALL
(
    SELECT true, page_id, max(share * ({sum})) AS score FROM scored WHERE page_id IS NOT NULL GROUP BY page_id
    HAVING max(share * ({sum})) > 0 ORDER BY 3 DESC, 2 DESC LIMIT {limit}
)
"""

# Entities, tags, sessions, ids and paths that the question names, the beginnings of names among them.
_NAMES = """
WITH named AS MATERIALIZED (
    SELECT id, event_count + page_count AS carried FROM entity WHERE id = ANY($1::bigint[])
    UNION ALL
    (
        SELECT id, event_count + page_count FROM entity
        WHERE words @@ (SELECT $2::text::tsquery) AND folded ~ $3 AND NOT id = ANY($1::bigint[]) ORDER BY 2, 1 LIMIT {started}
    )
), tagged AS MATERIALIZED (
    SELECT t.id, (SELECT count(DISTINCT m.event_id) FROM (SELECT event_id FROM membership WHERE tag_id = t.id LIMIT 2 * {fan}) AS m)
        + (SELECT count(*) FROM (SELECT FROM page_tag WHERE tag_id = t.id LIMIT {fan}) AS p) AS carried
    FROM tag AS t WHERE t.id = ANY($4::bigint[]) OR CASE WHEN t.folded LIKE ANY($5::text[]) THEN t.folded ~ $3 ELSE false END
    ORDER BY t.id LIMIT {started}
), meant AS MATERIALIZED (
    SELECT s.name, (SELECT count(*) FROM (SELECT FROM event AS e WHERE e.session = s.name LIMIT {fan}) AS e) AS carried
    FROM session AS s WHERE s.name = ANY($6::text[]) OR s.uuid = ANY($7::uuid[])
)
(
    SELECT false AS is_page, c.id, sum(1.0::float8 / c.carried ORDER BY c.carried) AS score FROM (
        SELECT p.event_id AS id, n.carried FROM named AS n CROSS JOIN LATERAL (
            SELECT x.event_id FROM participation AS x WHERE x.entity_id = n.id
            ORDER BY x.entity_id, x."timestamp" DESC NULLS LAST, x.event_id DESC LIMIT {fan}
        ) AS p
        UNION ALL
        SELECT m.event_id, n.carried FROM tagged AS n CROSS JOIN LATERAL (
            SELECT DISTINCT m.event_id FROM (
                SELECT x.event_id FROM membership AS x WHERE x.tag_id = n.id
                ORDER BY x.tag_id, x."timestamp" DESC NULLS LAST, x.event_id DESC LIMIT {fan}
            ) AS m
        ) AS m
        UNION ALL
        SELECT e.id, n.carried FROM meant AS n CROSS JOIN LATERAL (
            SELECT x.id FROM event AS x WHERE x.session = n.name ORDER BY x.session DESC, x.id DESC LIMIT {fan}
        ) AS e
        UNION ALL
        SELECT id, 1 FROM event WHERE id = ANY($8::bigint[])
    ) AS c WHERE c.carried > 0 GROUP BY c.id ORDER BY 3 DESC, 2 DESC LIMIT {limit}
)
UNION ALL
(
    SELECT true, c.id, sum(1.0::float8 / c.carried ORDER BY c.carried) AS score FROM (
        SELECT p.page_id AS id, n.carried FROM named AS n
            CROSS JOIN LATERAL (SELECT x.page_id FROM page_entity AS x WHERE x.entity_id = n.id OFFSET 0) AS p
        UNION ALL
        SELECT p.page_id, n.carried FROM tagged AS n
            CROSS JOIN LATERAL (SELECT x.page_id FROM page_tag AS x WHERE x.tag_id = n.id OFFSET 0) AS p
        UNION ALL
        (
            SELECT id, 1 FROM page WHERE id = ANY($9::bigint[])
            UNION
            SELECT p.id, 1 FROM unnest($10::text[]) AS w (name)
                CROSS JOIN LATERAL (SELECT x.id FROM page AS x WHERE x.names @> ARRAY[w.name] OFFSET 0) AS p
        )
    ) AS c WHERE c.carried > 0 GROUP BY c.id ORDER BY 3 DESC, 2 DESC LIMIT {limit}
)
"""

# The nearest passage of each event and page.
_NEAR = """
WITH near AS MATERIALIZED ({scans})
(
    SELECT false AS is_page, id, 1 - min(distance) AS score FROM near WHERE NOT is_page GROUP BY id
    ORDER BY min(distance), id DESC LIMIT {limit}
)
UNION ALL
(SELECT true, id, 1 - min(distance) AS score FROM near WHERE is_page GROUP BY id ORDER BY min(distance), id DESC LIMIT {limit})
"""
_SCAN = """
(
    SELECT {is_page} AS is_page, owner_id AS id, vector <=> (SELECT $1::text::halfvec) AS distance FROM {table}
    WHERE kind = {kind} ORDER BY vector <=> (SELECT $1::text::halfvec) LIMIT {limit}
)
"""

# One step from the first hits: links both ways, NEXT and RESOLVED_BY both ways, entities that few carry.
_NEIGHBOURS = """
WITH seed AS MATERIALIZED (
    SELECT * FROM unnest($1::boolean[], $2::bigint[], $3::float8[]) AS s (is_page, id, fused)
), shared AS MATERIALIZED (
    SELECT s.is_page, s.id, s.fused, s.entity_id, e.carried
    FROM (
        SELECT s.*, x.entity_id FROM seed AS s
            CROSS JOIN LATERAL (SELECT x.entity_id FROM participation AS x WHERE x.event_id = s.id OFFSET 0) AS x WHERE NOT s.is_page
        UNION ALL
        SELECT s.*, x.entity_id FROM seed AS s
            CROSS JOIN LATERAL (SELECT x.entity_id FROM page_entity AS x WHERE x.page_id = s.id OFFSET 0) AS x WHERE s.is_page
    ) AS s CROSS JOIN LATERAL (SELECT x.event_count + x.page_count AS carried FROM entity AS x WHERE x.id = s.entity_id LIMIT 1) AS e
    WHERE e.carried <= {rare}
), edge AS MATERIALIZED (
    SELECT true AS is_page, g.id, s.fused AS score, s.id AS seed, 1 AS step FROM seed AS s
        CROSS JOIN LATERAL (SELECT x.target FROM page_link AS x WHERE x.from_id = s.id OFFSET 0) AS l
        CROSS JOIN LATERAL (SELECT x.id FROM page AS x WHERE x.names @> ARRAY[l.target] OFFSET 0) AS g WHERE s.is_page AND g.id <> s.id
    UNION
    SELECT true, l.from_id, s.fused, s.id, 2 FROM seed AS s
        CROSS JOIN LATERAL (SELECT unnest(x.names) AS name FROM page AS x WHERE x.id = s.id OFFSET 0) AS n
        CROSS JOIN LATERAL (SELECT x.from_id FROM page_link AS x WHERE x.target = n.name OFFSET 0) AS l
    WHERE s.is_page AND l.from_id <> s.id
    UNION
    SELECT false, n.id, s.fused, s.id, 3 FROM seed AS s CROSS JOIN LATERAL (
        SELECT x.to_id AS id FROM next_link AS x WHERE x.from_id = s.id
        UNION ALL
        SELECT x.from_id FROM next_link AS x WHERE x.to_id = s.id
    ) AS n WHERE NOT s.is_page
    UNION
    SELECT false, r.id, s.fused, s.id, 4 FROM seed AS s CROSS JOIN LATERAL (
        SELECT x.evidence_id AS id FROM resolution AS x WHERE x.plan_id = s.id AND x.revoked_at IS NULL
        UNION ALL
        SELECT x.plan_id FROM resolution AS x WHERE x.evidence_id = s.id AND x.revoked_at IS NULL
    ) AS r WHERE NOT s.is_page
    UNION ALL
    SELECT false, p.event_id, s.fused / s.carried, s.id, 5 FROM shared AS s
        CROSS JOIN LATERAL (SELECT x.event_id FROM participation AS x WHERE x.entity_id = s.entity_id OFFSET 0) AS p
    WHERE s.is_page OR p.event_id <> s.id
    UNION ALL
    SELECT true, p.page_id, s.fused / s.carried, s.id, 5 FROM shared AS s
        CROSS JOIN LATERAL (SELECT x.page_id FROM page_entity AS x WHERE x.entity_id = s.entity_id OFFSET 0) AS p
    WHERE NOT s.is_page OR p.page_id <> s.id
)
(
    SELECT false AS is_page, id, sum(score ORDER BY score) AS score FROM edge WHERE NOT is_page GROUP BY id
    ORDER BY 3 DESC, 2 DESC LIMIT {limit}
)
UNION ALL
(SELECT true, id, sum(score ORDER BY score) AS score FROM edge WHERE is_page GROUP BY id ORDER BY 3 DESC, 2 DESC LIMIT {limit})
"""


class Statement(msgspec.Struct, frozen=True):
    """SQL with numbered arguments."""

    sql: str
    arguments: Sequence[Any]


def words(values: Mapping[str, Any]) -> Statement:
    """Text match: candidates by the rarest words, scored by all, the 50 best lending to those beside them."""
    numbers = range(1, sum(name.startswith("query_") for name in values) + 1)
    sql = _WORDS.format(
        terms=", ".join(f"${2 * n + 3}::float8 * ts_rank(words, (SELECT ${2 * n + 2}::text::tsquery)) AS term_{n}" for n in numbers),
        names=", ".join(f"term_{n}" for n in numbers),
        sum=" + ".join(f"term_{n}" for n in numbers),
        best=" + ".join(f"max(share * term_{n})" for n in numbers),
        neighbour=_SETTINGS.neighbour,
        spread=_SETTINGS.spread,
        reach=_SETTINGS.reach,
        limit=_LIMIT,
        twice=2 * _LIMIT,
    )
    weighed = [values[f"{name}_{n}"] for n in numbers for name in ("query", "weight")]
    return Statement(sql, [values["candidates"], values["mean_length"], values["after"], *weighed])


def names(values: Mapping[str, Any]) -> Statement:
    """What carries the names that a question spells or begins."""
    taken = ("entities", "starts", "pattern", "tag_ids", "pieces", "sessions", "uuids", "event_ids", "page_ids", "page_names")
    sql = _NAMES.format(started=_SETTINGS.started, fan=_SETTINGS.fan, limit=_LIMIT)
    # Ours takes some lists as one text, a line an item.
    lists = {name: values[name].split("\n") if values[name] else [] for name in ("sessions", "page_names")}
    return Statement(sql, [{**values, **lists}[name] for name in taken])


def near(values: Mapping[str, Any], table: str) -> Statement:
    """The nearest events and pages, through the indexes."""
    kinds = ((0, "false"), (1, "false"), (2, "true"))
    scans = "UNION ALL".join(_SCAN.format(is_page=is_page, kind=kind, table=table, limit=_LIMIT) for kind, is_page in kinds)
    return Statement(_NEAR.format(scans=scans, limit=_LIMIT), [values["vector"]])


def neighbours(seeds: Sequence[Seed]) -> Statement:
    """What stands one step from the first of the order."""
    sql = _NEIGHBOURS.format(rare=_SETTINGS.rare, limit=_LIMIT)
    return Statement(sql, list(seed_values(seeds).values()))
