-- The way of free SQL into a project: one function that the project's own reader role owns. Names in braces are put in.
-- Inside a security definer function Postgres refuses to change the role, and inside a stable one to write; the reader may read
-- the views and nothing else. Dropped first, since the owner of the schema may drop the reader's function but not replace it.
DROP FUNCTION IF EXISTS m_0_read_rows(text, text[], integer, integer, bigint);

-- question: one query that was checked, its parameters written as elements of $1; width: the number of its columns.
-- Out: each row as JSON under the keys c1, c2, …; a null last when most_bytes was reached.
CREATE FUNCTION m_0_read_rows(question text, arguments text[], width integer, most_rows integer, most_bytes bigint)
RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = {schema}, pg_temp
SET standard_conforming_strings = on
SET timezone = 'UTC'
SET cursor_tuple_fraction = 1
SET max_parallel_workers_per_gather = 0
AS $$
DECLARE
    path text := current_setting('search_path');
    columns text := (SELECT string_agg('c' || n, ', ' ORDER BY n) FROM generate_series(1, width) AS n);
    line text;
    lines integer := 0;
    bytes bigint := 0;
    answer refcursor;
BEGIN
    -- One row at a time: a loop over the query would fetch fifty ahead, however long they are.
    OPEN answer NO SCROLL FOR EXECUTE format(E'SELECT row_to_json(q)::text FROM (%s\n) AS q (%s)', question, columns) USING arguments;
    WHILE lines < most_rows LOOP
        FETCH answer INTO line;
        EXIT WHEN NOT FOUND;
        lines := lines + 1;
        bytes := bytes + octet_length(line);
        IF bytes > most_bytes THEN
            RETURN NEXT NULL;
            EXIT;
        END IF;
        RETURN NEXT line;
    END LOOP;
    CLOSE answer;
    IF current_setting('search_path') <> path THEN
        RAISE EXCEPTION 'a query may not change the search path' USING ERRCODE = 'insufficient_privilege';
    END IF;
END
$$;
REVOKE ALL ON FUNCTION m_0_read_rows(text, text[], integer, integer, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION m_0_read_rows(text, text[], integer, integer, bigint) TO {role};
GRANT SELECT ON
    events, entities, event_entities, tags, event_tags, sessions, next_links, resolutions, aliases, pages, page_links
    TO {reader};

-- Giving a function away takes the right to become its owner, and the owner's right to make it: both for this moment alone.
GRANT {reader} TO CURRENT_USER;
GRANT USAGE, CREATE ON SCHEMA {schema} TO {reader};
ALTER FUNCTION m_0_read_rows(text, text[], integer, integer, bigint) OWNER TO {reader};
REVOKE CREATE ON SCHEMA {schema} FROM {reader};
REVOKE {reader} FROM CURRENT_USER;
