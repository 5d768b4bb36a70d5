-- name: find_space
-- Whether the project has the space, and how far it is done.
SELECT s.id, s.current, s.done_through FROM m_0.space AS s WHERE s.id = $1;

-- name: has_current
-- Whether the project searches any space.
SELECT EXISTS (SELECT FROM m_0.space AS s WHERE s.current) AS found;

-- name: due_passages
-- Passages after number $1 without an up-to-date vector in the space $2, and without a failure that is to wait.
SELECT p.id, p.event_id, p.page_id, p.number, p.title_path, p.text, p.text_hash
FROM m_0.passage AS p
LEFT JOIN m_0.vector_0 AS v ON v.passage_id = p.id AND v.text_hash = p.text_hash
LEFT JOIN m_0.embed_failure AS f ON f.space_id = $2 AND f.passage_id = p.id AND f.text_hash = p.text_hash
WHERE p.id > $1 AND v.passage_id IS NULL AND f.passage_id IS NULL
ORDER BY p.id LIMIT $3;

-- name: retry_passages
-- Passages whose embedding failed and may be tried again now.
SELECT p.id, p.event_id, p.page_id, p.number, p.title_path, p.text, p.text_hash
FROM m_0.embed_failure AS f JOIN m_0.passage AS p ON p.id = f.passage_id
WHERE f.space_id = $1 AND f.retry_at <= now() ORDER BY f.retry_at LIMIT $2;

-- name: store_vectors
-- Stores vectors for passages that still say what was embedded.
WITH given AS (
    SELECT g.id, g.text_hash, g.vector FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS g (id, text_hash, vector)
), stored AS (
    INSERT INTO m_0.vector_0 (passage_id, kind, owner_id, text_hash, vector)
    SELECT p.id, CASE WHEN p.page_id IS NOT NULL THEN 2 WHEN p.number = 0 THEN 0 ELSE 1 END, coalesce(p.event_id, p.page_id),
        g.text_hash, g.vector::halfvec
    FROM given AS g JOIN m_0.passage AS p ON p.id = g.id AND p.text_hash = g.text_hash
    ON CONFLICT (passage_id) DO UPDATE SET text_hash = excluded.text_hash, vector = excluded.vector, created_at = now()
    RETURNING passage_id
)
DELETE FROM m_0.embed_failure AS f USING stored AS s WHERE f.passage_id = s.passage_id AND f.space_id = $4;

-- name: note_failures
-- Passages that got no vector: tried again after a while that doubles, given up after $5 tries or when trying cannot help.
INSERT INTO m_0.embed_failure AS f (passage_id, space_id, text_hash, attempts, reason, retry_at)
SELECT p.id, $1, p.text_hash, 1, g.reason, CASE WHEN g.lasting THEN NULL ELSE now() + interval '30 seconds' END
FROM unnest($2::bigint[], $3::text[], $4::boolean[]) AS g (id, reason, lasting) JOIN m_0.passage AS p ON p.id = g.id
ON CONFLICT (space_id, passage_id) DO UPDATE SET
    text_hash = excluded.text_hash, reason = excluded.reason,
    attempts = CASE WHEN f.text_hash = excluded.text_hash THEN f.attempts + 1 ELSE 1 END,
    retry_at = CASE WHEN excluded.retry_at IS NULL OR (f.text_hash = excluded.text_hash AND f.attempts + 1 >= $5) THEN NULL
        ELSE now() + interval '30 seconds' * power(2, f.attempts) END;

-- name: last_passage
-- The highest number that a passage has been given.
SELECT c.passages FROM m_0.counter AS c;

-- name: note_done
-- Everything up to this number is dealt with.
UPDATE m_0.space AS s SET done_through = greatest(s.done_through, $2) WHERE s.id = $1;

-- name: switch_space
-- Queries use this space from now on.
UPDATE m_0.space AS s SET current = s.id = $1 WHERE s.current OR s.id = $1;

-- name: next_retry
-- Seconds until the next failed passage may be tried again.
SELECT extract(epoch FROM min(f.retry_at) - now())::double precision AS seconds FROM m_0.embed_failure AS f WHERE f.space_id = $1;
