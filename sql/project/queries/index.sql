-- name: find_indexes
-- The vector indexes of a space, and which of them can be used.
SELECT right(c.relname, 1)::integer AS kind, i.indisvalid AS valid
FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass('m_0.vector_0') AND c.relname ~ '_hnsw_[0-2]$';

-- name: create_index_0
-- The index of the heads of events.
CREATE INDEX CONCURRENTLY vector_0_hnsw_0 ON m_0.vector_0 USING hnsw (vector halfvec_cosine_ops)
WITH (m = 16, ef_construction = 128) WHERE kind = 0;

-- name: create_index_1
-- The index of the later pieces of events.
CREATE INDEX CONCURRENTLY vector_0_hnsw_1 ON m_0.vector_0 USING hnsw (vector halfvec_cosine_ops)
WITH (m = 16, ef_construction = 128) WHERE kind = 1;

-- name: create_index_2
-- The index of the pieces of pages.
CREATE INDEX CONCURRENTLY vector_0_hnsw_2 ON m_0.vector_0 USING hnsw (vector halfvec_cosine_ops)
WITH (m = 16, ef_construction = 128) WHERE kind = 2;

-- name: drop_index_0
-- What is left of an index whose building did not end.
DROP INDEX CONCURRENTLY IF EXISTS m_0.vector_0_hnsw_0;

-- name: drop_index_1
-- What is left of an index whose building did not end.
DROP INDEX CONCURRENTLY IF EXISTS m_0.vector_0_hnsw_1;

-- name: drop_index_2
-- What is left of an index whose building did not end.
DROP INDEX CONCURRENTLY IF EXISTS m_0.vector_0_hnsw_2;

-- name: give_memory
-- How much memory building may take, how many helpers, and no limit of time.
SELECT set_config('maintenance_work_mem', $1, false), set_config('max_parallel_maintenance_workers', '0', false),
    set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false);

-- name: try_lock_index
-- One worker at a time builds the indexes of a project.
SELECT pg_try_advisory_lock(hashtextextended('muniment index ' || $1, 0)) AS taken;

-- name: unlock_index
-- Gives the lock back.
SELECT pg_advisory_unlock(hashtextextended('muniment index ' || $1, 0));
