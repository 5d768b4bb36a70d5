-- name: entity_numbers
-- The entities of one name, whatever their types; one more than are used shows that there are more.
-- The sum keeps a plan for any LIMIT from reading all entities in their order.
SELECT e.id
FROM m_0.entity AS e
WHERE e.name = $1::text
ORDER BY e.id + 0
LIMIT $2::bigint;

-- name: tag_numbers
-- The tags of one name: a full path or a last segment.
SELECT t.id
FROM m_0.tag AS t
WHERE t.path = $1::text OR t.leaf = $1::text
ORDER BY t.id + 0
LIMIT $2::bigint;

-- name: tags_below
-- Some tags whose path goes on from $1.
SELECT t.path FROM m_0.tag AS t WHERE starts_with(t.path, $1::text || '/') ORDER BY t.path COLLATE "C" LIMIT $2::bigint;

-- name: newest_of_entities
-- The newest events of some entities, each once, straight from the index of each.
SELECT e.event_id
FROM unnest($1::bigint[]) AS n (id)
CROSS JOIN LATERAL (
    SELECT p.event_id, p."timestamp"
    FROM m_0.participation AS p
    WHERE p.entity_id = n.id
    ORDER BY p."timestamp" DESC NULLS LAST, p.event_id DESC
    LIMIT $2::bigint
) AS e
GROUP BY e.event_id, e."timestamp"
ORDER BY e."timestamp" DESC NULLS LAST, e.event_id DESC
LIMIT $2::bigint;

-- name: newest_of_entity
-- The newest events of one entity, straight from the index.
SELECT p.event_id
FROM m_0.participation AS p
WHERE p.entity_id = $1::bigint
ORDER BY p."timestamp" DESC NULLS LAST, p.event_id DESC
LIMIT $2::bigint;

-- name: newest_of_tags
-- The newest events of some tags, each once; both kinds of membership may hold it, so twice as many are read.
SELECT e.event_id
FROM unnest($1::bigint[]) AS n (id)
CROSS JOIN LATERAL (
    SELECT m.event_id, m."timestamp"
    FROM m_0.membership AS m
    WHERE m.tag_id = n.id
    ORDER BY m."timestamp" DESC NULLS LAST, m.event_id DESC
    LIMIT 2 * $2::bigint
) AS e
GROUP BY e.event_id, e."timestamp"
ORDER BY e."timestamp" DESC NULLS LAST, e.event_id DESC
LIMIT $2::bigint;

-- name: known_events
-- Which of some events there are.
SELECT e.id
FROM m_0.event AS e
WHERE e.id = ANY($1::bigint[]);

-- name: unembedded_in_project
-- How many events have no head vector in the space $1: of the passages that it is not done with, and of those that failed.
SELECT count(*) AS unembedded
FROM m_0.space AS s
CROSS JOIN LATERAL (
    SELECT p.event_id
    FROM m_0.passage AS p
    WHERE p.id > s.done_through AND p.event_id IS NOT NULL AND p.number = 0
    UNION ALL
    SELECT p.event_id
    FROM m_0.embed_failure AS f
    INNER JOIN m_0.passage AS p ON p.id = f.passage_id AND p.event_id IS NOT NULL AND p.number = 0
    WHERE f.space_id = s.id AND p.id <= s.done_through
) AS w
LEFT JOIN m_0.vector_0 AS v ON v.owner_id = w.event_id AND v.kind = 0
WHERE s.id = $1::integer AND v.owner_id IS NULL;

-- name: heads_up_to
-- How many head vectors there are, counted up to a number.
SELECT count(*) AS vectors
FROM (SELECT v.owner_id FROM m_0.vector_0 AS v WHERE v.kind = 0 LIMIT $1::bigint) AS counted;

-- name: measured_in_project
-- The events closest to a query vector, every one measured.
WITH measured AS MATERIALIZED (
    SELECT v.owner_id, v.vector <=> $1::text::halfvec AS distance
    FROM m_0.vector_0 AS v
    WHERE v.kind = 0
)
SELECT d.owner_id, 1 - d.distance AS score
FROM measured AS d
ORDER BY d.distance, d.owner_id
LIMIT $2::bigint;

-- name: nearest_in_project
-- The events closest to a query vector by the vector index; sorted again, since an index walk is only nearly in order.
WITH nearest AS MATERIALIZED (
    SELECT v.owner_id, v.vector <=> $1::text::halfvec AS distance
    FROM m_0.vector_0 AS v
    WHERE v.kind = 0
    ORDER BY v.vector <=> $1::text::halfvec
    LIMIT $2::bigint
)
SELECT d.owner_id, 1 - d.distance AS score
FROM nearest AS d
ORDER BY d.distance + 0, d.owner_id;

-- name: measured_of_entities
-- The events of some entities closest to a query vector, every one measured while there are at most $4; else only counted.
WITH scope AS MATERIALIZED (
    SELECT DISTINCT p.event_id
    FROM m_0.participation AS p
    WHERE p.entity_id = ANY($1::bigint[])
    LIMIT $4::bigint + 1
),
counted AS MATERIALIZED (SELECT count(*) AS events FROM scope),
measured AS MATERIALIZED (
    SELECT v.owner_id, v.vector <=> $2::text::halfvec AS distance
    FROM scope AS s
    INNER JOIN m_0.vector_0 AS v ON v.owner_id = s.event_id AND v.kind = 0
    WHERE (SELECT c.events FROM counted AS c) <= $4::bigint
)
SELECT c.events, (SELECT count(*) FROM measured) AS vectors, r.owner_id, 1 - r.distance AS score
FROM counted AS c
LEFT JOIN (SELECT d.owner_id, d.distance FROM measured AS d ORDER BY d.distance, d.owner_id LIMIT $3::bigint) AS r ON true
ORDER BY r.distance, r.owner_id;

-- name: measured_of_tags
-- The events of some tags closest to a query vector, every one measured while there are at most $4; else only counted.
WITH scope AS MATERIALIZED (
    SELECT DISTINCT m.event_id
    FROM m_0.membership AS m
    WHERE m.tag_id = ANY($1::bigint[])
    LIMIT $4::bigint + 1
),
counted AS MATERIALIZED (SELECT count(*) AS events FROM scope),
measured AS MATERIALIZED (
    SELECT v.owner_id, v.vector <=> $2::text::halfvec AS distance
    FROM scope AS s
    INNER JOIN m_0.vector_0 AS v ON v.owner_id = s.event_id AND v.kind = 0
    WHERE (SELECT c.events FROM counted AS c) <= $4::bigint
)
SELECT c.events, (SELECT count(*) FROM measured) AS vectors, r.owner_id, 1 - r.distance AS score
FROM counted AS c
LEFT JOIN (SELECT d.owner_id, d.distance FROM measured AS d ORDER BY d.distance, d.owner_id LIMIT $3::bigint) AS r ON true
ORDER BY r.distance, r.owner_id;

-- name: nearest_of_entities
-- The events of some entities closest to a query vector by the vector index, the scope as a filter that the planner cannot pull up.
WITH nearest AS MATERIALIZED (
    SELECT v.owner_id, v.vector <=> $2::text::halfvec AS distance
    FROM m_0.vector_0 AS v
    WHERE v.kind = 0
        AND (SELECT true FROM m_0.participation AS p WHERE p.event_id = v.owner_id AND p.entity_id = ANY($1::bigint[]) LIMIT 1)
    ORDER BY v.vector <=> $2::text::halfvec
    LIMIT $3::bigint
)
SELECT d.owner_id, 1 - d.distance AS score
FROM nearest AS d
ORDER BY d.distance + 0, d.owner_id;

-- name: nearest_of_tags
-- The events of some tags closest to a query vector by the vector index, the scope as a filter that the planner cannot pull up.
WITH nearest AS MATERIALIZED (
    SELECT v.owner_id, v.vector <=> $2::text::halfvec AS distance
    FROM m_0.vector_0 AS v
    WHERE v.kind = 0
        AND (SELECT true FROM m_0.membership AS m WHERE m.event_id = v.owner_id AND m.tag_id = ANY($1::bigint[]) LIMIT 1)
    ORDER BY v.vector <=> $2::text::halfvec
    LIMIT $3::bigint
)
SELECT d.owner_id, 1 - d.distance AS score
FROM nearest AS d
ORDER BY d.distance + 0, d.owner_id;

-- name: coverage_of_entities
-- How many events some entities have, and how many of them have a head vector.
SELECT count(*) AS events, count(v.owner_id) AS vectors
FROM (SELECT DISTINCT p.event_id FROM m_0.participation AS p WHERE p.entity_id = ANY($1::bigint[])) AS s
LEFT JOIN m_0.vector_0 AS v ON v.owner_id = s.event_id AND v.kind = 0;

-- name: coverage_of_tags
-- How many events some tags have, and how many of them have a head vector.
SELECT count(*) AS events, count(v.owner_id) AS vectors
FROM (SELECT DISTINCT m.event_id FROM m_0.membership AS m WHERE m.tag_id = ANY($1::bigint[])) AS s
LEFT JOIN m_0.vector_0 AS v ON v.owner_id = s.event_id AND v.kind = 0;

-- name: widen_scans
-- Lets scans of the vector index look at $1 rows, and where it can go on scanning until enough rows pass a filter (pgvector 0.8), at up
-- to $2; `mode` is null where it cannot. Reading the literal loads the library: before that its settings are not known to the session.
SELECT
    '[1]'::halfvec IS NOT NULL AS loaded,
    set_config('hnsw.ef_search', $1::text, true) AS candidates,
    CASE WHEN current_setting('hnsw.iterative_scan', true) IS NOT NULL THEN set_config('hnsw.iterative_scan', 'relaxed_order', true) END AS mode,
    CASE WHEN current_setting('hnsw.iterative_scan', true) IS NOT NULL THEN set_config('hnsw.max_scan_tuples', $2::text, true) END AS most;

-- name: event_texts
-- What is shown of events.
SELECT e.id, e.summary, e."timestamp"
FROM m_0.event AS e
WHERE e.id = ANY($1::bigint[]);

-- name: entity_texts
-- What is shown of entities.
SELECT e.id, e.name, e.type
FROM m_0.entity AS e
WHERE e.id = ANY($1::bigint[]);

-- name: tag_texts
-- What is shown of tags.
SELECT t.id, t.path
FROM m_0.tag AS t
WHERE t.id = ANY($1::bigint[]);
