"""The streams of memory_query by the best SQL that we can write for each alone: no neighbours in a thread, no filters, nothing fused.

In: the values that our own statements took for one question. Out: statements with their arguments, to be run one after another.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from service.search.parse import SearchSettings

_LIMIT = SearchSettings().stream_size

_NAMES = f"""
WITH named AS MATERIALIZED (
    SELECT id, event_count + page_count AS carried FROM entity WHERE id = ANY($1::bigint[])
    UNION ALL
    (SELECT id, event_count + page_count FROM entity WHERE words @@ (SELECT $2::text::tsquery) ORDER BY 2, 1 LIMIT 20)
)
SELECT p.event_id, sum(1.0::float8 / n.carried) FROM named AS n CROSS JOIN LATERAL (
    SELECT x.event_id FROM participation AS x WHERE x.entity_id = n.id
    ORDER BY x.entity_id, x."timestamp" DESC NULLS LAST, x.event_id DESC LIMIT 1000
) AS p GROUP BY 1 ORDER BY 2 DESC, 1 DESC LIMIT {_LIMIT}
"""

_NEAR = " UNION ALL ".join(
    f"(SELECT owner_id, vector <=> (SELECT $1::text::halfvec) FROM {{table}} WHERE kind = {kind} "
    f"ORDER BY vector <=> (SELECT $1::text::halfvec) LIMIT {_LIMIT})"
    for kind in range(3)
)

_NEIGHBOURS = f"""
(
    SELECT p.event_id, sum(s.fused / e.carried) FROM unnest($1::bigint[], $2::float8[]) AS s (id, fused)
        CROSS JOIN LATERAL (SELECT x.entity_id FROM participation AS x WHERE x.event_id = s.id OFFSET 0) AS c
        CROSS JOIN LATERAL (SELECT x.event_count + x.page_count AS carried FROM entity AS x WHERE x.id = c.entity_id LIMIT 1) AS e
        CROSS JOIN LATERAL (SELECT x.event_id FROM participation AS x WHERE x.entity_id = c.entity_id OFFSET 0) AS p
    WHERE e.carried <= 50 GROUP BY 1 ORDER BY 2 DESC, 1 DESC LIMIT {_LIMIT}
)
UNION ALL
(
    SELECT g.id, sum(s.fused) FROM unnest($3::bigint[], $4::float8[]) AS s (id, fused)
        CROSS JOIN LATERAL (SELECT x.target FROM page_link AS x WHERE x.from_id = s.id OFFSET 0) AS l
        CROSS JOIN LATERAL (SELECT x.id FROM page AS x WHERE x.names @> ARRAY[l.target] OFFSET 0) AS g
    GROUP BY 1 ORDER BY 2 DESC, 1 DESC LIMIT {_LIMIT}
)
"""


class Statement(msgspec.Struct, frozen=True):
    """SQL with numbered arguments."""

    sql: str
    arguments: Sequence[Any]


def words(values: Mapping[str, Any]) -> Statement:
    """Text match: every candidate's score, the best 200 events and pages."""
    count = sum(name.startswith("query_") for name in values)
    terms = " + ".join(f"${2 * n}::float8 * ts_rank(words, (SELECT ${2 * n + 1}::text::tsquery))" for n in range(2, count + 2))
    best = " UNION ALL ".join(
        f"(SELECT {owner}, max(score) FROM found WHERE {owner} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 DESC LIMIT {_LIMIT})"
        for owner in ("event_id", "page_id")
    )
    sql = (
        f"WITH found AS MATERIALIZED (SELECT event_id, page_id, ({terms}) / sqrt(0.6 + 0.4 * length / $2::float8) AS score FROM passage "
        f"WHERE words @@ (SELECT $1::text::tsquery) AND id + 0 > $3::bigint) {best}"
    )
    weighed = [values[f"{name}_{n}"] for n in range(1, count + 1) for name in ("weight", "query")]
    return Statement(sql, [values["candidates"], values["mean_length"], values["after"], *weighed])


def names(values: Mapping[str, Any]) -> Statement:
    """Events of the entities that a question names."""
    return Statement(_NAMES, [values["entities"], values["starts"]])


def near(values: Mapping[str, Any], table: str) -> Statement:
    """The nearest events and pages, through the indexes."""
    return Statement(_NEAR.format(table=table), [values["vector"]])


def neighbours(seeds: Sequence[Mapping[str, Any]]) -> Statement:
    """What shares a rare entity with the first of the order, or is linked from it."""
    split = [[seed for seed in seeds if seed["is_page"] == is_page] for is_page in (False, True)]
    return Statement(_NEIGHBOURS, [[seed[name] for seed in part] for part in split for name in ("id", "fused")])
