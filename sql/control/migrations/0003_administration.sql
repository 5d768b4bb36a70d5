-- deploy: before
-- Members of workspaces, what workspaces may keep and what their projects do keep, and which workspace the operator's is.
ALTER TABLE workspace ADD COLUMN operates boolean NOT NULL DEFAULT false;

CREATE TABLE member (
    workspace_id bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    subject text NOT NULL CHECK (char_length(subject) BETWEEN 1 AND 255),
    role text NOT NULL CHECK (role IN ('none', 'reader', 'writer', 'admin')),
    expires_at timestamptz,
    added_at timestamptz NOT NULL DEFAULT now(),
    added_by text,
    PRIMARY KEY (workspace_id, subject)
);

CREATE TABLE quota (
    workspace_id bigint PRIMARY KEY REFERENCES workspace ON DELETE CASCADE,
    events bigint CHECK (events >= 0),
    bytes bigint CHECK (bytes >= 0),
    projects bigint CHECK (projects >= 0)
);

CREATE TABLE usage (
    project_id bigint PRIMARY KEY REFERENCES project ON DELETE CASCADE,
    workspace_id bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    events bigint NOT NULL,
    bytes bigint NOT NULL,
    events_before bigint NOT NULL DEFAULT 0,
    bytes_before bigint NOT NULL DEFAULT 0,
    changed_in xid8
) WITH (fillfactor = 50);
CREATE INDEX usage_workspace ON usage (workspace_id);
