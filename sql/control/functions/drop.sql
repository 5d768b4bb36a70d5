-- Deleting projects and workspaces. A project goes in one transaction, with its schema, its reader role and what is due for it.

-- Out: how many rows each table held; null when the workspace has no such project. A project whose schema is missing goes too.
CREATE OR REPLACE FUNCTION control.drop_project(in_workspace bigint, project bigint)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
AS $$
DECLARE
    schema_name text := 'm_' || project;
    reader text := (SELECT format('mun_%s_r%s', i.tag, project) FROM control.instance AS i);
    name text;
    held bigint;
    counts jsonb := '{}';
BEGIN
    IF NOT EXISTS (SELECT FROM control.project AS p WHERE p.id = project AND p.workspace_id = in_workspace) THEN
        RETURN NULL;
    END IF;
    -- The counter before the project's row, as writers take them: nobody waits in a circle.
    BEGIN
        EXECUTE format('LOCK TABLE %I.counter IN ACCESS EXCLUSIVE MODE', schema_name);
    EXCEPTION WHEN undefined_table OR invalid_schema_name THEN
        counts := '{}';                          -- the schema is gone already
    END;
    DELETE FROM control.project AS p WHERE p.id = project;
    IF NOT FOUND THEN                            -- somebody else was faster
        RETURN NULL;
    END IF;
    FOR name IN SELECT c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = schema_name AND c.relkind = 'r' ORDER BY c.relname
    LOOP
        EXECUTE format('SELECT count(*) FROM %I.%I', schema_name, name) INTO held;
        counts := counts || jsonb_build_object(name, held);
    END LOOP;
    EXECUTE format('DROP SCHEMA IF EXISTS %I CASCADE', schema_name);
    EXECUTE format('DROP ROLE IF EXISTS %I', reader);
    RETURN counts;
END
$$;

-- The operator's workspace that is to be deleted is the operator's no more; MUO01 when no other is: somebody must stay who may make
-- workspaces. The rows of all operators are held, so that of two that are deleted at once one stays.
CREATE OR REPLACE FUNCTION control.leave_operator(wanted bigint)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM FROM control.workspace AS w WHERE w.operates ORDER BY w.id FOR UPDATE;
    IF NOT EXISTS (SELECT FROM control.workspace AS w WHERE w.id = wanted AND w.operates) THEN
        RETURN;
    END IF;
    IF NOT EXISTS (SELECT FROM control.workspace AS w WHERE w.id <> wanted AND w.operates) THEN
        RAISE EXCEPTION 'the last workspace of the operator' USING ERRCODE = 'MUO01';
    END IF;
    UPDATE control.workspace AS w SET operates = false WHERE w.id = wanted;
END
$$;

-- A workspace without projects, with its keys and its role; the owner's alone. Out: whether there was one.
CREATE OR REPLACE FUNCTION control.drop_workspace(wanted bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    role_name text;
BEGIN
    PERFORM control.leave_operator(wanted);
    DELETE FROM control.workspace AS w WHERE w.id = wanted RETURNING w.role INTO role_name;
    IF role_name IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP ROLE IF EXISTS %I', role_name);
    RETURN true;
END
$$;
