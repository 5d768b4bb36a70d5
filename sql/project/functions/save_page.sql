-- Stores a page: a new one, or the next version of one that stands.
--
-- input: {"path", "names", "aliases", "title", "body", "author", "expected": version or null, "read": {"version", "aliases"} or null,
--         "links": [target], "entities": [{"name", "type", "folded"}], "dropped": [{"name", "type"}] or null,
--         "tags": [{"path", "leaf", "folded"}] or null, "passages": [{"number", "title_path", "text", "words", "length"}]}
-- `expected` 0 means that the page must not stand yet. `read` is what the rest was made from. `dropped` null: the entities are all that
-- there are to be; else they come to those that stand, of which the dropped ones go. `tags` null: they stay.
-- Of earlier versions the newest 1,000 are kept: whoever writes a page every minute does not fill the disk with it.
-- Out: the page's number and version; `outcome` is created, updated, unchanged (the same text makes no version), conflict or moved (the
-- page is not as expected, or not as it was read: nothing was written; the version is the one that stands).
CREATE OR REPLACE FUNCTION m_0_save_page(input jsonb)
RETURNS TABLE (id bigint, version integer, outcome text)
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    held counter;
    old page;
    wanted record;
BEGIN
    SELECT * INTO held FROM counter FOR UPDATE;
    SELECT * INTO wanted FROM jsonb_to_record(input) AS w (
        path text, names text[], aliases text[], title text, body text, author text, expected integer, read jsonb);
    SELECT * INTO old FROM page AS p WHERE p.path = wanted.path;

    IF wanted.expected IS NOT NULL AND wanted.expected <> coalesce(old.version, 0) THEN
        RETURN QUERY SELECT old.id, coalesce(old.version, 0), 'conflict'::text;
        RETURN;
    END IF;
    IF wanted.read ->> 'version' IS NOT NULL AND (wanted.read -> 'version', wanted.read -> 'aliases')
        <> (to_jsonb(coalesce(old.version, 0)), to_jsonb(coalesce(old.aliases, '{}'))) THEN
        RETURN QUERY SELECT old.id, coalesce(old.version, 0), 'moved'::text;
        RETURN;
    END IF;
    IF old.id IS NULL THEN
        UPDATE counter SET pages = pages + 1 RETURNING pages INTO old.id;
        INSERT INTO page (id, path, names, title, body, version, author)
        VALUES (old.id, wanted.path, wanted.names, wanted.title, wanted.body, 1, wanted.author);
        old.version := 0;
        outcome := 'created';
    ELSIF (old.title, old.body) = (wanted.title, wanted.body) THEN
        outcome := 'unchanged';
    ELSE
        INSERT INTO page_version (page_id, version, title, body, author, created_at)
        VALUES (old.id, old.version, old.title, old.body, old.author, old.updated_at);
        DELETE FROM page_version AS v WHERE v.page_id = old.id AND v.version <= old.version - 1000;
        UPDATE page AS p SET title = wanted.title, body = wanted.body, version = old.version + 1, author = wanted.author, updated_at = now()
        WHERE p.id = old.id;
        outcome := 'updated';
    END IF;

    UPDATE page AS p SET names = wanted.names, aliases = coalesce(wanted.aliases, p.aliases)
    WHERE p.id = old.id AND (p.names, p.aliases) IS DISTINCT FROM (wanted.names, coalesce(wanted.aliases, p.aliases));
    PERFORM m_0_link_page(input, old.id);
    IF outcome <> 'unchanged' THEN
        PERFORM m_0_replace_passages(input -> 'passages', old.id);
        PERFORM control.mark_due(substr(current_schema(), 3)::bigint);
        old.version := old.version + 1;
    END IF;
    RETURN QUERY SELECT old.id, old.version, outcome;
END
$$;

-- Links of a page are those of its newest text; entities and tags as m_0_save_page has them.
CREATE OR REPLACE FUNCTION m_0_link_page(input jsonb, page bigint) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM page_link AS l WHERE l.from_id = page AND NOT (input -> 'links' ? l.target);
    INSERT INTO page_link (from_id, target) SELECT page, x FROM jsonb_array_elements_text(input -> 'links') AS x ON CONFLICT DO NOTHING;

    PERFORM m_0_ensure_entities(input -> 'entities');
    INSERT INTO page_entity (page_id, entity_id)
    SELECT page, e.id FROM jsonb_to_recordset(input -> 'entities') AS x (name text, type text)
        JOIN entity AS e ON e.name = x.name AND e.type = x.type
    ON CONFLICT DO NOTHING;
    DELETE FROM page_entity AS pe USING entity AS e
    WHERE pe.page_id = page AND e.id = pe.entity_id
        AND (jsonb_typeof(input -> 'dropped') IS DISTINCT FROM 'array' OR input -> 'dropped' @> jsonb_build_array(
            jsonb_build_object('name', e.name, 'type', e.type)))
        AND NOT EXISTS (SELECT FROM jsonb_to_recordset(input -> 'entities') AS x (name text, type text) WHERE x.name = e.name AND x.type = e.type);

    IF jsonb_typeof(input -> 'tags') IS DISTINCT FROM 'array' THEN
        RETURN;
    END IF;
    PERFORM m_0_ensure_tags(input -> 'tags');
    INSERT INTO page_tag (page_id, tag_id)
    SELECT page, t.id FROM jsonb_to_recordset(input -> 'tags') AS x (path text) JOIN tag AS t ON t.path = x.path
    ON CONFLICT DO NOTHING;
    DELETE FROM page_tag AS pt USING tag AS t
    WHERE pt.page_id = page AND t.id = pt.tag_id
        AND NOT EXISTS (SELECT FROM jsonb_to_recordset(input -> 'tags') AS x (path text) WHERE x.path = t.path);
END
$$;

-- A piece that stays as it was keeps its row, and so its vector.
CREATE OR REPLACE FUNCTION m_0_replace_passages(pieces jsonb, page bigint) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    last bigint;
    made integer;
BEGIN
    DELETE FROM passage AS p WHERE p.page_id = page AND NOT EXISTS (
        SELECT FROM jsonb_to_recordset(pieces) AS x (number integer, title_path text, text text)
        WHERE x.number = p.number AND x.text = p.text AND x.title_path IS NOT DISTINCT FROM p.title_path);
    SELECT passages INTO last FROM counter;
    INSERT INTO passage (id, page_id, number, title_path, text, words, length)
    SELECT last + row_number() OVER (ORDER BY x.number), page, x.number, x.title_path, x.text, x.words::tsvector, x.length
    FROM jsonb_to_recordset(pieces) AS x (number integer, title_path text, text text, words text, length integer)
    WHERE NOT EXISTS (SELECT FROM passage AS p WHERE p.page_id = page AND p.number = x.number);
    GET DIAGNOSTICS made = ROW_COUNT;
    UPDATE counter SET passages = last + made;
END
$$;
