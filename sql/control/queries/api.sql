-- name: find_key
-- A key by its id: its hash, its workspace, what it may do, and as JSON what other workspaces let it read.
SELECT k.hash, k.workspace_id, k.workspace, k.role, k.scopes, k.projects, k.default_project, k.expires_at, k.revoked_at,
    (SELECT json_agg(g) FROM control.find_granted($1) AS g)::text AS granted
FROM control.find_key($1) AS k;

-- name: touch_key
-- Notes when a key was last used.
SELECT control.touch_key($1);

-- name: find_projects
-- The projects of a workspace.
SELECT id, slug, name, created_at FROM control.find_projects($1);

-- name: find_active
-- Of the projects $1 the $2 that were written last.
SELECT id FROM control.find_active($1, $2);

-- name: create_project
-- A project with its schema, or the one that stands under this slug. The space may be null.
SELECT id, created FROM control.create_project($1, $2, $3, $4);

-- name: drop_project
-- Deletes a project of a workspace with all it holds: how many rows each table held, null when there is none.
SELECT control.drop_project($1, $2)::text AS counts;

-- name: add_space
-- The number of an embedding space, made when it is new.
SELECT control.add_space($1, $2, $3) AS id;

-- name: count_overrun
-- Free queries of this login that have run for longer than $1 seconds.
SELECT count(*) AS number FROM pg_catalog.pg_stat_activity AS a
WHERE a.usename = current_user AND a.state = 'active' AND a.query LIKE '%\_read\_rows(%'
    AND a.query_start < now() - make_interval(secs => $1);

-- name: write_audit
-- Notes a write or an admin call: key, workspace, project, operation, outcome.
SELECT control.write_audit($1, $2, $3, $4, $5);

-- name: operates
-- Whether a workspace's admins act for the operator.
SELECT control.operates($1) AS operates;

-- name: issue_key
-- A key that key $1 makes (null: a person does); false when it may not, or a project of it is gone.
SELECT control.issue_key($1, $2, $3, $4, $5, $6, $7, $8, $9) AS made;

-- name: find_keys
-- Keys of a workspace, those after a time and id first.
SELECT id, name, scopes, projects, default_project, created_at, expires_at, revoked_at, last_used_at
FROM control.find_keys($1, $2, $3, $4, $5);

-- name: end_key
-- Ends a key of a workspace; no row when there is none in reach.
SELECT revoked_at, known FROM control.end_key($1, $2, $3);

-- name: set_member
-- Gives a person a role in a workspace: created, updated, unchanged, or null when the caller may not.
SELECT control.set_member($1, $2, $3, $4, $5, $6, $7) AS outcome;

-- name: change_member
-- The same without an end that is named: the member's own stays, up to $7.
SELECT outcome, expires FROM control.change_member($1, $2, $3, $4, $5, $6, $7);

-- name: find_members
-- People with a role in a workspace, those after a subject first.
SELECT subject, role, expires_at, added_at, added_by FROM control.find_members($1, $2, $3);

-- name: remove_member
-- Takes a person's role away.
SELECT control.remove_member($1, $2) AS found;

-- name: find_subject
-- A workspace by its slug with the role that a person has there, for a token that names both.
SELECT id, slug, role, member_role FROM control.find_subject($1, $2);

-- name: grant_reading
-- Lets key $5 read projects of workspace $3: created, updated, unchanged, own (a key of this workspace), or null when the caller may not.
SELECT control.grant_reading($1, $2, $3, $4, $5, $6, $7) AS outcome;

-- name: find_grants
-- What a workspace lets keys of others read, the grants after a key and a project's slug first.
SELECT key_id, project, expires_at, granted_at, granted_by FROM control.find_grants($1, $2, $3, $4, $5);

-- name: end_grant
-- Takes back what a workspace let a key read: how many grants that were.
SELECT control.end_grant($1, $2, $3) AS ended;

-- name: find_workspaces
-- The caller's workspace, or all for the operator, with what each keeps and may keep.
SELECT slug, name, operates, created_at, events, bytes, projects, most_events, most_bytes, most_projects
FROM control.find_workspaces($1, $2, $3);

-- name: find_governed
-- The number of a workspace that the caller may change.
SELECT control.find_governed($1, $2) AS id;

-- name: open_workspace
-- A workspace and its first key; null when the slug is taken or the caller may not.
SELECT control.open_workspace($1, $2, $3, $4, $5, $6, $7, $8) AS id;

-- name: rename_workspace
-- Gives a workspace another name or slug.
SELECT control.rename_workspace($1, $2, $3, $4) AS found;

-- name: set_quota
-- What a workspace may keep: changes the limits that are named, and gives all.
SELECT events, bytes, projects FROM control.set_quota($1, $2, $3::text::jsonb);

-- name: find_usage
-- What a workspace keeps and may keep.
SELECT events, bytes, projects, most_events, most_bytes, most_projects FROM control.find_usage($1);

-- name: begin_closing
-- Called before a workspace's projects are deleted; the operator's last one is refused.
SELECT control.begin_closing($1, $2) AS found;

-- name: close_workspace
-- Deletes a workspace that has no projects, with its keys.
SELECT control.close_workspace($1, $2) AS found;

-- name: rename_project
-- Gives a project another name or slug.
SELECT control.rename_project($1, $2, $3, $4) AS found;

-- name: find_audit
-- What was done in a workspace, the latest first: since $2, until $3, after the first $5 entries of the time $4.
SELECT at, who, project, operation, outcome FROM control.find_audit($1, $2, $3, $4, $5, $6);

-- name: find_embedding
-- What a workspace sets for its own vectors, the current settings first.
SELECT id, current, provider, model, dim, url, sealed_key, query_prefix, document_prefix, window_tokens, set_at FROM control.find_embedding($1);

-- name: set_embedding
-- A workspace's own vectors from now on: provider, model, size, address, sealed key, prefixes, window.
SELECT control.set_embedding($1, $2, $3, $4, $5, $6, $7, $8, $9) AS id;

-- name: clear_embedding
-- A workspace has its vectors as the server does; false when it had already.
SELECT control.clear_embedding($1) AS found;

-- name: ask_embedding
-- A project is looked through whole; with $2 its vectors are made anew.
SELECT control.ask_embedding($1, $2);

-- name: find_due
-- Whether a worker has something to do in a project; no row when not.
SELECT working, anew_from FROM control.find_due($1);

-- name: embedding_totals
-- How far the vectors of all projects are.
SELECT passages, embedded, failed, due_projects, overdue_s FROM control.embedding_totals();
