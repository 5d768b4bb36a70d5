-- Deleting takes the counter's row first, as every writer does; the triggers keep the statistics. The worker counts vectors anew.

CREATE OR REPLACE FUNCTION m_0_delete_events(wanted bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    gone bigint[];
BEGIN
    PERFORM FROM counter FOR UPDATE;
    WITH RECURSIVE part AS (                     -- an item stored in several events goes as a whole
        SELECT unnest(wanted) AS id
        UNION
        SELECT l.to_id FROM part JOIN next_link AS l ON l.from_id = part.id AND l.source = 'chunk_order'
    ), deleted AS (
        DELETE FROM event AS e USING part WHERE e.id = part.id RETURNING e.id
    )
    SELECT coalesce(array_agg(id ORDER BY id), '{}') INTO gone FROM deleted;
    IF cardinality(gone) > 0 THEN
        PERFORM control.mark_due(substr(current_schema(), 3)::bigint);
    END IF;
    RETURN gone;
END
$$;

-- Out: the number of the page that is gone, null when there was none; `stands` is the version that stands when `expected` differs.
CREATE OR REPLACE FUNCTION m_0_delete_page(wanted text, expected integer, OUT id bigint, OUT stands integer)
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM FROM counter FOR UPDATE;
    SELECT p.id, p.version INTO id, stands FROM page AS p WHERE p.path = wanted;
    IF id IS NULL OR (expected IS NOT NULL AND expected <> stands) THEN
        id := NULL;
        RETURN;
    END IF;
    stands := NULL;
    DELETE FROM page AS p WHERE p.id = m_0_delete_page.id;
    PERFORM control.mark_due(substr(current_schema(), 3)::bigint);
END
$$;
