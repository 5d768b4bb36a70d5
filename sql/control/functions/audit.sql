-- What earlier versions had in the place of the next.
DROP FUNCTION IF EXISTS control.find_audit(bigint, timestamptz, timestamptz, timestamptz, bigint, integer);

-- The audit of one workspace, the latest first; from a place on when one is given: a time, and how many entries of it were given already.
-- Entries of one time are in the order written, so that one more of it moves none. Of other workspaces' projects, which it may have been
-- granted, no name is told: it may have changed since. The rows' numbers stay here, since they count what all workspaces do.
CREATE OR REPLACE FUNCTION control.find_audit(
    in_workspace bigint, since timestamptz, until timestamptz, from_time timestamptz, given integer, most integer
)
RETURNS TABLE (at timestamptz, who text, project text, operation text, outcome text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.at, a.key_id, p.slug, a.operation, a.outcome
    FROM control.audit AS a LEFT JOIN control.project AS p ON p.id = a.project_id AND p.workspace_id = in_workspace
    WHERE a.workspace_id = in_workspace AND a.at >= coalesce(since, '-infinity') AND a.at <= coalesce(least(until, from_time), 'infinity')
    ORDER BY a.at DESC, a.id OFFSET CASE WHEN until < from_time THEN 0 ELSE given END LIMIT most
$$;
