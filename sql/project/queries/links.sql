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

-- name: find_events
-- Which of two events there are.
SELECT e.id FROM m_0.event AS e WHERE e.id = ANY ($1::bigint[]);

-- name: named_entities
-- The entities of one number, or of one name, whatever their types.
SELECT e.id, e.name, e.type FROM m_0.entity AS e WHERE e.id = $1::bigint OR ($1::bigint IS NULL AND e.name = $2::text) ORDER BY e.id LIMIT 21;

-- name: add_next
-- One event follows another.
INSERT INTO m_0.next_link (from_id, to_id, source) VALUES ($1::bigint, $2::bigint, $3::text) ON CONFLICT DO NOTHING RETURNING 'created' AS outcome;

-- name: follows_already
-- Whether the second of two events is followed by the first.
SELECT EXISTS (SELECT FROM m_0.next_link AS l WHERE l.from_id = $2::bigint AND l.to_id = $1::bigint) AS back;

-- name: remove_next
-- One event follows another no more.
DELETE FROM m_0.next_link AS l WHERE l.from_id = $1::bigint AND l.to_id = $2::bigint AND l.source = $3::text RETURNING 'revoked' AS outcome;

-- name: add_resolution
-- A plan was realized; one that was revoked stands again, asserted now.
INSERT INTO m_0.resolution AS r (plan_id, evidence_id, asserted_by) VALUES ($1::bigint, $2::bigint, $3::text)
ON CONFLICT (plan_id, evidence_id, relation) DO UPDATE
    SET asserted_at = now(), asserted_by = excluded.asserted_by, revoked_at = NULL WHERE r.revoked_at IS NOT NULL
RETURNING CASE WHEN xmax = 0 THEN 'created' ELSE 'revived' END AS outcome;

-- name: revoke_resolution
-- A plan was not realized by this after all; that it was said stays known.
UPDATE m_0.resolution AS r SET revoked_at = now()
WHERE r.plan_id = $1::bigint AND r.evidence_id = $2::bigint AND r.revoked_at IS NULL RETURNING 'revoked' AS outcome;

-- name: add_alias
-- Two entities are one thing, the lower number first; another confidence replaces the one that stands.
INSERT INTO m_0.alias AS s (a_id, b_id, confidence, asserted_by) VALUES ($1::bigint, $2::bigint, $3::real, $4::text)
ON CONFLICT (a_id, b_id) DO UPDATE
    SET confidence = excluded.confidence, asserted_by = excluded.asserted_by, asserted_at = now()
    WHERE s.confidence <> excluded.confidence
RETURNING CASE WHEN xmax = 0 THEN 'created' ELSE 'changed' END AS outcome;

-- name: remove_alias
-- Two entities are not one thing.
DELETE FROM m_0.alias AS s WHERE s.a_id = $1::bigint AND s.b_id = $2::bigint RETURNING 'revoked' AS outcome;
