-- The audit of one workspace, the latest first; from a place on when one is given. Of other workspaces' projects, which it may have been
-- granted, no name is told: it may have changed since.
CREATE OR REPLACE FUNCTION control.find_audit(
    in_workspace bigint, since timestamptz, until timestamptz, before_time timestamptz, before_id bigint, most integer
)
RETURNS TABLE (id bigint, at timestamptz, who text, project text, operation text, outcome text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.id, a.at, a.key_id, p.slug, a.operation, a.outcome
    FROM control.audit AS a LEFT JOIN control.project AS p ON p.id = a.project_id AND p.workspace_id = in_workspace
    WHERE a.workspace_id = in_workspace AND a.at >= coalesce(since, '-infinity') AND a.at <= coalesce(until, 'infinity')
        AND (before_time IS NULL OR (a.at, a.id) < (before_time, before_id))
    ORDER BY a.at DESC, a.id DESC LIMIT most
$$;
