-- name: save_events
-- Stores a batch; see sql/project/functions/save_events.sql for the shape of $1.
SELECT s.row, s.item, s.part, s.id, s.known, s.problem FROM m_0.m_0_save_events($1::jsonb) AS s;

-- name: save_passages
-- Stores further passages of rows that save_events has stored: their numbers by row, null for a row that was not stored.
SELECT m_0.m_0_save_passages($1::jsonb, $2::bigint[]);

-- name: known_keys
-- Which of these ingest keys were seen before, and for which events.
SELECT e.ingest_key AS key, e.id FROM m_0.event AS e WHERE e.ingest_key = ANY ($1::text[]);

-- name: delete_events
-- Deletes events with the later parts of their contents; gives the numbers that are gone.
SELECT m_0.m_0_delete_events($1::bigint[]);

-- name: event_to_correct
-- What a correction starts from; `alone` when the event holds its whole content.
SELECT e.kind, e.summary, e.content, e."timestamp", coalesce(v.latest, 0) + 1 AS version, n.names, n.types,
    NOT EXISTS (SELECT FROM m_0.next_link AS l WHERE l.source = 'chunk_order' AND l.from_id = e.id)
        AND NOT EXISTS (SELECT FROM m_0.next_link AS l WHERE l.source = 'chunk_order' AND l.to_id = e.id) AS alone
FROM m_0.event AS e
CROSS JOIN LATERAL (SELECT max(v.version) AS latest FROM m_0.event_version AS v WHERE v.event_id = e.id) AS v
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(x.name ORDER BY x.id), '{}') AS names, coalesce(array_agg(x.type ORDER BY x.id), '{}') AS types
    FROM m_0.participation AS pa JOIN m_0.entity AS x ON x.id = pa.entity_id WHERE pa.event_id = e.id
) AS n
WHERE e.id = $1::bigint;

-- name: update_event
-- Corrects an event; see sql/project/functions/update_event.sql for the shape of $1.
SELECT u.version, u.outcome FROM m_0.m_0_update_event($1::jsonb) AS u;

-- name: read_events
-- Events whole, with entities, tags, later parts of the content and what they follow in a thread.
SELECT e.id, e.kind, e.summary, e.content, e."timestamp", e.session, e.author, e.created_at,
    (SELECT coalesce(max(v.version), 0) + 1 FROM m_0.event_version AS v WHERE v.event_id = e.id) AS version,
    n.entity_ids, n.entity_names, n.entity_types, t.tag_ids, t.tag_paths, t.tag_kinds, c.chunks, p.previous
FROM m_0.event AS e
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(x.id ORDER BY x.id), '{}') AS entity_ids, coalesce(array_agg(x.name ORDER BY x.id), '{}') AS entity_names,
        coalesce(array_agg(x.type ORDER BY x.id), '{}') AS entity_types
    FROM m_0.participation AS pa JOIN m_0.entity AS x ON x.id = pa.entity_id WHERE pa.event_id = e.id
) AS n
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(x.id ORDER BY x.id, m.kind), '{}') AS tag_ids, coalesce(array_agg(x.path ORDER BY x.id, m.kind), '{}') AS tag_paths,
        coalesce(array_agg(m.kind ORDER BY x.id, m.kind), '{}') AS tag_kinds
    FROM m_0.membership AS m JOIN m_0.tag AS x ON x.id = m.tag_id WHERE m.event_id = e.id
) AS t
CROSS JOIN LATERAL (
    WITH RECURSIVE chunk AS (
        SELECT e.id
        UNION
        SELECT l.to_id FROM chunk JOIN m_0.next_link AS l ON l.from_id = chunk.id AND l.source = 'chunk_order'
    )
    SELECT coalesce(array_agg(chunk.id ORDER BY chunk.id) FILTER (WHERE chunk.id <> e.id), '{}') AS chunks FROM chunk
) AS c
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(l.from_id ORDER BY l.from_id), '{}') AS previous
    FROM m_0.next_link AS l WHERE l.to_id = e.id AND l.source = 'thread'
) AS p
WHERE e.id = ANY ($1::bigint[]);
