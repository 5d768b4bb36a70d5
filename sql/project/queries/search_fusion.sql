-- The parts of the last stage; compile.py joins them: ranks within the streams, the graph's neighbours of the first, the fused order,
-- what is shown. Streams: 1 words, 2 names, 3 graph, 4 vectors. Where `…_ranks()` or `steps()` stands, the columns of the part of that name come, or none.

-- name: list
-- The lists of candidates: for each stream and project those of pages and those of events.
SELECT l.* FROM unnest(:streams::integer[], :places::integer[], :pages::boolean[], :ids::text[], :passages::text[], :scores::text[])
    AS l (stream, place, is_page, ids, passages, scores);

-- name: candidate
-- What the streams found, ranked within each stream from 1; `place` numbers the projects, and is left out where there is one. The lists come
-- as text, as the streams gave them. Stream by stream: sorting by the stream too would look at two columns for each comparison.
SELECT s.stream, r.*
FROM generate_series(1, 4) AS s (stream) CROSS JOIN LATERAL (
    SELECT c.place, c.is_page, c.id, c.passage, row_number() OVER (ORDER BY c.score DESC, c.is_page DESC, c.place, c.id DESC) AS rank
    FROM (
        SELECT l.place, l.is_page, unnest(l.ids::bigint[]) AS id, unnest(l.passages::bigint[]) AS passage,
            unnest(l.scores::double precision[]) AS score
        FROM list AS l WHERE l.stream = s.stream
    ) AS c
) AS r;

-- name: fused
-- Reciprocal rank fusion: each stream adds weight/(k + rank), an absent one nothing. The sum is made in the order of the streams, in which
-- the candidates come.
SELECT c.place, c.is_page, c.id, coalesce(max(c.passage) FILTER (WHERE c.stream = 1), max(c.passage)) AS passage,
    sum((:weights::double precision[])[c.stream] / (:k::double precision + c.rank)) AS fused, fused_ranks()
FROM candidate AS c GROUP BY c.place, c.is_page, c.id;

-- name: fused_ranks
-- The rank in each stream, where it is asked for: it costs as much as the fusing.
SELECT max(c.rank) FILTER (WHERE c.stream = 1) AS fts_rank, max(c.rank) FILTER (WHERE c.stream = 2) AS entity_rank,
    max(c.rank) FILTER (WHERE c.stream = 3) AS graph_rank, max(c.rank) FILTER (WHERE c.stream = 4) AS vector_rank
FROM candidate AS c;

-- name: seed
-- The first of the fused order so far: where the graph stream starts.
SELECT f.place, f.is_page, f.id, f.fused FROM fused AS f
ORDER BY f.fused DESC, f.is_page DESC, f.place, f.id DESC LIMIT :seeds::bigint;

-- name: given_seed
-- The same, when the order was made over several projects.
SELECT s.is_page, s.id, s.fused FROM unnest(:seed_pages::boolean[], :seed_ids::bigint[], :seed_scores::double precision[]) AS s (is_page, id, fused);

-- name: shared
-- Which rare entities the seeds carry. Each step from a seed is a look into an index, however the tables have grown since they were
-- last measured: LIMIT and OFFSET keep the planner from reading them whole.
SELECT s.is_page, s.id, s.fused, e.id AS entity, e.name, e.carried
FROM (
    SELECT s.is_page, s.id, s.fused, p.entity_id
    FROM seed AS s CROSS JOIN LATERAL (SELECT x.entity_id FROM m_0.participation AS x WHERE x.event_id = s.id OFFSET 0) AS p WHERE NOT s.is_page
    UNION ALL
    SELECT s.is_page, s.id, s.fused, p.entity_id
    FROM seed AS s CROSS JOIN LATERAL (SELECT x.entity_id FROM m_0.page_entity AS x WHERE x.page_id = s.id OFFSET 0) AS p WHERE s.is_page
) AS s CROSS JOIN LATERAL (
    SELECT x.id, x.name, x.event_count + x.page_count AS carried FROM m_0.entity AS x WHERE x.id = s.entity_id LIMIT 1
) AS e
WHERE e.carried <= :rare::bigint;

-- name: edge
-- One step from the seeds: links between pages, both ways, NEXT and RESOLVED_BY, both ways, each once, however many names of a page are
-- linked; and shared rare entities, by each seed that has one, also where two have the same score. `step` and what it went by, a seed or a name.
SELECT true AS is_page, t.id, s.fused AS score, 'LINKS pg_' AS step, s.id AS seed, NULL::text AS name
FROM seed AS s CROSS JOIN LATERAL (SELECT x.target FROM m_0.page_link AS x WHERE x.from_id = s.id OFFSET 0) AS l
    CROSS JOIN LATERAL (SELECT x.id FROM m_0.page AS x WHERE x.names @> ARRAY[l.target] OFFSET 0) AS t
WHERE s.is_page AND t.id <> s.id
UNION
SELECT true AS is_page, l.from_id AS id, s.fused AS score, 'LINKED_BY pg_' AS step, s.id AS seed, NULL::text AS name
FROM seed AS s CROSS JOIN LATERAL (SELECT unnest(x.names) AS name FROM m_0.page AS x WHERE x.id = s.id OFFSET 0) AS n
    CROSS JOIN LATERAL (SELECT x.from_id FROM m_0.page_link AS x WHERE x.target = n.name OFFSET 0) AS l
WHERE s.is_page AND l.from_id <> s.id
UNION
SELECT false AS is_page, n.to_id AS id, s.fused AS score, 'NEXT evt_' AS step, s.id AS seed, NULL::text AS name
FROM seed AS s CROSS JOIN LATERAL (SELECT x.to_id FROM m_0.next_link AS x WHERE x.from_id = s.id OFFSET 0) AS n WHERE NOT s.is_page
UNION
SELECT false AS is_page, n.from_id AS id, s.fused AS score, 'NEXT evt_' AS step, s.id AS seed, NULL::text AS name
FROM seed AS s CROSS JOIN LATERAL (SELECT x.from_id FROM m_0.next_link AS x WHERE x.to_id = s.id OFFSET 0) AS n WHERE NOT s.is_page
UNION
SELECT false AS is_page, r.evidence_id AS id, s.fused AS score, 'RESOLVED_BY evt_' AS step, s.id AS seed, NULL::text AS name
FROM seed AS s CROSS JOIN LATERAL (
    SELECT x.evidence_id FROM m_0.resolution AS x WHERE x.plan_id = s.id AND x.revoked_at IS NULL OFFSET 0
) AS r WHERE NOT s.is_page
UNION
SELECT false AS is_page, r.plan_id AS id, s.fused AS score, 'RESOLVED_BY evt_' AS step, s.id AS seed, NULL::text AS name
FROM seed AS s CROSS JOIN LATERAL (
    SELECT x.plan_id FROM m_0.resolution AS x WHERE x.evidence_id = s.id AND x.revoked_at IS NULL OFFSET 0
) AS r WHERE NOT s.is_page
UNION ALL
SELECT false AS is_page, p.event_id AS id, s.fused / s.carried AS score, 'SHARES ' AS step, NULL::bigint AS seed, s.name
FROM shared AS s CROSS JOIN LATERAL (SELECT x.event_id FROM m_0.participation AS x WHERE x.entity_id = s.entity OFFSET 0) AS p
WHERE s.is_page OR p.event_id <> s.id
UNION ALL
SELECT true AS is_page, p.page_id AS id, s.fused / s.carried AS score, 'SHARES ' AS step, NULL::bigint AS seed, s.name
FROM shared AS s CROSS JOIN LATERAL (SELECT x.page_id FROM m_0.page_entity AS x WHERE x.entity_id = s.entity OFFSET 0) AS p
WHERE NOT s.is_page OR p.page_id <> s.id;

-- name: neighbour
-- The graph stream: what stands next to the seeds, by the sum of what each step brings.
(
    SELECT false AS is_page, e.id, sum(e.score ORDER BY e.score) AS score, steps()
    FROM edge AS e WHERE NOT e.is_page AND wanted_event(e.id) GROUP BY e.id ORDER BY 3 DESC, 2 DESC LIMIT :stream_size::bigint
)
UNION ALL
(
    SELECT true AS is_page, e.id, sum(e.score ORDER BY e.score) AS score, steps()
    FROM edge AS e WHERE e.is_page AND wanted_page(e.id) GROUP BY e.id ORDER BY 3 DESC, 2 DESC LIMIT :stream_size::bigint
);

-- name: steps
-- The three that bring the most, each once, where they are asked for.
SELECT (
    SELECT array_agg(v.via ORDER BY v.score DESC, v.via)
    FROM (
        SELECT s.via, max(s.score) AS score
        FROM unnest(array_agg(e.step || coalesce(e.name, e.seed::text)), array_agg(e.score)) AS s (via, score)
        GROUP BY s.via ORDER BY 2 DESC, 1 LIMIT 3
    ) AS v
) AS via FROM edge AS e;

-- name: refused
-- The order with the graph's neighbours as a stream of its own.
SELECT coalesce(f.place, 1) AS place, coalesce(f.is_page, n.is_page) AS is_page, coalesce(f.id, n.id) AS id, f.passage,
    coalesce(f.fused, 0) + coalesce(:graph_weight::double precision / (:k::double precision + n.rank), 0) AS fused, refused_ranks()
FROM fused AS f FULL JOIN (
    SELECT n.*, row_number() OVER (ORDER BY n.score DESC, n.is_page DESC, n.id DESC) AS rank FROM neighbour AS n
) AS n ON n.is_page = f.is_page AND n.id = f.id;

-- name: refused_ranks
-- The rank in each stream there, and the steps that led to it.
SELECT f.fts_rank, f.entity_rank, n.rank AS graph_rank, f.vector_rank, n.via FROM fused AS f CROSS JOIN neighbour AS n;

-- name: chosen
-- The first of each list.
(SELECT f.* FROM refused AS f WHERE f.is_page ORDER BY f.fused DESC, f.place, f.id DESC LIMIT :take::bigint)
UNION ALL
(SELECT f.* FROM refused AS f WHERE NOT f.is_page ORDER BY f.fused DESC, f.place, f.id DESC LIMIT :take::bigint);

-- name: given_chosen
-- The same, when the order was made over several projects.
SELECT c.is_page, c.id, c.passage FROM unnest(:chosen_pages::boolean[], :chosen_ids::bigint[], :chosen_passages::bigint[]) AS c (is_page, id, passage);

-- name: shown
-- What a hit shows; its text is the best passage, else the first.
SELECT c.*, o.kind, o.summary, o.session, s.uuid, o."timestamp", o.path, o.title, o.updated_at,
    coalesce(
        (SELECT x.text FROM m_0.passage AS x WHERE x.id = c.passage),
        (SELECT x.text FROM m_0.passage AS x WHERE c.is_page AND x.page_id = c.id ORDER BY x.number LIMIT 1),
        (SELECT x.text FROM m_0.passage AS x WHERE NOT c.is_page AND x.event_id = c.id ORDER BY x.number LIMIT 1)
    ) AS text
FROM chosen AS c
    CROSS JOIN LATERAL (
        (
            SELECT e.kind, e.summary, e.session, e."timestamp", NULL::text AS path, NULL::text AS title, NULL::timestamptz AS updated_at
            FROM m_0.event AS e WHERE NOT c.is_page AND e.id = c.id LIMIT 1
        )
        UNION ALL
        (
            SELECT NULL, NULL, NULL, NULL, g.path, g.title, g.updated_at FROM m_0.page AS g WHERE c.is_page AND g.id = c.id LIMIT 1
        )
    ) AS o
    LEFT JOIN LATERAL (SELECT n.uuid FROM m_0.session AS n WHERE n.name = o.session LIMIT 1) AS s ON true;
