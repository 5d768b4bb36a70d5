-- name: find_key
-- A key by its id: its hash, its workspace and what it may do.
SELECT hash, workspace_id, workspace, role, scopes, projects, default_project, expires_at, revoked_at FROM control.find_key($1);

-- name: touch_key
-- Notes when a key was last used.
SELECT control.touch_key($1);

-- name: find_workspace
-- A workspace by its slug, for a token that names one.
SELECT id, slug, role FROM control.find_workspace($1);

-- name: find_projects
-- The projects of a workspace.
SELECT id, slug, name, created_at FROM control.find_projects($1);

-- name: create_project
-- A project with its schema, or the one that stands under this slug. The space may be null.
SELECT id, created FROM control.create_project($1, $2, $3, $4);

-- name: drop_project
-- Deletes a project of a workspace with all it holds: how many rows each table held, null when there is none.
SELECT control.drop_project($1, $2)::text AS counts;

-- name: add_space
-- The number of an embedding space, made when it is new.
SELECT control.add_space($1, $2, $3) AS id;

-- name: write_audit
-- Notes a write or an admin call: key, workspace, project, operation, outcome.
SELECT control.write_audit($1, $2, $3, $4, $5);
