-- name: due_projects
-- Projects with work that can be done now, the longest waiting first.
SELECT d.project_id, d.saves FROM control.due AS d WHERE d.next_at <= now() ORDER BY d.next_at LIMIT $1;

-- name: clear_due
-- The project has no work left, unless something was saved meanwhile.
DELETE FROM control.due WHERE project_id = $1 AND saves = $2;

-- name: postpone
-- Nothing can be done for this project before $2 seconds have passed, unless something is saved meanwhile.
UPDATE control.due SET next_at = now() + make_interval(secs => $2) WHERE project_id = $1 AND saves = $3;

-- name: mark_all_due
-- A space that no project has yet: every project has work.
INSERT INTO control.due AS d (project_id, saves) SELECT p.id, 1 FROM control.project AS p
ON CONFLICT (project_id) DO UPDATE SET saves = d.saves + 1, next_at = now();

-- name: find_space
-- The number of a space.
SELECT s.id FROM control.space AS s WHERE s.provider = $1 AND s.model = $2 AND s.dim = $3;

-- name: add_space
-- The number of a space, made when it is new.
SELECT control.add_space($1, $2, $3) AS id;

-- name: add_project_space
-- Gives a project the vector table of a space; it becomes the current one when the project has none.
SELECT control.add_project_space($1, $2, w.role, $3)
FROM control.project AS p JOIN control.workspace AS w ON w.id = p.workspace_id WHERE 'm_' || p.id = $1;

-- name: try_lock_project
-- One worker at a time on a project's vectors; held until it is given back or the connection ends.
SELECT pg_try_advisory_lock(hashtextextended('muniment embed ' || $1, 0)) AS taken;

-- name: unlock_project
-- Gives the lock back.
SELECT pg_advisory_unlock(hashtextextended('muniment embed ' || $1, 0));
