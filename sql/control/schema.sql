-- What the server knows of its workspaces, projects and keys. Applied with search_path on `control`.
-- The API's login has no right on any table here: it reaches them by the functions in functions/ alone.

CREATE TABLE instance (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    tag text NOT NULL,                           -- names this installation's roles, so that two can share one cluster
    api_login text NOT NULL,
    vector_schema text NOT NULL,                 -- where the extension `vector` lives
    created_at timestamptz NOT NULL DEFAULT now(),
    space_id integer,                            -- the space that the worker brings every project to
    pepper_mark text                             -- by what the secret is known that keys are hashed with; null until one is used
);

CREATE TABLE workspace (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    name text NOT NULL,
    role text UNIQUE,                            -- null only inside the transaction that makes the workspace
    created_at timestamptz NOT NULL DEFAULT now(),
    operates boolean NOT NULL DEFAULT false      -- its admins act for the operator: they make workspaces and set what these may keep
);

CREATE TABLE space (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider text NOT NULL,
    model text NOT NULL,
    dim integer NOT NULL CHECK (dim BETWEEN 1 AND 16000),
    UNIQUE (provider, model, dim)
);

CREATE TABLE project (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id bigint NOT NULL REFERENCES workspace,
    slug text NOT NULL CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    swept_at timestamptz,                        -- when the worker last began to look through all its passages
    UNIQUE (workspace_id, slug)
);

-- Projects whose rows may lack vectors. Every save writes its row here in its own transaction, so that the worker
-- finds all due work with one query, however many projects there are.
CREATE TABLE due (
    project_id bigint PRIMARY KEY REFERENCES project ON DELETE CASCADE,
    next_at timestamptz NOT NULL DEFAULT now(),  -- later than now while nothing can be done before
    saves bigint NOT NULL DEFAULT 0,             -- written by every save: the worker sees a save that came while it worked
    anew_from timestamptz                        -- asked by hand: look at all; vectors made before this are made again
) WITH (fillfactor = 50);

-- How far the vectors of a project are, as the worker last counted.
CREATE TABLE coverage (
    project_id bigint PRIMARY KEY REFERENCES project ON DELETE CASCADE,
    passages bigint NOT NULL,
    embedded bigint NOT NULL,
    failed bigint NOT NULL                       -- given up
) WITH (fillfactor = 50);

-- What a workspace sets for its own vectors in the place of the server's settings. A change is a new row; the row before stays until
-- the projects have left its space, since queries use it till then.
CREATE TABLE workspace_embedding (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    space_id integer REFERENCES space,           -- null: no vectors
    current boolean NOT NULL,
    url text,
    sealed_key text,                             -- the provider's key, encrypted with a secret that is not in the database
    query_prefix text NOT NULL DEFAULT '',
    document_prefix text NOT NULL DEFAULT '',
    window_tokens integer,                       -- that the model reads of one text
    set_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workspace_id, space_id)
);
CREATE UNIQUE INDEX workspace_embedding_current ON workspace_embedding (workspace_id) WHERE current;

CREATE TABLE api_key (
    id text PRIMARY KEY,
    hash bytea NOT NULL,                         -- HMAC-SHA256 of the secret; the key itself is shown once and kept nowhere
    workspace_id bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    name text NOT NULL,
    scopes text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'admin'] AND cardinality(scopes) > 0),
    projects bigint[],                           -- null: all of the workspace
    default_project bigint REFERENCES project ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
);
CREATE INDEX api_key_workspace ON api_key (workspace_id);

-- People who come with a token of the issuer. What their token says of scopes stands back behind the role.
CREATE TABLE member (
    workspace_id bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    subject text NOT NULL CHECK (char_length(subject) BETWEEN 1 AND 255),
    role text NOT NULL CHECK (role IN ('none', 'reader', 'writer', 'admin')),
    expires_at timestamptz,
    added_at timestamptz NOT NULL DEFAULT now(),
    added_by text,
    PRIMARY KEY (workspace_id, subject)
);

-- What a workspace lets keys of other workspaces read: a row for each key and project. Such a key need not be there, since who gives is
-- not to learn which keys there are; one that goes takes its rows along (functions/reading.sql).
CREATE TABLE reading_grant (
    workspace_id bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    key_id text NOT NULL,
    project_id bigint REFERENCES project ON DELETE CASCADE,  -- null: all of the workspace, also those to come
    expires_at timestamptz,
    granted_at timestamptz NOT NULL DEFAULT now(),
    granted_by text,
    UNIQUE NULLS NOT DISTINCT (key_id, workspace_id, project_id)
);
CREATE INDEX reading_grant_workspace ON reading_grant (workspace_id, key_id);
CREATE INDEX reading_grant_project ON reading_grant (project_id);

-- What a workspace may keep at most; null, or no row: as much as it likes.
CREATE TABLE quota (
    workspace_id bigint PRIMARY KEY REFERENCES workspace ON DELETE CASCADE,
    events bigint CHECK (events >= 0),
    bytes bigint CHECK (bytes >= 0),
    projects bigint CHECK (projects >= 0)
);

-- What a project keeps: written by triggers of its tables, in the transaction that changes them (functions/usage.sql).
CREATE TABLE usage (
    project_id bigint PRIMARY KEY REFERENCES project ON DELETE CASCADE,
    workspace_id bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    events bigint NOT NULL,
    bytes bigint NOT NULL,                       -- of texts: of events and pages, earlier versions included
    events_before bigint NOT NULL DEFAULT 0,     -- what it was when the transaction `changed_in` began to change it
    bytes_before bigint NOT NULL DEFAULT 0,
    changed_in xid8
) WITH (fillfactor = 50);
CREATE INDEX usage_workspace ON usage (workspace_id);

CREATE TABLE audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    key_id text,
    workspace_id bigint,
    project_id bigint,
    operation text NOT NULL,
    outcome text NOT NULL                        -- ok, or the error's code; never content
);
CREATE INDEX audit_workspace ON audit (workspace_id, at);

-- The project's schema as one text, filled by the migration runner; create_project runs it with names put in.
CREATE TABLE template (
    name text PRIMARY KEY,
    sql text NOT NULL
);

CREATE TABLE migration (
    name text PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- No samples of names in the planner's statistics: those of a deleted workspace, project, key or member must be gone from there too.
ALTER TABLE workspace ALTER COLUMN slug SET STATISTICS 0, ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE project ALTER COLUMN slug SET STATISTICS 0, ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE workspace_embedding ALTER COLUMN url SET STATISTICS 0, ALTER COLUMN sealed_key SET STATISTICS 0,
    ALTER COLUMN query_prefix SET STATISTICS 0, ALTER COLUMN document_prefix SET STATISTICS 0;
ALTER TABLE api_key ALTER COLUMN hash SET STATISTICS 0, ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE member ALTER COLUMN subject SET STATISTICS 0, ALTER COLUMN added_by SET STATISTICS 0;
ALTER TABLE reading_grant ALTER COLUMN key_id SET STATISTICS 0, ALTER COLUMN granted_by SET STATISTICS 0;
