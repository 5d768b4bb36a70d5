-- Vectors as the API sees them: what a workspace sets for its own, asking for a back-fill, how far it is.

-- A workspace's settings: the current ones first, then those of spaces that its projects may not have left yet.
CREATE OR REPLACE FUNCTION control.find_embedding(in_workspace bigint)
RETURNS TABLE (
    id bigint, current boolean, provider text, model text, dim integer, url text, sealed_key text,
    query_prefix text, document_prefix text, window_tokens integer, set_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT e.id, e.current, s.provider, s.model, s.dim, e.url, e.sealed_key, e.query_prefix, e.document_prefix, e.window_tokens, e.set_at
    FROM control.workspace_embedding AS e LEFT JOIN control.space AS s ON s.id = e.space_id
    WHERE e.workspace_id = in_workspace ORDER BY e.current DESC, e.id DESC
$$;

-- From now on the workspace's projects have their vectors like this; a null provider means that they have none.
CREATE OR REPLACE FUNCTION control.set_embedding(
    in_workspace bigint, wanted_provider text, wanted_model text, wanted_dim integer, at_url text, sealed text,
    before_query text, before_document text, tokens integer
)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    space integer := CASE WHEN wanted_provider IS NOT NULL THEN control.add_space(wanted_provider, wanted_model, wanted_dim) END;
    made bigint;
BEGIN
    PERFORM FROM control.workspace AS w WHERE w.id = in_workspace FOR UPDATE;
    UPDATE control.workspace_embedding AS e SET current = false WHERE e.workspace_id = in_workspace AND e.current;
    DELETE FROM control.workspace_embedding AS e
    WHERE e.workspace_id = in_workspace AND (e.space_id IS NULL OR e.space_id = space);
    INSERT INTO control.workspace_embedding AS e
        (workspace_id, space_id, current, url, sealed_key, query_prefix, document_prefix, window_tokens)
    VALUES (in_workspace, space, true, at_url, sealed, before_query, before_document, tokens) RETURNING e.id INTO made;
    PERFORM control.mark_workspace_due(in_workspace);
    RETURN made;
END
$$;

-- The workspace's projects have their vectors as the server is set. Out: whether they had them otherwise.
CREATE OR REPLACE FUNCTION control.clear_embedding(in_workspace bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM FROM control.workspace AS w WHERE w.id = in_workspace FOR UPDATE;
    UPDATE control.workspace_embedding AS e SET current = false WHERE e.workspace_id = in_workspace AND e.current;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM control.workspace_embedding AS e WHERE e.workspace_id = in_workspace AND e.space_id IS NULL;
    PERFORM control.mark_workspace_due(in_workspace);
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION control.mark_workspace_due(in_workspace bigint)
RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO control.due AS d (project_id, saves) SELECT p.id, 1 FROM control.project AS p WHERE p.workspace_id = in_workspace
    ON CONFLICT (project_id) DO UPDATE SET saves = d.saves + 1, next_at = now()
$$;

-- All passages of a project are looked at, and what was given up is tried again; `anew`: vectors of before now are made again. Asked twice
-- before a worker takes it up, it is asked once.
CREATE OR REPLACE FUNCTION control.ask_embedding(project bigint, anew boolean)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO control.due AS d (project_id, saves, anew_from) VALUES (project, 1, CASE WHEN anew THEN now() ELSE '-infinity' END)
    ON CONFLICT (project_id) DO UPDATE SET saves = d.saves + 1, next_at = now(),
        anew_from = CASE WHEN d.anew_from > '-infinity' THEN d.anew_from ELSE excluded.anew_from END
$$;

-- Whether a worker has something to do in a project, and from when on vectors are to be new, where that was asked and not taken up yet.
CREATE OR REPLACE FUNCTION control.find_due(project bigint)
RETURNS TABLE (working boolean, anew_from timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT d.next_at <= now(), CASE WHEN d.anew_from > '-infinity' THEN d.anew_from END FROM control.due AS d WHERE d.project_id = project
$$;

-- Of all projects, as workers last counted: passages and how many have a vector or were given up; projects with work that is not begun, and
-- for how many seconds the longest has waited.
CREATE OR REPLACE FUNCTION control.embedding_totals()
RETURNS TABLE (passages bigint, embedded bigint, failed bigint, due_projects bigint, overdue_s double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT c.passages, c.embedded, c.failed, d.projects, d.overdue
    FROM (
        SELECT coalesce(sum(c.passages), 0)::bigint AS passages, coalesce(sum(c.embedded), 0)::bigint AS embedded,
            coalesce(sum(c.failed), 0)::bigint AS failed
        FROM control.coverage AS c
    ) AS c CROSS JOIN (
        SELECT count(*) AS projects, coalesce(extract(epoch FROM now() - min(d.next_at)), 0)::double precision AS overdue
        FROM control.due AS d WHERE d.next_at <= now()
    ) AS d
$$;
