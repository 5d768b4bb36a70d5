-- Making workspaces, projects and keys. Names of roles and schemas come from ids, never from a user's text.

CREATE OR REPLACE FUNCTION control.group_role()
RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('mun_%s_workspace', i.tag) FROM control.instance AS i
$$;

CREATE OR REPLACE FUNCTION control.create_workspace(wanted text, shown text)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    made bigint;
    role_name text;
    login text;
BEGIN
    INSERT INTO control.workspace (slug, name) VALUES (wanted, shown) ON CONFLICT (slug) DO NOTHING RETURNING id INTO made;
    IF made IS NULL THEN
        RETURN (SELECT id FROM control.workspace WHERE slug = wanted);
    END IF;
    SELECT format('mun_%s_w%s', tag, made), api_login INTO role_name, login FROM control.instance;
    -- The group holds what all workspaces' roles may do in control, so that no object carries a grant per workspace.
    EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
    EXECUTE format('GRANT %I TO %I', control.group_role(), role_name);
    EXECUTE format('GRANT %I TO %I', role_name, login);
    UPDATE control.workspace SET role = role_name WHERE id = made;
    RETURN made;
END
$$;

CREATE OR REPLACE FUNCTION control.add_space(wanted_provider text, wanted_model text, wanted_dim integer)
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO control.space (provider, model, dim) VALUES (wanted_provider, wanted_model, wanted_dim)
    ON CONFLICT (provider, model, dim) DO NOTHING;
    RETURN (SELECT id FROM control.space WHERE (provider, model, dim) = (wanted_provider, wanted_model, wanted_dim));
END
$$;

-- Takes from PUBLIC what Postgres gives it on each new function, of whatever this or a later version makes in a schema: whom a function is
-- for is named in grants.sql. Found by what hangs on the schema, since a look through pg_proc reads the functions of all projects.
CREATE OR REPLACE FUNCTION control.close_functions(schema_name text)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    open_to_all text := (
        SELECT string_agg(p.oid::regprocedure::text, ', ')
        FROM pg_depend AS d JOIN pg_proc AS p ON p.oid = d.objid
        WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = to_regnamespace(schema_name) AND d.classid = 'pg_proc'::regclass
            AND EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a WHERE a.grantee = 0)
    );
BEGIN
    IF open_to_all IS NOT NULL THEN
        EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', open_to_all);
    END IF;
END
$$;

-- Idempotent and atomic: the schema, its tables and grants come with the row or not at all. `space` may be null.
CREATE OR REPLACE FUNCTION control.create_project(
    workspace bigint, wanted text, shown text, space_id integer, OUT id bigint, OUT created boolean
)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    schema_name text;
    role_name text;
    vectors text;
BEGIN
    created := false;
    INSERT INTO control.project AS p (workspace_id, slug, name) VALUES (workspace, wanted, shown)
    ON CONFLICT (workspace_id, slug) DO NOTHING RETURNING p.id INTO id;
    IF id IS NULL THEN
        SELECT p.id INTO id FROM control.project AS p WHERE p.workspace_id = workspace AND p.slug = wanted;
        RETURN;
    END IF;
    PERFORM control.require_room(workspace);
    INSERT INTO control.usage (project_id, workspace_id, events, bytes) VALUES (id, workspace, 0, 0);
    schema_name := 'm_' || id;
    SELECT w.role INTO role_name FROM control.workspace AS w WHERE w.id = workspace;
    SELECT i.vector_schema INTO vectors FROM control.instance AS i;
    EXECUTE format('CREATE SCHEMA %I', schema_name);
    PERFORM set_config('search_path', format('%I, %I, pg_temp', schema_name, vectors), true);
    EXECUTE replace(replace((SELECT t.sql FROM control.template AS t WHERE t.name = 'project'),
        'm_0_', schema_name || '_'), '{role}', quote_ident(role_name));
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', schema_name, role_name);
    PERFORM control.add_reader(schema_name, role_name);
    PERFORM control.close_functions(schema_name);
    IF space_id IS NOT NULL THEN
        PERFORM control.add_project_space(schema_name, space_id, role_name, true);
    END IF;
    created := true;
END
$$;

-- The project's reader role and its function (sql/project/reader.sql). Called again, it renews the function.
CREATE OR REPLACE FUNCTION control.add_reader(schema_name text, role_name text)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    reader text := (SELECT format('mun_%s_r%s', i.tag, substr(schema_name, 3)) FROM control.instance AS i);
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = reader) THEN
        EXECUTE format('CREATE ROLE %I NOLOGIN', reader);
    END IF;
    PERFORM set_config('search_path', format('%I, pg_temp', schema_name), true);
    EXECUTE replace(replace(replace(replace((SELECT t.sql FROM control.template AS t WHERE t.name = 'reader'), 'm_0_', schema_name || '_'),
        '{schema}', quote_ident(schema_name)), '{role}', quote_ident(role_name)), '{reader}', quote_ident(reader));
END
$$;

-- The vector table of one space in one project.
CREATE OR REPLACE FUNCTION control.add_project_space(schema_name text, space_id integer, role_name text, is_current boolean)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    s control.space;
BEGIN
    SELECT * INTO STRICT s FROM control.space WHERE id = space_id;
    PERFORM set_config('search_path', format('%I, %I, pg_temp', schema_name, i.vector_schema), true) FROM control.instance AS i;
    EXECUTE replace(replace((SELECT t.sql FROM control.template AS t WHERE t.name = 'space'),
        'vector_0', 'vector_' || s.id), '{dim}', s.dim::text);
    IF s.dim <= 3900 THEN                        -- wider rows do not fit a page; they go out of line
        EXECUTE format('ALTER TABLE %I.%I ALTER COLUMN vector SET STORAGE PLAIN', schema_name, 'vector_' || s.id);
    END IF;
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I.%I TO %I', schema_name, 'vector_' || s.id, role_name);
    EXECUTE format('INSERT INTO %I.space (id, provider, model, dim, current) VALUES ($1, $2, $3, $4, $5)', schema_name)
        USING s.id, s.provider, s.model, s.dim, is_current;
END
$$;

-- For a project from a backup: what create_project and add_project_space give beside grants.sql.
CREATE OR REPLACE FUNCTION control.grant_project(schema_name text, role_name text)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    space_id integer;
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', schema_name, role_name);
    FOR space_id IN EXECUTE format('SELECT s.id FROM %I.space AS s', schema_name) LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I.%I TO %I', schema_name, 'vector_' || space_id, role_name);
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION control.create_key(
    key_id text, key_hash bytea, workspace bigint, shown text, wanted_scopes text[],
    only_projects bigint[], in_default bigint, expires timestamptz
)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO control.api_key (id, hash, workspace_id, name, scopes, projects, default_project, expires_at)
    VALUES (key_id, key_hash, workspace, shown, wanted_scopes, only_projects, in_default, expires)
$$;
