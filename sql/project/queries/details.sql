-- name: event_details
-- Events in short with their names and tags.
SELECT e.id, e.kind, e.summary, e."timestamp", e.session, n.entity_ids, n.entity_names, n.entity_types, t.tag_ids, t.tag_paths
FROM m_0.event AS e
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(x.id ORDER BY x.event_count, x.id), '{}') AS entity_ids,
        coalesce(array_agg(x.name ORDER BY x.event_count, x.id), '{}') AS entity_names,
        coalesce(array_agg(x.type ORDER BY x.event_count, x.id), '{}') AS entity_types
    FROM m_0.participation AS pa JOIN m_0.entity AS x ON x.id = pa.entity_id WHERE pa.event_id = e.id
) AS n
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(x.id ORDER BY x.id), '{}') AS tag_ids, coalesce(array_agg(x.path ORDER BY x.id), '{}') AS tag_paths
    FROM m_0.tag AS x WHERE x.id IN (SELECT m.tag_id FROM m_0.membership AS m WHERE m.event_id = e.id)
) AS t
WHERE e.id = ANY ($1::bigint[]);

-- name: threads_of_events
-- What follows what where one end is one of these events; the parts of one content are no thread.
SELECT l.from_id, l.to_id, l.source FROM m_0.next_link AS l WHERE l.from_id = ANY ($1::bigint[]) AND l.source <> 'chunk_order'
UNION
SELECT l.from_id, l.to_id, l.source FROM m_0.next_link AS l WHERE l.to_id = ANY ($1::bigint[]) AND l.source <> 'chunk_order'
ORDER BY from_id, to_id, source LIMIT $2::bigint;

-- name: session_neighbours
-- Up to $2 events on each side of some events in their sessions; `distance` counts from 1.
SELECT 'before' AS side, n.id, min(n.distance) AS distance
FROM m_0.event AS e CROSS JOIN LATERAL (
    SELECT x.id, row_number() OVER (ORDER BY x.id DESC) AS distance
    FROM (SELECT v.id FROM m_0.event AS v WHERE v.session = e.session AND v.id < e.id ORDER BY v.id DESC LIMIT $2::bigint) AS x
) AS n
WHERE e.id = ANY ($1::bigint[]) GROUP BY n.id
UNION ALL
SELECT 'after' AS side, n.id, min(n.distance) AS distance
FROM m_0.event AS e CROSS JOIN LATERAL (
    SELECT x.id, row_number() OVER (ORDER BY x.id) AS distance
    FROM (SELECT v.id FROM m_0.event AS v WHERE v.session = e.session AND v.id > e.id ORDER BY v.id LIMIT $2::bigint) AS x
) AS n
WHERE e.id = ANY ($1::bigint[]) GROUP BY n.id;

-- name: name_neighbours
-- Up to $2 events on each side of some events in time, for each of the five rarest names of an event; `seconds` lie between them.
WITH named AS (
    SELECT e.id, e."timestamp", r.entity_id, r.name FROM m_0.event AS e CROSS JOIN LATERAL (
        SELECT p.entity_id, x.name FROM m_0.participation AS p JOIN m_0.entity AS x ON x.id = p.entity_id
        WHERE p.event_id = e.id ORDER BY x.event_count, x.id LIMIT 5
    ) AS r
    WHERE e.id = ANY ($1::bigint[]) AND e."timestamp" IS NOT NULL
), sided AS (
    SELECT 'before' AS side, n.event_id AS id, a.name, a."timestamp" - n."timestamp" AS distance FROM named AS a CROSS JOIN LATERAL (
        SELECT p.event_id, p."timestamp" FROM m_0.participation AS p
        WHERE p.entity_id = a.entity_id AND (p."timestamp", p.event_id) < (a."timestamp", a.id)
        ORDER BY p."timestamp" DESC NULLS LAST, p.event_id DESC LIMIT $2::bigint
    ) AS n
    UNION ALL
    SELECT 'after' AS side, n.event_id AS id, a.name, n."timestamp" - a."timestamp" AS distance FROM named AS a CROSS JOIN LATERAL (
        SELECT p.event_id, p."timestamp" FROM m_0.participation AS p
        WHERE p.entity_id = a.entity_id AND (p."timestamp", p.event_id) > (a."timestamp", a.id)
        ORDER BY p."timestamp" ASC NULLS FIRST, p.event_id ASC LIMIT $2::bigint
    ) AS n
)
SELECT s.side, s.id, extract(epoch FROM min(s.distance))::double precision AS seconds, array_agg(DISTINCT s.name ORDER BY s.name) AS names
FROM sided AS s GROUP BY s.side, s.id ORDER BY s.side, seconds, s.id;
