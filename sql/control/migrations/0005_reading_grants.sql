-- deploy: before
-- What workspaces let keys of other workspaces read. The key need not be there: who gives is not to learn which keys there are.
CREATE TABLE reading_grant (
    workspace_id bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    key_id text NOT NULL,
    project_id bigint REFERENCES project ON DELETE CASCADE,
    expires_at timestamptz,
    granted_at timestamptz NOT NULL DEFAULT now(),
    granted_by text,
    UNIQUE NULLS NOT DISTINCT (key_id, workspace_id, project_id)
);
CREATE INDEX reading_grant_workspace ON reading_grant (workspace_id, key_id);
CREATE INDEX reading_grant_project ON reading_grant (project_id);
ALTER TABLE reading_grant ALTER COLUMN key_id SET STATISTICS 0, ALTER COLUMN granted_by SET STATISTICS 0;
