-- name: due_projects
-- Projects with work that can be done now, the longest waiting first, of all or of some, of workspaces with settings of their own ($5 true),
-- without (false), or both; none in the server's space for a worker whose space $2 is not the chosen one any more.
SELECT d.project_id, d.saves, d.anew_from IS NOT NULL AS anew, p.workspace_id,
    coalesce(p.swept_at < now() - make_interval(secs => $3), true) AS sweep,
    e.id IS NOT NULL AS own, s.id AS space_id, s.provider, s.model, s.dim
FROM control.due AS d JOIN control.project AS p ON p.id = d.project_id
LEFT JOIN control.workspace_embedding AS e ON e.workspace_id = p.workspace_id AND e.current
LEFT JOIN control.space AS s ON s.id = e.space_id
WHERE d.next_at <= now() AND (e.id IS NOT NULL OR (SELECT i.space_id FROM control.instance AS i) = $2)
    AND ($4::bigint[] IS NULL OR d.project_id = ANY($4::bigint[])) AND ($5::boolean IS NULL OR (e.id IS NOT NULL) = $5::boolean)
ORDER BY d.next_at LIMIT $1;

-- name: clear_due
-- The project has no work left, unless something was saved meanwhile.
DELETE FROM control.due WHERE project_id = $1 AND saves = $2;

-- name: postpone
-- Nothing can be done for this project before $2 seconds have passed, unless something is saved meanwhile.
UPDATE control.due SET next_at = now() + make_interval(secs => $2) WHERE project_id = $1 AND saves = $3;

-- name: postpone_workspace
-- Nothing can be done for the projects of the workspace $1 before $2 seconds have passed.
UPDATE control.due AS d SET next_at = now() + make_interval(secs => $2)
FROM control.project AS p WHERE p.id = d.project_id AND p.workspace_id = $1 AND d.next_at <= now();

-- name: drop_left_embedding
-- Settings that workspaces had before, where no project has work left, and so none is in their space any more.
DELETE FROM control.workspace_embedding AS e WHERE NOT e.current AND NOT EXISTS (
    SELECT FROM control.due AS d JOIN control.project AS p ON p.id = d.project_id WHERE p.workspace_id = e.workspace_id
);

-- name: trim_audit
-- Deletes what is older than $1 days among the first 10,000 rows of the audit, which are its oldest; says how many that were.
WITH oldest AS (SELECT a.id FROM control.audit AS a ORDER BY a.id LIMIT 10000), gone AS (
    DELETE FROM control.audit AS a USING oldest AS o WHERE a.id = o.id AND a.at < now() - make_interval(days => $1) RETURNING a.id
)
SELECT count(*) AS gone FROM gone;

-- name: find_embedding
-- What a workspace sets for its own vectors, the current settings first.
SELECT id, current, provider, model, dim, url, sealed_key, query_prefix, document_prefix, window_tokens, set_at FROM control.find_embedding($1);

-- name: mark_due
-- The project has work.
INSERT INTO control.due AS d (project_id, saves) VALUES ($1, 1)
ON CONFLICT (project_id) DO UPDATE SET saves = d.saves + 1, next_at = now();

-- name: ask_embedding
-- The project is looked through whole; with $2 its vectors are made anew.
SELECT control.ask_embedding($1, $2);

-- name: mark_unswept
-- Projects that nobody has looked through whole for $1 seconds have work; not one that is just being deleted.
INSERT INTO control.due AS d (project_id, saves)
SELECT p.id, 1 FROM control.project AS p WHERE coalesce(p.swept_at < now() - make_interval(secs => $1), true)
FOR KEY SHARE SKIP LOCKED
ON CONFLICT (project_id) DO NOTHING;

-- name: note_sweep
-- The project is looked through whole from now on.
UPDATE control.project SET swept_at = now() WHERE id = $1;

-- name: choose_space
-- The number of the space that all projects are to be in.
SELECT control.choose_space($1, $2, $3) AS id;

-- name: chosen_space
-- The space that all projects are to be in; no row while none was chosen.
SELECT s.id, s.provider, s.model, s.dim FROM control.instance AS i JOIN control.space AS s ON s.id = i.space_id;

-- name: find_space
-- The number of a space that was used before.
SELECT s.id FROM control.space AS s WHERE s.provider = $1 AND s.model = $2 AND s.dim = $3;

-- name: add_project_space
-- Gives a project the vector table of a space; it becomes the current one when the project has none.
SELECT control.add_project_space($1, $2, w.role, $3)
FROM control.project AS p JOIN control.workspace AS w ON w.id = p.workspace_id WHERE 'm_' || p.id = $1;

-- name: switch_project_space
-- Queries in the project use this space from now on.
SELECT control.switch_project_space($1, $2);

-- name: drop_project_space
-- Drops a space of the project; false when its table is still read.
SELECT control.drop_project_space($1, $2) AS dropped;

-- name: try_lock_project
-- One worker at a time on a project's vectors; held until it is given back or the connection ends.
SELECT pg_try_advisory_lock(hashtextextended('muniment embed ' || $1, 0)) AS taken;

-- name: lock_project
-- Waits for that lock.
SELECT pg_advisory_lock(hashtextextended('muniment embed ' || $1, 0));

-- name: unlock_project
-- Gives the lock back.
SELECT pg_advisory_unlock(hashtextextended('muniment embed ' || $1, 0));

-- name: find_projects
-- All projects with their workspaces' names, or those of one workspace and name.
SELECT p.id, w.id AS workspace_id, w.slug AS workspace, p.slug AS project, e.id IS NOT NULL AS own, s.id AS space_id
FROM control.project AS p JOIN control.workspace AS w ON w.id = p.workspace_id
LEFT JOIN control.workspace_embedding AS e ON e.workspace_id = w.id AND e.current LEFT JOIN control.space AS s ON s.id = e.space_id
WHERE ($1::text IS NULL OR w.slug = $1::text) AND ($2::text IS NULL OR p.slug = $2::text)
ORDER BY w.slug, p.slug;
