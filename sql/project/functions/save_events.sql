-- One call stores one batch of events and whatever hangs on them, in the caller's transaction.
--
-- batch: {"events":   [{"row", "item", "part", "session", "session_uuid", "kind", "summary", "content", "at", "author", "key",
--                       "previous", "resolves": [plan ids]}],
--         "entities": [{"row", "name", "type", "folded"}], "tags": [{"row", "path", "leaf", "folded", "kind"}],
--         "passages": [{"row", "number", "text", "words", "length"}]}
-- `row` counts from 1. An item whose content is too long for one event comes as several rows, parts 0, 1, …, which are linked
-- NEXT chunk_order; what the caller gave for the item hangs on part 0.
-- Out: a row each: the event's number (of an earlier event when `key` was seen before: `known`), or the problem that kept it out.
--
-- The counter's row is taken first by whoever writes or deletes: order numbers are gap-free, and nobody waits in a circle.
--
-- A batch is small beside the tables, of which the planner knows little while they grow: everything is looked up in an index, and no table
-- is read whole to be joined with a few rows.
CREATE OR REPLACE FUNCTION m_0_save_events(batch jsonb)
RETURNS TABLE ("row" integer, item integer, part integer, id bigint, known boolean, problem text)
LANGUAGE plpgsql SET search_path FROM CURRENT SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    held counter;
    given bigint[];                              -- by row: the number of the event that is stored for it
    earlier bigint[];                            -- by row: the number of the event that stands already
    problems text[];                             -- by row
    times timestamptz[];                         -- by row
    stored integer;
BEGIN
    SELECT * INTO held FROM counter FOR UPDATE;

    -- A statement of its own, so that it sees what those before us in the queue committed. Each row is judged by the first part of its
    -- item, and that one by the first row of the same key: `first` is that row, `head` the item's.
    WITH e AS (
        SELECT e.row, e.at, e.key, v.id AS known, max(e.row) FILTER (WHERE e.part = 0) OVER (ORDER BY e.row) AS head,
            CASE
                WHEN e.previous IS NOT NULL AND NOT EXISTS (SELECT FROM event AS p WHERE p.id = e.previous) THEN 'previous'
                WHEN EXISTS (SELECT FROM unnest(e.resolves) AS r (plan)
                    WHERE NOT EXISTS (SELECT FROM event AS p WHERE p.id = r.plan)) THEN 'resolves'
            END AS problem
        FROM jsonb_to_recordset(batch -> 'events')
                AS e (row integer, part integer, at timestamptz, key text, previous bigint, resolves bigint[])
            LEFT JOIN event AS v ON v.ingest_key = e.key
    ), keyed AS (
        SELECT e.row, e.at, e.head, e.known, first_value(e.row) OVER same AS first, first_value(e.problem) OVER same AS problem
        FROM e
        WINDOW same AS (PARTITION BY e.key, CASE WHEN e.key IS NULL THEN e.head END ORDER BY e.row)
    ), judged AS (
        SELECT k.row, k.at, first_value(k.known) OVER item AS known, first_value(k.problem) OVER item AS problem,
            first_value(k.first) OVER item AS first, k.head
        FROM keyed AS k
        WINDOW item AS (PARTITION BY k.head ORDER BY k.row)
    ), numbered AS (
        SELECT j.row, j.at, j.known, j.problem, j.first, j.first = j.head AS own,
            CASE WHEN j.known IS NULL AND j.problem IS NULL AND j.first = j.head
                THEN held.events + count(*) FILTER (WHERE j.known IS NULL AND j.problem IS NULL AND j.first = j.head) OVER (ORDER BY j.row)
            END AS number
        FROM judged AS j
    )
    SELECT array_agg(n.number ORDER BY n.row),
        array_agg(coalesce(n.known, CASE WHEN NOT n.own THEN n.twin END) ORDER BY n.row),
        array_agg(CASE WHEN n.known IS NULL THEN n.problem END ORDER BY n.row),
        array_agg(n.at ORDER BY n.row),
        count(n.number)
    INTO given, earlier, problems, times, stored
    FROM (SELECT n.*, first_value(n.number) OVER (PARTITION BY n.first ORDER BY n.row) AS twin FROM numbered AS n) AS n;

    IF stored > 0 THEN
        INSERT INTO session (name, uuid, started_at)
        SELECT e.session, min(e.session_uuid::text)::uuid, coalesce(min(e.at), now())
        FROM jsonb_to_recordset(batch -> 'events') AS e (row integer, session text, session_uuid uuid, at timestamptz)
        WHERE given[e.row] IS NOT NULL AND e.session IS NOT NULL
        GROUP BY e.session
        ON CONFLICT DO NOTHING;

        INSERT INTO event (id, session, kind, summary, content, "timestamp", author, ingest_key)
        SELECT given[e.row], e.session, e.kind, e.summary, e.content, e.at, e.author, e.key
        FROM jsonb_to_recordset(batch -> 'events')
            AS e (row integer, session text, kind text, summary text, content text, at timestamptz, author text, key text)
        WHERE given[e.row] IS NOT NULL;

        PERFORM m_0_link_names(batch, given, times);
        PERFORM m_0_link_events(batch, given);

        PERFORM m_0_save_passages(batch -> 'passages', given);
        UPDATE counter SET events = held.events + stored;
        PERFORM control.mark_due(substr(current_schema(), 3)::bigint);
    END IF;

    RETURN QUERY
    SELECT e.row, e.item, e.part, coalesce(given[e.row], earlier[e.row]), given[e.row] IS NULL AND earlier[e.row] IS NOT NULL, problems[e.row]
    FROM jsonb_to_recordset(batch -> 'events') AS e (row integer, item integer, part integer)
    ORDER BY e.row;
END
$$;

-- The passages of the rows that are stored, after the last number given. Those of much text come in several calls, in the order of their
-- rows, in the transaction that holds the counter's row.
CREATE OR REPLACE FUNCTION m_0_save_passages(pieces jsonb, given bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    last bigint := (SELECT passages FROM counter);
    made integer;
BEGIN
    INSERT INTO passage (id, event_id, number, text, words, length)
    SELECT last + row_number() OVER (ORDER BY p.row, p.number), given[p.row], p.number, p.text, p.words::tsvector, p.length
    FROM jsonb_to_recordset(pieces) AS p (row integer, number integer, text text, words text, length integer)
    WHERE given[p.row] IS NOT NULL;
    GET DIAGNOSTICS made = ROW_COUNT;
    UPDATE counter SET passages = last + made WHERE made > 0;
END
$$;

-- The entities and tags of the rows that are stored; a row names each of them once.
CREATE OR REPLACE FUNCTION m_0_link_names(batch jsonb, given bigint[], times timestamptz[]) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    entities jsonb := batch -> 'entities';
    tags jsonb := batch -> 'tags';
BEGIN
    IF array_position(given, NULL) IS NOT NULL THEN
        SELECT jsonb_agg(x) INTO entities FROM jsonb_array_elements(entities) AS x WHERE given[(x ->> 'row')::integer] IS NOT NULL;
        SELECT jsonb_agg(x) INTO tags FROM jsonb_array_elements(tags) AS x WHERE given[(x ->> 'row')::integer] IS NOT NULL;
    END IF;
    PERFORM m_0_ensure_entities(entities);
    INSERT INTO participation (event_id, entity_id, "timestamp")
    SELECT given[x.row], e.id, times[x.row]
    FROM jsonb_to_recordset(entities) AS x (row integer, name text, type text)
        JOIN entity AS e ON e.name = x.name AND e.type = x.type;

    PERFORM m_0_ensure_tags(tags);
    INSERT INTO membership (event_id, tag_id, kind, "timestamp")
    SELECT given[x.row], t.id, x.kind, times[x.row]
    FROM jsonb_to_recordset(tags) AS x (row integer, path text, kind text)
        JOIN tag AS t ON t.path = x.path;
END
$$;

-- What leads from event to event: the thread, the order of an item's parts, the plans that the item realized.
CREATE OR REPLACE FUNCTION m_0_link_events(batch jsonb, given bigint[]) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO next_link (from_id, to_id, source)
    SELECT e.previous, given[e.row], 'thread'
    FROM jsonb_to_recordset(batch -> 'events') AS e (row integer, part integer, previous bigint)
    WHERE given[e.row] IS NOT NULL AND e.part = 0 AND e.previous IS NOT NULL
    UNION ALL
    SELECT given[e.row - 1], given[e.row], 'chunk_order'
    FROM jsonb_to_recordset(batch -> 'events') AS e (row integer, part integer)
    WHERE given[e.row] IS NOT NULL AND e.part > 0;

    INSERT INTO resolution (plan_id, evidence_id, asserted_by)
    SELECT DISTINCT r.plan, given[e.row], e.author
    FROM jsonb_to_recordset(batch -> 'events') AS e (row integer, part integer, author text, resolves bigint[])
        CROSS JOIN unnest(e.resolves) AS r (plan)
    WHERE given[e.row] IS NOT NULL AND e.part = 0;
END
$$;
