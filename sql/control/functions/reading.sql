-- What a workspace lets keys of other workspaces read. Nobody learns from it which keys there are elsewhere: a grant to a key that is not
-- there is kept like any other. `within` are the projects that the giver reaches, null for all; it sees and takes back no grant beyond them.

-- Lets key `who` read the `wanted` projects (null: all, also those to come), in the place of what was granted to it before within the
-- giver's reach. Out: created, updated or unchanged; 'own' for a key of this workspace that the giver sees, since reading there is not
-- granted but the key's own; null when the giver may not, or a project is gone.
CREATE OR REPLACE FUNCTION control.grant_reading(
    by_key text, by_whom text, in_workspace bigint, within bigint[], who text, wanted bigint[], expires timestamptz
)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    known boolean;
    ended bigint;
    changed bigint;
BEGIN
    -- One at a time in a workspace. Projects are held, so that none is deleted while it is given.
    PERFORM FROM control.workspace AS w WHERE w.id = in_workspace FOR NO KEY UPDATE;
    PERFORM FROM control.project AS p WHERE p.id = ANY (wanted) ORDER BY p.id FOR KEY SHARE;
    IF NOT control.may_grant(by_key, in_workspace, '{read}', wanted, expires) OR EXISTS (
        SELECT FROM unnest(wanted) AS w (id)
        WHERE NOT EXISTS (SELECT FROM control.project AS p WHERE p.id = w.id AND p.workspace_id = in_workspace)
    ) THEN
        RETURN NULL;
    END IF;
    IF EXISTS (
        SELECT FROM control.api_key AS k
        WHERE k.id = who AND k.workspace_id = in_workspace AND (within IS NULL OR k.projects <@ within)
    ) THEN
        RETURN 'own';
    END IF;
    known := EXISTS (SELECT FROM control.find_grants(in_workspace, within, '', '', NULL) AS g WHERE g.key_id = who);
    DELETE FROM control.reading_grant AS g
    WHERE g.workspace_id = in_workspace AND g.key_id = who AND (within IS NULL OR g.project_id = ANY (within))
        AND ((g.project_id IS NULL) <> (wanted IS NULL) OR g.project_id <> ALL (wanted));
    GET DIAGNOSTICS ended = ROW_COUNT;
    INSERT INTO control.reading_grant AS g (workspace_id, key_id, project_id, expires_at, granted_by)
    SELECT in_workspace, who, w.id, expires, by_whom FROM unnest(coalesce(wanted, ARRAY[NULL::bigint])) AS w (id)
    ON CONFLICT (key_id, workspace_id, project_id) DO UPDATE
        SET expires_at = excluded.expires_at, granted_by = excluded.granted_by, granted_at = excluded.granted_at
        WHERE g.expires_at IS DISTINCT FROM excluded.expires_at;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN CASE WHEN NOT known THEN 'created' WHEN ended + changed > 0 THEN 'updated' ELSE 'unchanged' END;
END
$$;

-- What earlier versions had in the place of the next.
DROP FUNCTION IF EXISTS control.find_grants(bigint, bigint[], text, bigint, integer);

-- The grants of a workspace by key and project, those for all projects before the others of a key; from behind a key and a project's slug on
-- when they are given. Projects' numbers stay here, since they count the projects of all workspaces.
CREATE OR REPLACE FUNCTION control.find_grants(in_workspace bigint, within bigint[], after_key text, after_project text, most integer)
RETURNS TABLE (key_id text, project text, expires_at timestamptz, granted_at timestamptz, granted_by text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT g.key_id, p.slug, g.expires_at, g.granted_at, g.granted_by
    FROM control.reading_grant AS g LEFT JOIN control.project AS p ON p.id = g.project_id
    WHERE g.workspace_id = in_workspace AND (within IS NULL OR g.project_id = ANY (within))
        AND (g.key_id, coalesce(p.slug, '')) > (after_key, after_project)
    ORDER BY g.key_id, coalesce(p.slug, '') LIMIT most
$$;

-- Out: how many grants there were.
CREATE OR REPLACE FUNCTION control.end_grant(in_workspace bigint, within bigint[], who text)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    ended bigint;
BEGIN
    DELETE FROM control.reading_grant AS g
    WHERE g.workspace_id = in_workspace AND g.key_id = who AND (within IS NULL OR g.project_id = ANY (within));
    GET DIAGNOSTICS ended = ROW_COUNT;
    RETURN ended;
END
$$;

-- What other workspaces let a key read; `project_id` null is all of one. Bounded, the earliest first: nobody asks the key's holder, so
-- who gives much is not to make each of its calls slow, nor to push out what others gave.
CREATE OR REPLACE FUNCTION control.find_granted(who text)
RETURNS TABLE (workspace_id bigint, workspace text, role text, project_id bigint, expires_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT w.id, w.slug, w.role, g.project_id, g.expires_at
    FROM control.reading_grant AS g
        JOIN control.api_key AS k ON k.id = g.key_id AND k.workspace_id <> g.workspace_id
        JOIN control.workspace AS w ON w.id = g.workspace_id
    WHERE g.key_id = who AND (g.expires_at IS NULL OR g.expires_at > now())
    ORDER BY g.granted_at, w.id, g.project_id LIMIT 1000
$$;

-- A key that goes takes along what it was granted.
CREATE OR REPLACE FUNCTION control.forget_grants()
RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM control.reading_grant AS g WHERE g.key_id = OLD.id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER forget_grants AFTER DELETE ON control.api_key FOR EACH ROW EXECUTE FUNCTION control.forget_grants();
