-- name: due_passages
-- Passages after number $1 without an up-to-date vector in the space $2, made from $4 on where that is given, and without a failure
-- that is to wait.
SELECT p.id, p.event_id, p.page_id, p.number, p.title_path, p.text, p.text_hash
FROM m_0.passage AS p
LEFT JOIN m_0.vector_0 AS v ON v.passage_id = p.id AND v.text_hash = p.text_hash AND ($4::timestamptz IS NULL OR v.created_at >= $4)
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

-- name: next_retry
-- Seconds until the next failed passage may be tried again.
SELECT extract(epoch FROM min(f.retry_at) - now())::double precision AS seconds FROM m_0.embed_failure AS f WHERE f.space_id = $1;

-- name: count_due
-- How many passages there are, and why those that are due are: without a vector in the space $1, changed since, older than $2, failed and
-- tried again later; `failed` are given up and not due.
SELECT count(*) AS passages, count(*) FILTER (WHERE v.passage_id IS NULL AND f.passage_id IS NULL) AS missing,
    count(*) FILTER (WHERE v.text_hash <> p.text_hash AND f.passage_id IS NULL) AS changed,
    count(*) FILTER (WHERE v.text_hash = p.text_hash AND v.created_at < $2 AND f.passage_id IS NULL) AS stale,
    count(*) FILTER (WHERE f.retry_at IS NOT NULL) AS waiting, count(*) FILTER (WHERE f.passage_id IS NOT NULL AND f.retry_at IS NULL) AS failed
FROM m_0.passage AS p
LEFT JOIN m_0.vector_0 AS v ON v.passage_id = p.id
LEFT JOIN m_0.embed_failure AS f ON f.space_id = $1 AND f.passage_id = p.id AND f.text_hash = p.text_hash;

-- name: count_passages
-- How many passages there are.
SELECT c.documents AS passages FROM m_0.counter AS c;

-- name: find_own_space
-- A space of the project by provider, model and size, and from when on its vectors are new enough, where that was asked for.
SELECT s.id, s.provider, s.model, s.dim, s.current, s.fresh_from FROM m_0.space AS s
WHERE (s.provider, s.model, s.dim) = ($1::text, $2::text, $3::integer);
