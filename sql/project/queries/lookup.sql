-- name: find_entities
-- Names whose folded spelling is like $1; those that begin with $2 first, then those with most events.
SELECT e.id, e.name, e.type, e.event_count, e.page_count, count(*) OVER () AS total
FROM m_0.entity AS e
WHERE e.folded LIKE $1::text
ORDER BY e.folded = $2::text DESC, e.event_count DESC, e.id LIMIT $3::integer;

-- name: newest_events
-- The newest $2 events of each entity in $1.
SELECT x.entity_id, v.id, v.summary, v."timestamp"
FROM unnest($1::bigint[]) WITH ORDINALITY AS x (entity_id, n)
CROSS JOIN LATERAL (
    SELECT p.event_id FROM m_0.participation AS p WHERE p.entity_id = x.entity_id
    ORDER BY p."timestamp" DESC NULLS LAST, p.event_id DESC LIMIT $2::integer
) AS p
JOIN m_0.event AS v ON v.id = p.event_id
ORDER BY x.n, v."timestamp" DESC NULLS LAST, v.id DESC;

-- name: count_rows
-- How much a project holds.
SELECT (SELECT count(*) FROM m_0.event) AS events, (SELECT count(*) FROM m_0.page) AS pages,
    (SELECT count(*) FROM m_0.session) AS sessions, (SELECT count(*) FROM m_0.entity) AS entities,
    (SELECT count(*) FROM m_0.tag) AS tags, (SELECT c.documents FROM m_0.counter AS c) AS passages,
    (SELECT max(e."timestamp") FROM m_0.event AS e) AS newest_event;

-- name: count_vectors
-- Events and passages with an up-to-date vector in the current space, and those without one whose embedding was given up.
WITH good AS MATERIALIZED (
    SELECT v.passage_id, v.kind FROM m_0.vector_0 AS v JOIN m_0.passage AS p ON p.id = v.passage_id AND p.text_hash = v.text_hash
), failed AS MATERIALIZED (
    SELECT p.event_id IS NOT NULL AND p.number = 0 AS head
    FROM m_0.embed_failure AS f JOIN m_0.space AS s ON s.id = f.space_id AND s.current
        JOIN m_0.passage AS p ON p.id = f.passage_id AND p.text_hash = f.text_hash
    WHERE f.retry_at IS NULL AND NOT EXISTS (SELECT FROM good AS g WHERE g.passage_id = f.passage_id)
)
SELECT count(*) AS passages_embedded, count(*) FILTER (WHERE g.kind = 0) AS events_embedded,
    (SELECT count(*) FROM failed) AS passages_failed, (SELECT count(*) FROM failed AS f WHERE f.head) AS events_failed
FROM good AS g;
