-- name: current_space
-- The space whose vectors are searched; what the worker last counted in it, and the kinds of vectors that have a working index.
SELECT s.id, s.provider, s.model, s.dim, s.head_count AS heads, s.head_count + s.piece_count + s.page_count AS vectors, ARRAY(
    SELECT right(c.relname, 1)::integer
    FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
    WHERE i.indrelid = to_regclass(format('m_0.vector_%s', s.id)) AND i.indisvalid AND c.relname ~ '_hnsw_[0-2]$'
    ORDER BY c.relname
) AS indexed
FROM m_0.space AS s WHERE s.current;

-- name: list_spaces
-- All spaces of the project; of each the kinds that should have an index, those that have one, and whether one is being built.
SELECT s.id, s.provider, s.model, s.dim, s.current, s.head_count + s.piece_count + s.page_count AS vectors, s.index_kinds,
    coalesce(x.ready, '{}') AS ready, coalesce(x.begun, false) AND EXISTS (
        SELECT FROM pg_catalog.pg_locks AS l
        WHERE l.relation = to_regclass(format('m_0.vector_%s', s.id)) AND l.mode = 'ShareUpdateExclusiveLock' AND l.granted
    ) AS building
FROM m_0.space AS s LEFT JOIN LATERAL (
    SELECT array_agg(right(c.relname, 1)::integer) FILTER (WHERE i.indisvalid) AS ready, bool_or(NOT i.indisvalid) AS begun
    FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
    WHERE i.indrelid = to_regclass(format('m_0.vector_%s', s.id)) AND c.relname ~ '_hnsw_[0-2]$'
) AS x ON true
ORDER BY s.id;

-- name: has_current
-- Whether the project searches any space.
SELECT EXISTS (SELECT FROM m_0.space AS s WHERE s.current) AS found;

-- name: find_space
-- The space $1 in the project: how far it is done, what was counted and how many seconds ago, and from when on its vectors count as
-- fresh, with a limit of $2 days or none.
SELECT s.current, s.done_through, s.head_count, s.piece_count, s.page_count, s.retired_at IS NOT NULL AS retired,
    extract(epoch FROM now() - s.counted_at)::double precision AS counted_ago,
    greatest(s.fresh_from, now() - make_interval(days => $2::integer)) AS fresh_from
FROM m_0.space AS s WHERE s.id = $1;

-- name: revive_space
-- The space is not to be dropped after all.
UPDATE m_0.space AS s SET retired_at = NULL WHERE s.id = $1;

-- name: restart_space
-- All passages are looked at again.
UPDATE m_0.space AS s SET done_through = 0 WHERE s.id = $1;

-- name: begin_anew
-- What was asked for the project $2 by hand is taken up in the space $1: all passages are looked at again, vectors made before the time that
-- was asked are made again, and what failed is tried again.
WITH asked AS (
    SELECT d.project_id, d.anew_from FROM control.due AS d WHERE d.project_id = $2 AND d.anew_from IS NOT NULL FOR UPDATE
), taken AS (
    UPDATE control.due AS d SET anew_from = NULL FROM asked AS a WHERE d.project_id = a.project_id
), again AS (
    DELETE FROM m_0.embed_failure AS f USING asked AS a WHERE f.space_id = $1
)
UPDATE m_0.space AS s SET done_through = 0,
    fresh_from = CASE WHEN a.anew_from > '-infinity' THEN greatest(s.fresh_from, a.anew_from) ELSE s.fresh_from END
FROM asked AS a WHERE s.id = $1;

-- name: searched_space
-- The space that queries use.
SELECT s.id, s.provider, s.model, s.dim FROM m_0.space AS s WHERE s.current;

-- name: note_coverage
-- Keeps how far the project $1 is in the space $2, of which $3 vectors were counted, for whoever asks about all projects.
INSERT INTO control.coverage AS v (project_id, passages, embedded, failed)
SELECT $1, c.documents, least($3, c.documents), (SELECT count(*) FROM m_0.embed_failure AS f WHERE f.space_id = $2 AND f.retry_at IS NULL)
FROM m_0.counter AS c WHERE EXISTS (SELECT FROM control.project AS p WHERE p.id = $1)
ON CONFLICT (project_id) DO UPDATE SET passages = excluded.passages, embedded = excluded.embedded, failed = excluded.failed;

-- name: note_done
-- Everything up to this number is dealt with.
UPDATE m_0.space AS s SET done_through = greatest(s.done_through, $2) WHERE s.id = $1;

-- name: note_counts
-- Counts the vectors of each kind.
WITH counted AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE v.kind = 0) AS heads, count(*) FILTER (WHERE v.kind = 1) AS pieces,
        count(*) FILTER (WHERE v.kind = 2) AS pages
    FROM m_0.vector_0 AS v
)
UPDATE m_0.space AS s SET head_count = c.heads, piece_count = c.pieces, page_count = c.pages, counted_at = now()
FROM counted AS c WHERE s.id = $1
RETURNING s.head_count, s.piece_count, s.page_count;

-- name: note_index_kinds
-- Which kinds of vectors should have an index.
UPDATE m_0.space AS s SET index_kinds = $2::integer[] WHERE s.id = $1 AND s.index_kinds <> $2::integer[];

-- name: retire_others
-- The spaces that no query uses any more, and for how many seconds. Only sent when the space $1 is the current one.
UPDATE m_0.space AS s SET retired_at = coalesce(s.retired_at, now()) WHERE s.id <> $1 AND NOT s.current
RETURNING s.id, extract(epoch FROM now() - s.retired_at)::double precision AS seconds;
