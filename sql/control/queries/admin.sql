-- name: create_workspace
-- A workspace with its role, or the one that stands.
SELECT control.create_workspace($1::text, $2::text) AS id;

-- name: find_workspace
-- A workspace by its slug.
SELECT w.id FROM control.workspace AS w WHERE w.slug = $1;

-- name: list_workspaces
-- Every workspace with what it keeps and may keep.
SELECT w.slug AS workspace, w.name, u.projects, u.events, u.bytes, u.most_projects, u.most_events, u.most_bytes, w.operates AS operator,
    w.created_at
FROM control.workspace AS w CROSS JOIN LATERAL control.find_usage(w.id) AS u ORDER BY w.id;

-- name: rename_workspace
-- Gives a workspace another name or slug.
UPDATE control.workspace AS w SET name = coalesce($2::text, w.name), slug = coalesce($3::text, w.slug) WHERE w.id = $1 RETURNING w.slug, w.name;

-- name: set_operator
-- Whether a workspace's admins act for the operator.
UPDATE control.workspace AS w SET operates = $2::boolean WHERE w.id = $1 RETURNING w.slug;

-- name: limit_workspace
-- What a workspace may keep, of what is named; null is no limit.
SELECT l.events, l.bytes, l.projects FROM control.limit_workspace($1::bigint, $2::jsonb) AS l;

-- name: find_usage
-- What a workspace keeps and may keep.
SELECT u.projects, u.events, u.bytes, u.most_projects, u.most_events, u.most_bytes FROM control.find_usage($1::bigint) AS u;

-- name: rename_project
-- Gives a project another name or slug.
UPDATE control.project AS p SET name = coalesce($2::text, p.name), slug = coalesce($3::text, p.slug) WHERE p.id = $1 RETURNING p.slug, p.name;

-- name: add_space
-- The number of an embedding space, made when it is new.
SELECT control.add_space($1::text, $2::text, $3::integer) AS id;

-- name: create_project
-- A project with its schema, or the one that stands.
SELECT p.id, p.created FROM control.create_project($1::bigint, $2::text, $3::text, $4::integer) AS p;

-- name: find_project
-- A project by its slug.
SELECT p.id FROM control.project AS p WHERE p.workspace_id = $1 AND p.slug = $2;

-- name: list_projects
-- The projects of a workspace.
SELECT p.slug AS project, p.name, p.created_at FROM control.project AS p WHERE p.workspace_id = $1 ORDER BY p.id;

-- name: drop_project
-- Deletes a project with all it holds: how many rows each table held.
SELECT control.drop_project($1::bigint, $2::bigint) AS counts;

-- name: leave_operator
-- A workspace that is to be deleted is the operator's no more; the last one is refused.
SELECT control.leave_operator($1::bigint)::text AS left;

-- name: drop_workspace
-- Deletes a workspace that has no projects, with its keys.
SELECT control.drop_workspace($1::bigint) AS found;

-- name: create_key
-- Stores a key's hash and what the key may do.
SELECT control.create_key($1::text, $2::bytea, $3::bigint, $4::text, $5::text[], $6::bigint[], $7::bigint, $8::timestamptz) AS made;

-- name: revoke_key
-- Ends a key; whether it was ended before.
WITH before AS (SELECT k.id, k.revoked_at FROM control.api_key AS k WHERE k.id = $1 FOR UPDATE)
UPDATE control.api_key AS k SET revoked_at = coalesce(k.revoked_at, now()) FROM before AS b WHERE k.id = b.id
RETURNING b.revoked_at IS NOT NULL AS known;

-- name: list_keys
-- The keys of a workspace; their texts are kept nowhere. Projects are null for a key that reaches all; those that are gone are left out.
SELECT k.id, k.name, k.scopes,
    CASE WHEN k.projects IS NOT NULL THEN ARRAY(
        SELECT p.slug FROM unnest(k.projects) WITH ORDINALITY AS n (id, place) JOIN control.project AS p ON p.id = n.id ORDER BY n.place
    ) END AS projects,
    (SELECT p.slug FROM control.project AS p WHERE p.id = k.default_project) AS default_project,
    k.created_at, k.expires_at, k.revoked_at, k.last_used_at
FROM control.api_key AS k WHERE k.workspace_id = $1 ORDER BY k.created_at;

-- name: grant_reading
-- Lets a key of another workspace read projects of this one; null is all of them, also those to come.
SELECT control.grant_reading(NULL, NULL, $1::bigint, NULL, $2::text, $3::bigint[], $4::timestamptz) AS outcome;

-- name: list_grants
-- What a workspace lets keys of others read.
SELECT g.key_id AS key, g.project, g.granted_at, g.granted_by, g.expires_at FROM control.find_grants($1::bigint, NULL, '', '', NULL) AS g;

-- name: end_grant
-- Takes back what a workspace let a key read.
SELECT control.end_grant($1::bigint, NULL, $2::text) AS ended;

-- name: drop_unused_keys
-- Keys that an earlier start made and nobody used.
DELETE FROM control.api_key AS k WHERE k.workspace_id = $1 AND k.name = $2 AND k.last_used_at IS NULL;

-- name: set_pepper
-- Another secret for keys from now on.
UPDATE control.instance SET pepper_mark = $1::text;
