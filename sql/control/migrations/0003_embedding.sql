-- deploy: before
-- What workspaces set for their own vectors, what is to be made anew, and how far projects are.
CREATE TABLE workspace_embedding (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    space_id integer REFERENCES space,
    current boolean NOT NULL,
    url text,
    sealed_key text,
    query_prefix text NOT NULL DEFAULT '',
    document_prefix text NOT NULL DEFAULT '',
    window_tokens integer,
    set_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workspace_id, space_id)
);
CREATE UNIQUE INDEX workspace_embedding_current ON workspace_embedding (workspace_id) WHERE current;

ALTER TABLE due ADD COLUMN anew_from timestamptz;

CREATE TABLE coverage (
    project_id bigint PRIMARY KEY REFERENCES project ON DELETE CASCADE,
    passages bigint NOT NULL,
    embedded bigint NOT NULL,
    failed bigint NOT NULL
) WITH (fillfactor = 50);
