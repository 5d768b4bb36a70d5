-- Corrects an event; the version that stood is kept, as are the newest 1,000 of those before it.
--
-- input: {"id", "expected": the version that the rest was made from, "kind", "summary", "content", "at", "author",
--         "entities": [{"name", "type", "folded"}] to be there, "only": whether all others go, "dropped": [{"name", "type"}] that go,
--         "tags": [{"path", "leaf", "folded", "kind"}], null: as they are,
--         "passages": [{"number", "text", "words", "length"}], null: as they are}
-- Kind and time are those of the whole item: the later parts of its content get them too.
-- Out: the event's version now; `outcome` is updated, unchanged, missing, or stale (another correction came first: nothing was written).
CREATE OR REPLACE FUNCTION m_0_update_event(input jsonb, OUT version integer, OUT outcome text)
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    wanted record;
    edited bigint[];
    changes integer;
BEGIN
    PERFORM FROM counter FOR UPDATE;
    SELECT * INTO wanted FROM jsonb_to_record(input)
        AS w (id bigint, expected integer, kind text, summary text, content text, at timestamptz, author text);
    version := (SELECT coalesce(max(v.version), 0) + 1 FROM event_version AS v WHERE v.event_id = wanted.id);
    outcome := CASE
        WHEN NOT EXISTS (SELECT FROM event AS e WHERE e.id = wanted.id) THEN 'missing'
        WHEN version <> wanted.expected THEN 'stale'
        ELSE 'unchanged'
    END;
    IF outcome <> 'unchanged' THEN
        RETURN;
    END IF;

    WITH RECURSIVE part AS (
        SELECT wanted.id AS id
        UNION
        SELECT l.to_id FROM part JOIN next_link AS l ON l.from_id = part.id AND l.source = 'chunk_order'
    )
    SELECT coalesce(array_agg(e.id), '{}') INTO edited
    FROM part JOIN event AS e ON e.id = part.id
    WHERE (e.kind, e."timestamp") IS DISTINCT FROM (wanted.kind, wanted.at)
        OR (e.id = wanted.id AND (e.summary, e.content) IS DISTINCT FROM (wanted.summary, wanted.content));

    INSERT INTO event_version (event_id, version, kind, summary, content, "timestamp", author)
    SELECT e.id, (SELECT coalesce(max(v.version), 0) + 1 FROM event_version AS v WHERE v.event_id = e.id),
        e.kind, e.summary, e.content, e."timestamp", e.author
    FROM event AS e WHERE e.id = ANY (edited);
    DELETE FROM event_version AS v USING (
        SELECT w.event_id, max(w.version) AS newest FROM event_version AS w WHERE w.event_id = ANY (edited) GROUP BY w.event_id
    ) AS n WHERE v.event_id = n.event_id AND v.version <= n.newest - 1000;
    UPDATE event AS e SET kind = wanted.kind, "timestamp" = wanted.at, author = wanted.author,
        summary = CASE WHEN e.id = wanted.id THEN wanted.summary ELSE e.summary END,
        content = CASE WHEN e.id = wanted.id THEN wanted.content ELSE e.content END
    WHERE e.id = ANY (edited);
    UPDATE participation AS p SET "timestamp" = wanted.at WHERE p.event_id = ANY (edited) AND p."timestamp" IS DISTINCT FROM wanted.at;
    UPDATE membership AS m SET "timestamp" = wanted.at WHERE m.event_id = ANY (edited) AND m."timestamp" IS DISTINCT FROM wanted.at;

    changes := m_0_rename_event(input, wanted.id, wanted.at);
    IF jsonb_typeof(input -> 'passages') = 'array' THEN
        PERFORM m_0_replace_event_passages(input -> 'passages', wanted.id);
    END IF;
    IF wanted.id = ANY (edited) THEN
        version := version + 1;
    END IF;
    IF changes > 0 OR edited <> '{}' THEN
        outcome := 'updated';
    END IF;
END
$$;

-- Gives an event its entities and tags; out: how many came or went. What comes is there before what goes can take its name along.
CREATE OR REPLACE FUNCTION m_0_rename_event(input jsonb, event bigint, at timestamptz) RETURNS integer
LANGUAGE plpgsql
AS $$
DECLARE
    changes integer;
    n integer;
BEGIN
    PERFORM m_0_ensure_entities(input -> 'entities');
    INSERT INTO participation (event_id, entity_id, "timestamp")
    SELECT event, e.id, at FROM jsonb_to_recordset(input -> 'entities') AS x (name text, type text)
        JOIN entity AS e ON e.name = x.name AND e.type = x.type
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS changes = ROW_COUNT;
    DELETE FROM participation AS p USING entity AS e
    WHERE p.event_id = event AND e.id = p.entity_id AND CASE WHEN (input ->> 'only')::boolean
        THEN NOT EXISTS (SELECT FROM jsonb_to_recordset(input -> 'entities') AS x (name text, type text) WHERE x.name = e.name AND x.type = e.type)
        ELSE EXISTS (SELECT FROM jsonb_to_recordset(input -> 'dropped') AS x (name text, type text) WHERE x.name = e.name AND x.type = e.type)
    END;
    GET DIAGNOSTICS n = ROW_COUNT;
    changes := changes + n;
    IF jsonb_typeof(input -> 'tags') <> 'array' THEN
        RETURN changes;
    END IF;

    PERFORM m_0_ensure_tags(input -> 'tags');
    INSERT INTO membership (event_id, tag_id, kind, "timestamp")
    SELECT event, t.id, x.kind, at FROM jsonb_to_recordset(input -> 'tags') AS x (path text, kind text) JOIN tag AS t ON t.path = x.path
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS n = ROW_COUNT;
    changes := changes + n;
    DELETE FROM membership AS m USING tag AS t
    WHERE m.event_id = event AND t.id = m.tag_id AND NOT EXISTS (
        SELECT FROM jsonb_to_recordset(input -> 'tags') AS x (path text, kind text) WHERE x.path = t.path AND x.kind = m.kind);
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN changes + n;
END
$$;

-- A piece that stays as it was keeps its row, and so its vector.
CREATE OR REPLACE FUNCTION m_0_replace_event_passages(pieces jsonb, event bigint) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    last bigint;
    made integer;
BEGIN
    DELETE FROM passage AS p WHERE p.event_id = event AND NOT EXISTS (
        SELECT FROM jsonb_to_recordset(pieces) AS x (number integer, text text) WHERE x.number = p.number AND x.text = p.text);
    SELECT passages INTO last FROM counter;
    INSERT INTO passage (id, event_id, number, text, words, length)
    SELECT last + row_number() OVER (ORDER BY x.number), event, x.number, x.text, x.words::tsvector, x.length
    FROM jsonb_to_recordset(pieces) AS x (number integer, text text, words text, length integer)
    WHERE NOT EXISTS (SELECT FROM passage AS p WHERE p.event_id = event AND p.number = x.number);
    GET DIAGNOSTICS made = ROW_COUNT;
    IF made > 0 THEN
        UPDATE counter SET passages = last + made;
        PERFORM control.mark_due(substr(current_schema(), 3)::bigint);
    END IF;
END
$$;
