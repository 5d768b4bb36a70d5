-- The vectors of one embedding space. `vector_0` and `{dim}` are put in when it is made. The table is narrow and
-- its vectors stay in the row, since an exact scan over out-of-line values costs nine times as much.
CREATE TABLE vector_0 (
    passage_id bigint PRIMARY KEY REFERENCES passage ON DELETE CASCADE,
    kind smallint NOT NULL,                      -- 0 event head, 1 event piece, 2 page piece
    owner_id bigint NOT NULL,                    -- the event's or the page's id
    text_hash bigint NOT NULL,                   -- of the text that was embedded
    created_at timestamptz NOT NULL DEFAULT now(),
    vector halfvec({dim}) NOT NULL
);
ALTER TABLE vector_0 ALTER COLUMN vector SET STATISTICS 0; -- samples would outlive what was forgotten
CREATE UNIQUE INDEX vector_0_head ON vector_0 (owner_id) WHERE kind = 0;
