-- What admins do by way of the API. All are SECURITY DEFINER; which workspace is meant comes from who calls, never from a name alone.

-- Whether a workspace's admins act for the operator; only the owner's login makes one so.
CREATE OR REPLACE FUNCTION control.operates(in_workspace bigint)
RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce((SELECT w.operates FROM control.workspace AS w WHERE w.id = in_workspace), false)
$$;

-- Whether key `by_key` (null: a person, whose token was checked) may give these rights away: it stands, and none of them is beyond its own.
-- Its row is held, so that it cannot be revoked while it gives them.
CREATE OR REPLACE FUNCTION control.may_grant(
    by_key text, in_workspace bigint, given_scopes text[], given_projects bigint[], expires timestamptz
)
RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF by_key IS NULL THEN
        RETURN true;
    END IF;
    PERFORM FROM control.api_key AS k
    WHERE k.id = by_key AND k.workspace_id = in_workspace
        AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
        AND 'admin' = ANY (k.scopes) AND given_scopes <@ k.scopes
        AND (k.projects IS NULL OR given_projects <@ k.projects)
        AND (k.expires_at IS NULL OR expires <= k.expires_at)
    FOR SHARE;
    RETURN FOUND;
END
$$;

-- Out: whether the key was made.
CREATE OR REPLACE FUNCTION control.issue_key(
    by_key text, key_id text, key_hash bytea, workspace bigint, shown text, wanted_scopes text[],
    only_projects bigint[], in_default bigint, expires timestamptz
)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT control.may_grant(by_key, workspace, wanted_scopes, only_projects, expires) OR EXISTS (
        SELECT FROM unnest(only_projects || in_default) AS wanted (id)
        WHERE wanted.id IS NOT NULL
            AND NOT EXISTS (SELECT FROM control.project AS p WHERE p.id = wanted.id AND p.workspace_id = workspace)
    ) THEN
        RETURN false;
    END IF;
    PERFORM control.create_key(key_id, key_hash, workspace, shown, wanted_scopes, only_projects, in_default, expires);
    RETURN true;
END
$$;

-- The keys of a workspace in the order they were made; `within` leaves only those that reach no further than these projects.
CREATE OR REPLACE FUNCTION control.find_keys(in_workspace bigint, within bigint[], after_time timestamptz, after_id text, most integer)
RETURNS TABLE (
    id text, name text, scopes text[], projects bigint[], default_project bigint,
    created_at timestamptz, expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT k.id, k.name, k.scopes, k.projects, k.default_project, k.created_at, k.expires_at, k.revoked_at, k.last_used_at
    FROM control.api_key AS k
    WHERE k.workspace_id = in_workspace AND (within IS NULL OR k.projects <@ within)
        AND (after_time IS NULL OR (k.created_at, k.id) > (after_time, after_id))
    ORDER BY k.created_at, k.id LIMIT most
$$;

-- Out: since when the key is revoked, and whether it was before; no row for a key that is not in reach.
CREATE OR REPLACE FUNCTION control.end_key(in_workspace bigint, within bigint[], wanted text)
RETURNS TABLE (revoked_at timestamptz, known boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    held control.api_key;
BEGIN
    SELECT * INTO held FROM control.api_key AS k
    WHERE k.id = wanted AND k.workspace_id = in_workspace AND (within IS NULL OR k.projects <@ within) FOR UPDATE;
    IF FOUND THEN
        UPDATE control.api_key AS k SET revoked_at = now() WHERE k.id = wanted AND k.revoked_at IS NULL;
        RETURN QUERY SELECT coalesce(held.revoked_at, now()), held.revoked_at IS NOT NULL;
    END IF;
END
$$;

-- Out: created, updated or unchanged; null when the caller may not give this role.
CREATE OR REPLACE FUNCTION control.set_member(
    by_key text, by_whom text, workspace bigint, who text, wanted_role text, given_scopes text[], expires timestamptz
)
RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT control.may_grant(by_key, workspace, given_scopes, NULL, expires) THEN
        RETURN NULL;
    END IF;
    INSERT INTO control.member (workspace_id, subject, role, expires_at, added_by) VALUES (workspace, who, wanted_role, expires, by_whom)
    ON CONFLICT (workspace_id, subject) DO NOTHING;
    IF FOUND THEN
        RETURN 'created';
    END IF;
    UPDATE control.member AS m SET role = wanted_role, expires_at = expires, added_by = by_whom, added_at = now()
    WHERE m.workspace_id = workspace AND m.subject = who AND (m.role, m.expires_at) IS DISTINCT FROM (wanted_role, expires);
    RETURN CASE WHEN FOUND THEN 'updated' ELSE 'unchanged' END;
END
$$;

-- The same where no end is named: a member's stays, but not beyond `most`, which is a new one's, and one's whose role is over.
CREATE OR REPLACE FUNCTION control.change_member(
    by_key text, by_whom text, workspace bigint, who text, wanted_role text, given_scopes text[], most timestamptz,
    OUT outcome text, OUT expires timestamptz
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    held control.member;
BEGIN
    SELECT * INTO held FROM control.member AS m WHERE m.workspace_id = workspace AND m.subject = who FOR UPDATE;
    expires := least(CASE WHEN held.expires_at > now() THEN held.expires_at END, most);
    outcome := control.set_member(by_key, by_whom, workspace, who, wanted_role, given_scopes, expires);
END
$$;

CREATE OR REPLACE FUNCTION control.find_members(in_workspace bigint, after text, most integer)
RETURNS TABLE (subject text, role text, expires_at timestamptz, added_at timestamptz, added_by text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT m.subject, m.role, m.expires_at, m.added_at, m.added_by FROM control.member AS m
    WHERE m.workspace_id = in_workspace AND m.subject > after ORDER BY m.subject LIMIT most
$$;

-- Out: whether there was one.
CREATE OR REPLACE FUNCTION control.remove_member(in_workspace bigint, who text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM control.member AS m WHERE m.workspace_id = in_workspace AND m.subject = who;
    RETURN FOUND;
END
$$;

-- A workspace by its slug for a person's token, with the person's role as a member of it.
CREATE OR REPLACE FUNCTION control.find_subject(wanted text, who text)
RETURNS TABLE (id bigint, slug text, role text, member_role text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT w.id, w.slug, w.role, m.role
    FROM control.workspace AS w LEFT JOIN control.member AS m
        ON m.workspace_id = w.id AND m.subject = who AND (m.expires_at IS NULL OR m.expires_at > now())
    WHERE w.slug = wanted
$$;

-- The workspace of the caller; all of them for the operator.
CREATE OR REPLACE FUNCTION control.find_workspaces(by_workspace bigint, after text, most integer)
RETURNS TABLE (
    slug text, name text, operates boolean, created_at timestamptz, events bigint, bytes bigint, projects bigint,
    most_events bigint, most_bytes bigint, most_projects bigint
)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT w.slug, w.name, w.operates, w.created_at, u.events, u.bytes, u.projects, u.most_events, u.most_bytes, u.most_projects
    FROM (
        SELECT * FROM control.workspace AS w
        WHERE w.slug > after AND (w.id = by_workspace OR control.operates(by_workspace)) ORDER BY w.slug LIMIT most
    ) AS w CROSS JOIN LATERAL control.find_usage(w.id) AS u
    ORDER BY w.slug
$$;

-- A workspace that the caller may change: its own, and for the operator any.
CREATE OR REPLACE FUNCTION control.find_governed(by_workspace bigint, wanted text)
RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT w.id FROM control.workspace AS w WHERE w.slug = wanted AND (w.id = by_workspace OR control.operates(by_workspace))
$$;

-- A workspace and its first key, by the operator; null when the slug is taken, or the key may not give that much away.
CREATE OR REPLACE FUNCTION control.open_workspace(
    by_key text, by_workspace bigint, wanted text, shown text, key_id text, key_hash bytea, key_scopes text[], expires timestamptz
)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    made bigint;
BEGIN
    IF NOT control.operates(by_workspace) OR NOT control.may_grant(by_key, by_workspace, key_scopes, NULL, expires) THEN
        RETURN NULL;
    END IF;
    made := control.create_workspace(wanted, shown);
    -- One that stood before is somebody's: no key to it is given away.
    IF NOT EXISTS (SELECT FROM control.workspace AS w WHERE w.id = made AND w.xmin = pg_current_xact_id()::xid) THEN
        RETURN NULL;
    END IF;
    PERFORM control.create_key(key_id, key_hash, made, 'first', key_scopes, NULL, NULL, expires);
    RETURN made;
END
$$;

-- Gives a workspace a name for people; a new slug too, which is the operator's to give. Out: whether there was one to change.
CREATE OR REPLACE FUNCTION control.rename_workspace(by_workspace bigint, wanted text, new_slug text, shown text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE control.workspace AS w SET name = coalesce(shown, w.name), slug = coalesce(new_slug, w.slug)
    WHERE w.id = control.find_governed(by_workspace, wanted) AND (new_slug IS NULL OR control.operates(by_workspace));
    RETURN FOUND;
END
$$;

-- What earlier versions had in the place of the next.
DROP FUNCTION IF EXISTS control.set_quota(bigint, text, bigint, bigint, bigint);

-- Changes the limits that are named: {"events", "bytes", "projects"}, null for none. Out: all three; no row where there is nothing to limit.
CREATE OR REPLACE FUNCTION control.set_quota(by_workspace bigint, wanted text, limits jsonb)
RETURNS TABLE (events bigint, bytes bigint, projects bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    found_id bigint := control.find_governed(by_workspace, wanted);
BEGIN
    IF found_id IS NULL OR NOT control.operates(by_workspace) THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT l.events, l.bytes, l.projects FROM control.limit_workspace(found_id, limits) AS l;
END
$$;

-- Called before the first project of a workspace that is to be deleted goes. Out: whether there is one.
CREATE OR REPLACE FUNCTION control.begin_closing(by_workspace bigint, wanted text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    found_id bigint := control.find_governed(by_workspace, wanted);
BEGIN
    IF found_id IS NOT NULL THEN
        PERFORM control.leave_operator(found_id);
    END IF;
    RETURN found_id IS NOT NULL;
END
$$;

-- Drops a workspace that has no projects any more, with its keys, members and role.
CREATE OR REPLACE FUNCTION control.close_workspace(by_workspace bigint, wanted text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    found_id bigint := control.find_governed(by_workspace, wanted);
BEGIN
    RETURN found_id IS NOT NULL AND control.drop_workspace(found_id);
END
$$;

-- Gives a project a name for people, or a new slug. Out: whether there was one to change.
CREATE OR REPLACE FUNCTION control.rename_project(in_workspace bigint, project bigint, new_slug text, shown text)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE control.project AS p SET name = coalesce(shown, p.name), slug = coalesce(new_slug, p.slug)
    WHERE p.id = project AND p.workspace_id = in_workspace;
    RETURN FOUND;
END
$$;
