-- Who asks. All are SECURITY DEFINER: the API's login may call them and read nothing else.

CREATE OR REPLACE FUNCTION control.find_key(wanted text)
RETURNS TABLE (
    hash bytea, workspace_id bigint, workspace text, role text, scopes text[],
    projects bigint[], default_project bigint, expires_at timestamptz, revoked_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT k.hash, w.id, w.slug, w.role, k.scopes, k.projects, k.default_project, k.expires_at, k.revoked_at
    FROM control.api_key AS k JOIN control.workspace AS w ON w.id = k.workspace_id
    WHERE k.id = wanted
$$;

CREATE OR REPLACE FUNCTION control.touch_key(wanted text)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE control.api_key SET last_used_at = now() WHERE id = wanted
$$;

-- What earlier versions had in the place of find_subject.
DROP FUNCTION IF EXISTS control.find_workspace(text);

CREATE OR REPLACE FUNCTION control.find_projects(in_workspace bigint)
RETURNS TABLE (id bigint, slug text, name text, created_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT p.id, p.slug, p.name, p.created_at FROM control.project AS p WHERE p.workspace_id = in_workspace ORDER BY p.id
$$;

-- Of some projects the `most` that were written last, the latest first: each write leaves its transaction's number with the project's usage.
CREATE OR REPLACE FUNCTION control.find_active(projects bigint[], most integer)
RETURNS TABLE (id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT u.project_id FROM control.usage AS u WHERE u.project_id = ANY (projects)
    ORDER BY u.changed_in DESC NULLS LAST, u.project_id DESC LIMIT most
$$;

CREATE OR REPLACE FUNCTION control.write_audit(key_id text, workspace_id bigint, project_id bigint, operation text, outcome text)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO control.audit (key_id, workspace_id, project_id, operation, outcome)
    VALUES (key_id, workspace_id, project_id, operation, outcome)
$$;

-- For workspaces' roles, each for its own projects. Who calls is told by the setting `role`, which stays the caller's inside a function with
-- another's rights, and which Postgres lets no function of that kind change.
CREATE OR REPLACE FUNCTION control.mark_due(project bigint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO control.due AS d (project_id, saves)
    SELECT p.id, 1 FROM control.project AS p JOIN control.workspace AS w ON w.id = p.workspace_id
    WHERE p.id = project AND w.role = current_setting('role')
    ON CONFLICT (project_id) DO UPDATE SET saves = d.saves + 1, next_at = least(d.next_at, now());
    IF NOT FOUND THEN
        RAISE EXCEPTION 'not a project of this role''s workspace' USING ERRCODE = 'insufficient_privilege';
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION control.describe_instance()
RETURNS TABLE (tag text, api_login text, vector_schema text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT i.tag, i.api_login, i.vector_schema FROM control.instance AS i
$$;

-- By what the installation knows the secret of its keys. The first that is given stays, until the owner sets another; null only asks.
CREATE OR REPLACE FUNCTION control.settle_pepper(mark text)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF mark IS NOT NULL THEN
        UPDATE control.instance SET pepper_mark = mark WHERE pepper_mark IS NULL;
    END IF;
    RETURN (SELECT i.pepper_mark FROM control.instance AS i);
END
$$;
