-- For the migration runner alone: the ledgers of many projects in one call.
-- One that cannot be read is given as null, whatever the reason: the runner then looks at that project by itself, and says what is wrong.

CREATE OR REPLACE FUNCTION control.find_ledgers(projects bigint[])
RETURNS TABLE (project_id bigint, names text[])
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    FOREACH project_id IN ARRAY projects LOOP
        BEGIN
            EXECUTE format('SELECT array_agg(l.name) FROM %I.migration AS l', 'm_' || project_id) INTO names;
        EXCEPTION WHEN OTHERS THEN
            names := NULL;
        END;
        RETURN NEXT;
    END LOOP;
END
$$;
