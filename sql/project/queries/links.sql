-- name: lock_project
-- The counter's row is taken first by whoever writes or deletes.
SELECT c.events FROM m_0.counter AS c FOR UPDATE;

-- name: number_entities
-- The number of each entity given by name and type, in the order given; null where there is none.
SELECT e.id FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS g (name, type, n)
LEFT JOIN m_0.entity AS e ON e.name = g.name AND e.type = g.type
ORDER BY g.n;

-- name: add_aliases
-- Stores each pair once, the lower number first; a pair that stands gets the new confidence, and stays as it is when that is its own.
INSERT INTO m_0.alias AS s (a_id, b_id, confidence, asserted_by)
SELECT g.a_id, g.b_id, g.confidence, $4::text FROM unnest($1::bigint[], $2::bigint[], $3::real[]) AS g (a_id, b_id, confidence)
ON CONFLICT (a_id, b_id) DO UPDATE
    SET confidence = excluded.confidence, asserted_by = excluded.asserted_by, asserted_at = now()
    WHERE s.confidence <> excluded.confidence
RETURNING s.a_id;
