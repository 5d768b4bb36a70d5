-- What one project holds. Applied with search_path on the project's own schema, so no name is qualified.
-- Public ids are the numbers here with a prefix: evt_42, ent_7, tag_3, pg_12.
-- Text columns keep no statistics: histograms would hold samples of what people wrote.

CREATE TABLE counter (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    events bigint NOT NULL DEFAULT 0,            -- the last event number given; gap-free when given, never used again
    entities bigint NOT NULL DEFAULT 0,
    tags bigint NOT NULL DEFAULT 0,
    pages bigint NOT NULL DEFAULT 0,
    passages bigint NOT NULL DEFAULT 0,
    documents bigint NOT NULL DEFAULT 0,         -- passages that stand now, and the sum of their lengths in words:
    words bigint NOT NULL DEFAULT 0              -- what ranking by rarity needs
);
INSERT INTO counter DEFAULT VALUES;

CREATE TABLE session (
    name text PRIMARY KEY CHECK (char_length(name) BETWEEN 1 AND 200),
    uuid uuid NOT NULL UNIQUE,
    agent text,
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz
);

CREATE TABLE event (
    id bigint PRIMARY KEY,                       -- its order_index too
    session text REFERENCES session (name),
    kind text NOT NULL DEFAULT 'note',
    summary text NOT NULL CHECK (char_length(summary) BETWEEN 1 AND 500),
    content text CHECK (char_length(content) <= 50000),
    "timestamp" timestamptz,
    author text,
    ingest_key text UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX event_newest ON event ("timestamp" DESC NULLS LAST, id DESC);
CREATE INDEX event_session ON event (session, id) WHERE session IS NOT NULL;

CREATE TABLE event_version (
    event_id bigint NOT NULL REFERENCES event ON DELETE CASCADE,
    version integer NOT NULL,                    -- the one that stands has the next number, and 1 without a row here
    kind text NOT NULL,
    summary text NOT NULL,
    content text,
    "timestamp" timestamptz,
    author text,
    replaced_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (event_id, version)
);

CREATE TABLE entity (
    id bigint PRIMARY KEY,
    name text NOT NULL,
    type text NOT NULL,
    folded text NOT NULL,                        -- NFKC and casefold of the name: CONTAINS and look-ups read this
    event_count bigint NOT NULL DEFAULT 0,       -- exact: events it takes part in
    page_count bigint NOT NULL DEFAULT 0,
    words tsvector GENERATED ALWAYS AS (         -- the folded name's words, of which a query may give the beginning of one
        array_to_tsvector(array_remove(regexp_split_to_array(folded, '[\u0001-/:-@\[-`{-\u00bf\u2000-\u206f\u3000-\u3020]+'), ''))
    ) STORED,
    UNIQUE (name, type)
);
CREATE INDEX entity_folded ON entity (folded text_pattern_ops);
CREATE INDEX entity_words ON entity USING gin (words);

CREATE TABLE participation (
    event_id bigint NOT NULL REFERENCES event ON DELETE CASCADE,
    entity_id bigint NOT NULL REFERENCES entity ON DELETE CASCADE,
    "timestamp" timestamptz,                     -- the event's, so that "newest first" is one index scan
    PRIMARY KEY (event_id, entity_id)
);
CREATE INDEX participation_newest ON participation (entity_id, "timestamp" DESC NULLS LAST, event_id DESC);

CREATE TABLE tag (
    id bigint PRIMARY KEY,
    path text NOT NULL UNIQUE,
    leaf text NOT NULL,                          -- last segment of the path
    folded text NOT NULL
);
CREATE INDEX tag_leaf ON tag (leaf);

CREATE TABLE membership (
    event_id bigint NOT NULL REFERENCES event ON DELETE CASCADE,
    tag_id bigint NOT NULL REFERENCES tag ON DELETE CASCADE,
    kind text NOT NULL CHECK (kind IN ('contains', 'refers')),
    "timestamp" timestamptz,                     -- the event's
    PRIMARY KEY (event_id, tag_id, kind)
);
CREATE INDEX membership_newest ON membership (tag_id, "timestamp" DESC NULLS LAST, event_id DESC);

CREATE TABLE next_link (
    from_id bigint NOT NULL REFERENCES event ON DELETE CASCADE,
    to_id bigint NOT NULL REFERENCES event ON DELETE CASCADE,
    source text NOT NULL CHECK (source IN
        ('thread', 'chunk_order', 'file_name', 'folder_name', 'topic_segment', 'user_manual', 'version_up')),
    PRIMARY KEY (from_id, source, to_id),
    CHECK (from_id <> to_id)
);
CREATE INDEX next_link_back ON next_link (to_id, source);

CREATE TABLE resolution (
    plan_id bigint NOT NULL REFERENCES event ON DELETE CASCADE,
    evidence_id bigint NOT NULL REFERENCES event ON DELETE CASCADE,
    relation text NOT NULL DEFAULT 'realization' CHECK (relation IN ('realization')),
    asserted_at timestamptz NOT NULL DEFAULT now(),
    asserted_by text,
    revoked_at timestamptz,
    PRIMARY KEY (plan_id, evidence_id, relation),
    CHECK (plan_id <> evidence_id)
);
CREATE INDEX resolution_back ON resolution (evidence_id);

CREATE TABLE alias (
    a_id bigint NOT NULL REFERENCES entity ON DELETE CASCADE,
    b_id bigint NOT NULL REFERENCES entity ON DELETE CASCADE,
    confidence real NOT NULL DEFAULT 1 CHECK (confidence BETWEEN 0 AND 1),
    asserted_by text,
    asserted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (a_id, b_id),
    CHECK (a_id < b_id)                          -- symmetric: stored once
);
CREATE INDEX alias_back ON alias (b_id);

CREATE TABLE page (
    id bigint PRIMARY KEY,
    path text NOT NULL UNIQUE CHECK (char_length(path) BETWEEN 1 AND 500),
    names text[] NOT NULL,                       -- what a link to it may say: its path; and folded: its last segment, title, aliases
    title text NOT NULL,
    body text NOT NULL,
    version integer NOT NULL,
    author text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    aliases text[] NOT NULL DEFAULT '{}'         -- further names, as they were given
);
CREATE INDEX page_names ON page USING gin (names);

CREATE TABLE page_version (
    page_id bigint NOT NULL REFERENCES page ON DELETE CASCADE,
    version integer NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    author text,
    created_at timestamptz NOT NULL,             -- when this version became current
    PRIMARY KEY (page_id, version)
);

CREATE TABLE page_link (
    from_id bigint NOT NULL REFERENCES page ON DELETE CASCADE,
    target text NOT NULL,                        -- one of the names of a page that need not exist yet
    PRIMARY KEY (from_id, target)
);
CREATE INDEX page_link_back ON page_link (target);

CREATE TABLE page_entity (
    page_id bigint NOT NULL REFERENCES page ON DELETE CASCADE,
    entity_id bigint NOT NULL REFERENCES entity ON DELETE CASCADE,
    PRIMARY KEY (page_id, entity_id)
);
CREATE INDEX page_entity_back ON page_entity (entity_id);

CREATE TABLE page_tag (
    page_id bigint NOT NULL REFERENCES page ON DELETE CASCADE,
    tag_id bigint NOT NULL REFERENCES tag ON DELETE CASCADE,
    PRIMARY KEY (page_id, tag_id)
);
CREATE INDEX page_tag_back ON page_tag (tag_id);

-- The searchable pieces of events and pages: one text index, one set of word statistics. Number 0 is the head.
CREATE TABLE passage (
    id bigint PRIMARY KEY,
    event_id bigint REFERENCES event ON DELETE CASCADE,
    page_id bigint REFERENCES page ON DELETE CASCADE,
    number integer NOT NULL,
    title_path text,                             -- headings above a page's piece
    text text NOT NULL,
    text_hash bigint NOT NULL GENERATED ALWAYS AS (hashtextextended(text, 0)) STORED,
    words tsvector NOT NULL,
    length integer NOT NULL,                     -- in words
    CHECK (num_nonnulls(event_id, page_id) = 1)
);
-- Words stay in the row, uncompressed: ranking reads those of every candidate.
ALTER TABLE passage SET (toast_tuple_target = 8160);
ALTER TABLE passage ALTER COLUMN words SET STORAGE EXTERNAL;
CREATE INDEX passage_words ON passage USING gin (words) WITH (fastupdate = off);
CREATE UNIQUE INDEX passage_event ON passage (event_id, number) WHERE event_id IS NOT NULL;
CREATE UNIQUE INDEX passage_page ON passage (page_id, number) WHERE page_id IS NOT NULL;

CREATE TABLE lexeme (
    word text PRIMARY KEY,
    df bigint NOT NULL                           -- passages that hold it; rows at 0 are deleted
);

-- The embedding spaces this project has tables for: vector_<id>. One of them is current.
CREATE TABLE space (
    id integer PRIMARY KEY,
    provider text NOT NULL,
    model text NOT NULL,
    dim integer NOT NULL CHECK (dim > 0),
    current boolean NOT NULL DEFAULT false,
    done_through bigint NOT NULL DEFAULT 0,      -- passages up to this number have a vector or a row in embed_failure
    created_at timestamptz NOT NULL DEFAULT now(),
    head_count bigint,                           -- what vector_<id> held of each kind when the worker last counted
    piece_count bigint,
    page_count bigint,
    counted_at timestamptz,
    index_kinds integer[] NOT NULL DEFAULT '{}', -- kinds that are many enough for an index of their own
    fresh_from timestamptz,                      -- vectors made before this are made again
    retired_at timestamptz,                      -- out of use since: dropped when no query can read it any more
    UNIQUE (provider, model, dim)
);
CREATE UNIQUE INDEX space_current ON space (current) WHERE current;

-- Passages whose embedding failed: retried after retry_at, given up (retry_at null) after the last attempt.
CREATE TABLE embed_failure (
    passage_id bigint NOT NULL REFERENCES passage ON DELETE CASCADE,
    space_id integer NOT NULL REFERENCES space ON DELETE CASCADE,
    text_hash bigint NOT NULL,
    attempts integer NOT NULL,
    reason text NOT NULL,
    retry_at timestamptz,
    PRIMARY KEY (space_id, passage_id)
);

CREATE TABLE migration (
    name text PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- No samples of what people wrote in the planner's statistics: a deleted text must be gone from there too.
ALTER TABLE session ALTER COLUMN name SET STATISTICS 0, ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE event ALTER COLUMN session SET STATISTICS 0, ALTER COLUMN summary SET STATISTICS 0, ALTER COLUMN content SET STATISTICS 0,
    ALTER COLUMN author SET STATISTICS 0, ALTER COLUMN ingest_key SET STATISTICS 0;
ALTER TABLE event_version ALTER COLUMN summary SET STATISTICS 0, ALTER COLUMN content SET STATISTICS 0, ALTER COLUMN author SET STATISTICS 0;
ALTER TABLE entity ALTER COLUMN name SET STATISTICS 0, ALTER COLUMN type SET STATISTICS 0, ALTER COLUMN folded SET STATISTICS 0,
    ALTER COLUMN words SET STATISTICS 0;
ALTER TABLE resolution ALTER COLUMN asserted_by SET STATISTICS 0;
ALTER TABLE alias ALTER COLUMN asserted_by SET STATISTICS 0;
ALTER TABLE tag ALTER COLUMN path SET STATISTICS 0, ALTER COLUMN leaf SET STATISTICS 0, ALTER COLUMN folded SET STATISTICS 0;
ALTER TABLE page ALTER COLUMN path SET STATISTICS 0, ALTER COLUMN names SET STATISTICS 0, ALTER COLUMN title SET STATISTICS 0,
    ALTER COLUMN body SET STATISTICS 0, ALTER COLUMN author SET STATISTICS 0, ALTER COLUMN aliases SET STATISTICS 0;
ALTER TABLE page_version ALTER COLUMN title SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0, ALTER COLUMN author SET STATISTICS 0;
ALTER TABLE page_link ALTER COLUMN target SET STATISTICS 0;
ALTER TABLE passage ALTER COLUMN title_path SET STATISTICS 0, ALTER COLUMN text SET STATISTICS 0, ALTER COLUMN words SET STATISTICS 0;
ALTER TABLE lexeme ALTER COLUMN word SET STATISTICS 0;
