-- deploy: before
-- What the worker knows of a space: what it holds, which indexes it wants, when it went out of use.
ALTER TABLE space
    ADD COLUMN head_count bigint,
    ADD COLUMN piece_count bigint,
    ADD COLUMN page_count bigint,
    ADD COLUMN counted_at timestamptz,
    ADD COLUMN index_kinds integer[] NOT NULL DEFAULT '{}',
    ADD COLUMN fresh_from timestamptz,
    ADD COLUMN retired_at timestamptz;
