-- Entities and tags by name, made when they are new. Callers hold the counter's row.

-- wanted: [{"name", "type", "folded"}], each pair once.
CREATE OR REPLACE FUNCTION m_0_ensure_entities(wanted jsonb) RETURNS void
LANGUAGE sql
AS $$
    WITH fresh AS (
        SELECT row_number() OVER (ORDER BY min(w.n)) AS nth, w.name, w.type, min(w.folded) AS folded
        FROM (SELECT * FROM ROWS FROM (jsonb_to_recordset(wanted) AS (name text, type text, folded text)) WITH ORDINALITY
            AS r (name, type, folded, n)) AS w
        WHERE NOT EXISTS (SELECT FROM entity AS e WHERE e.name = w.name AND e.type = w.type)
        GROUP BY w.name, w.type
    ), numbered AS (
        UPDATE counter SET entities = entities + (SELECT count(*) FROM fresh) WHERE EXISTS (SELECT FROM fresh) RETURNING entities
    )
    INSERT INTO entity (id, name, type, folded)
    SELECT numbered.entities - (SELECT count(*) FROM fresh) + fresh.nth, fresh.name, fresh.type, fresh.folded
    FROM fresh, numbered
$$;

-- wanted: [{"path", "leaf", "folded"}].
CREATE OR REPLACE FUNCTION m_0_ensure_tags(wanted jsonb) RETURNS void
LANGUAGE sql
AS $$
    WITH fresh AS (
        SELECT row_number() OVER (ORDER BY min(w.n)) AS nth, w.path, min(w.leaf) AS leaf, min(w.folded) AS folded
        FROM (SELECT * FROM ROWS FROM (jsonb_to_recordset(wanted) AS (path text, leaf text, folded text)) WITH ORDINALITY
            AS r (path, leaf, folded, n)) AS w
        WHERE NOT EXISTS (SELECT FROM tag AS t WHERE t.path = w.path)
        GROUP BY w.path
    ), numbered AS (
        UPDATE counter SET tags = tags + (SELECT count(*) FROM fresh) WHERE EXISTS (SELECT FROM fresh) RETURNING tags
    )
    INSERT INTO tag (id, path, leaf, folded)
    SELECT numbered.tags - (SELECT count(*) FROM fresh) + fresh.nth, fresh.path, fresh.leaf, fresh.folded
    FROM fresh, numbered
$$;
