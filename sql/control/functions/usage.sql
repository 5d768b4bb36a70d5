-- What each project keeps, counted by triggers of its tables (sql/project/functions/usage.sql) in the transaction that changes them,
-- and held to what its workspace may keep when that transaction commits. All run with the owner's rights and are called by nobody else.

CREATE OR REPLACE FUNCTION control.keep_usage(in_schema text, more_events bigint, more_bytes bigint)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF more_events = 0 AND more_bytes = 0 THEN
        RETURN;
    END IF;
    UPDATE control.usage AS u SET events = u.events + more_events, bytes = u.bytes + more_bytes,
        events_before = CASE WHEN u.changed_in = pg_current_xact_id() THEN u.events_before ELSE u.events END,
        bytes_before = CASE WHEN u.changed_in = pg_current_xact_id() THEN u.bytes_before ELSE u.bytes END,
        changed_in = pg_current_xact_id()
    WHERE u.project_id = substr(in_schema, 3)::bigint;
END
$$;

-- For the tables event and event_version.
CREATE OR REPLACE FUNCTION control.count_events()
RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    n bigint := 0;
    size bigint := 0;
BEGIN
    IF TG_OP <> 'DELETE' THEN
        SELECT count(*), coalesce(sum(octet_length(a.summary) + coalesce(octet_length(a.content), 0)), 0) INTO n, size FROM added AS a;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        SELECT n - count(*), size - coalesce(sum(octet_length(r.summary) + coalesce(octet_length(r.content), 0)), 0)
        INTO n, size FROM removed AS r;
    END IF;
    PERFORM control.keep_usage(TG_TABLE_SCHEMA, CASE WHEN TG_TABLE_NAME = 'event' THEN n ELSE 0 END, size);
    RETURN NULL;
END
$$;

-- For the tables page and page_version.
CREATE OR REPLACE FUNCTION control.count_pages()
RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    size bigint := 0;
BEGIN
    IF TG_OP <> 'DELETE' THEN
        SELECT coalesce(sum(octet_length(a.title) + octet_length(a.body)), 0) INTO size FROM added AS a;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        SELECT size - coalesce(sum(octet_length(r.title) + octet_length(r.body)), 0) INTO size FROM removed AS r;
    END IF;
    PERFORM control.keep_usage(TG_TABLE_SCHEMA, 0, size);
    RETURN NULL;
END
$$;

-- The one refusal of more than a workspace may keep: MUQ01 is `quota_reached` to callers.
CREATE OR REPLACE FUNCTION control.refuse(what text, most bigint)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION 'the workspace may keep % %', most, what USING ERRCODE = 'MUQ01', DETAIL = format('%s %s', what, most);
END
$$;

-- Runs at COMMIT, once the transaction's whole change of the project is known: one that frees more than it takes is never refused, though
-- it wrote something in between. The quota's row makes the last writers of a workspace stand in line, so that the sum is exact.
CREATE OR REPLACE FUNCTION control.check_quota()
RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    allowed control.quota;
    held control.usage;
    kept record;
BEGIN
    SELECT * INTO allowed FROM control.quota AS q
    WHERE q.workspace_id = NEW.workspace_id AND num_nonnulls(q.events, q.bytes) > 0 FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- A statement of its own, so that it sees what those before us in the queue committed.
    SELECT * INTO held FROM control.usage AS u WHERE u.project_id = NEW.project_id;
    SELECT sum(u.events) AS events, sum(u.bytes) AS bytes INTO kept FROM control.usage AS u WHERE u.workspace_id = NEW.workspace_id;
    IF held.events > held.events_before AND kept.events > allowed.events THEN
        PERFORM control.refuse('events', allowed.events);
    ELSIF held.bytes > held.bytes_before AND kept.bytes > allowed.bytes THEN
        PERFORM control.refuse('bytes', allowed.bytes);
    END IF;
    RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS quota_kept ON control.usage;
CREATE CONSTRAINT TRIGGER quota_kept AFTER INSERT OR UPDATE ON control.usage DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.events > NEW.events_before OR NEW.bytes > NEW.bytes_before) EXECUTE FUNCTION control.check_quota();

-- Called with a new project in the transaction that makes it.
CREATE OR REPLACE FUNCTION control.require_room(workspace bigint)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    most bigint;
BEGIN
    SELECT q.projects INTO most FROM control.quota AS q WHERE q.workspace_id = workspace AND q.projects IS NOT NULL FOR UPDATE;
    IF FOUND AND (SELECT count(*) FROM control.project AS p WHERE p.workspace_id = workspace) > most THEN
        PERFORM control.refuse('projects', most);
    END IF;
END
$$;

-- What a workspace keeps and may keep.
CREATE OR REPLACE FUNCTION control.find_usage(in_workspace bigint)
RETURNS TABLE (events bigint, bytes bigint, projects bigint, most_events bigint, most_bytes bigint, most_projects bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(sum(u.events), 0)::bigint, coalesce(sum(u.bytes), 0)::bigint,
        (SELECT count(*) FROM control.project AS p WHERE p.workspace_id = in_workspace), q.events, q.bytes, q.projects
    FROM (SELECT) AS one LEFT JOIN control.quota AS q ON q.workspace_id = in_workspace
        LEFT JOIN control.usage AS u ON u.workspace_id = in_workspace
    GROUP BY q.events, q.bytes, q.projects
$$;

-- What earlier versions had in the place of the next.
DROP FUNCTION IF EXISTS control.limit_workspace(bigint, bigint, bigint, bigint);

-- Changes the limits that are named: {"events", "bytes", "projects"}, null for none. What is kept already stays. Out: all three.
CREATE OR REPLACE FUNCTION control.limit_workspace(workspace bigint, limits jsonb)
RETURNS TABLE (events bigint, bytes bigint, projects bigint)
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO control.quota AS q (workspace_id, events, bytes, projects)
    VALUES (workspace, (limits ->> 'events')::bigint, (limits ->> 'bytes')::bigint, (limits ->> 'projects')::bigint)
    ON CONFLICT (workspace_id) DO UPDATE SET
        events = CASE WHEN limits ? 'events' THEN excluded.events ELSE q.events END,
        bytes = CASE WHEN limits ? 'bytes' THEN excluded.bytes ELSE q.bytes END,
        projects = CASE WHEN limits ? 'projects' THEN excluded.projects ELSE q.projects END
    RETURNING q.events, q.bytes, q.projects
$$;
