-- name: save_events
-- Stores a batch; see sql/project/functions/save_events.sql for the shape of $1.
SELECT s.row, s.item, s.part, s.id, s.known, s.problem FROM m_0.save_events($1::jsonb) AS s;

-- name: delete_events
-- Deletes events with the later parts of their contents; gives the numbers that are gone.
SELECT m_0.delete_events($1::bigint[]);

-- name: read_events
-- Events whole, with entities, tags, later parts of the content and what they follow in a thread.
SELECT e.id, e.kind, e.summary, e.content, e."timestamp", e.session, e.author, e.created_at,
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
        UNION ALL
        SELECT l.to_id FROM chunk JOIN m_0.next_link AS l ON l.from_id = chunk.id AND l.source = 'chunk_order'
    )
    SELECT coalesce(array_agg(chunk.id ORDER BY chunk.id) FILTER (WHERE chunk.id <> e.id), '{}') AS chunks FROM chunk
) AS c
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(l.from_id ORDER BY l.from_id), '{}') AS previous
    FROM m_0.next_link AS l WHERE l.to_id = e.id AND l.source = 'thread'
) AS p
WHERE e.id = ANY ($1::bigint[]);
