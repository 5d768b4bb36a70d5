-- Moving projects from one embedding space to another. The owner's alone: called by the worker and the command line.

-- The space that all projects are to be in from now on. When it was another one before, every project has work.
CREATE OR REPLACE FUNCTION control.choose_space(wanted_provider text, wanted_model text, wanted_dim integer)
RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wanted integer := control.add_space(wanted_provider, wanted_model, wanted_dim);
BEGIN
    UPDATE control.instance SET space_id = wanted WHERE space_id IS DISTINCT FROM wanted;
    IF FOUND THEN
        INSERT INTO control.due AS d (project_id, saves) SELECT p.id, 1 FROM control.project AS p
        ON CONFLICT (project_id) DO UPDATE SET saves = d.saves + 1, next_at = now();
    END IF;
    RETURN wanted;
END
$$;

-- Queries use this space from now on. Two statements, as no two rows may be current even for a moment.
CREATE OR REPLACE FUNCTION control.switch_project_space(schema_name text, wanted integer)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    EXECUTE format('UPDATE %I.space SET current = false, retired_at = now() WHERE current AND id <> $1', schema_name) USING wanted;
    EXECUTE format('UPDATE %I.space SET current = true, retired_at = NULL WHERE id = $1', schema_name) USING wanted;
END
$$;

-- Drops the vectors of a space that is out of use, and what is known of its failures. A table that is still read is left for the next time.
CREATE OR REPLACE FUNCTION control.drop_project_space(schema_name text, gone integer)
RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM set_config('lock_timeout', '500ms', true);
    EXECUTE format('DROP TABLE IF EXISTS %I.%I', schema_name, 'vector_' || gone);
    EXECUTE format('DELETE FROM %I.space WHERE id = $1 AND NOT current', schema_name) USING gone;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$$;
