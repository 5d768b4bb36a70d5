-- name: counter
-- The last numbers given. Taken first, as by every writer.
SELECT c.events, c.entities, c.tags, c.pages, c.passages FROM m_0.counter AS c FOR UPDATE;

-- name: raise_counter
-- Numbers up to these have been given.
UPDATE m_0.counter AS c SET events = greatest(c.events, $1::bigint), entities = greatest(c.entities, $2::bigint),
    tags = greatest(c.tags, $3::bigint), pages = greatest(c.pages, $4::bigint);

-- name: add_sessions
-- Sessions that are not there yet.
INSERT INTO m_0.session (name, uuid, agent, started_at, ended_at)
SELECT s.name, s.uuid, s.agent, s.started_at, s.ended_at
FROM jsonb_to_recordset($1::jsonb) AS s (name text, uuid uuid, agent text, started_at timestamptz, ended_at timestamptz)
ON CONFLICT DO NOTHING RETURNING name;

-- name: known_entities
-- The entities of these names and types.
SELECT e.id, e.name, e.type FROM m_0.entity AS e
JOIN unnest($1::text[], $2::text[]) AS g (name, type) ON g.name = e.name AND g.type = e.type;

-- name: add_entities
-- Entities under their numbers.
INSERT INTO m_0.entity (id, name, type, folded)
SELECT e.id, e.name, e.type, e.folded FROM jsonb_to_recordset($1::jsonb) AS e (id bigint, name text, type text, folded text);

-- name: known_tags
-- The tags of these paths.
SELECT t.id, t.path FROM m_0.tag AS t WHERE t.path = ANY ($1::text[]);

-- name: add_tags
-- Tags under their numbers.
INSERT INTO m_0.tag (id, path, leaf, folded)
SELECT t.id, t.path, t.leaf, t.folded FROM jsonb_to_recordset($1::jsonb) AS t (id bigint, path text, leaf text, folded text);

-- name: known_events
-- For each line, by its place: the event that it became before, told by its keys, or by its number and the time it was stored.
WITH given AS (
    SELECT g.place, g.id, g.key, g.origin, g.created_at, g.summary, g.content FROM jsonb_to_recordset($1::jsonb)
        AS g (place integer, id bigint, key text, origin text, created_at timestamptz, summary text, content text)
), found AS (
    SELECT g.place, e.id FROM given AS g JOIN m_0.event AS e ON e.ingest_key = g.key
    UNION
    SELECT g.place, e.id FROM given AS g JOIN m_0.event AS e ON e.ingest_key = g.origin
    UNION
    SELECT g.place, e.id FROM given AS g JOIN m_0.event AS e ON e.id = g.id
    WHERE e.created_at = g.created_at AND e.ingest_key IS NOT DISTINCT FROM g.key
)
SELECT f.place, f.id, (e.summary, e.content) IS DISTINCT FROM (g.summary, g.content) AS differs
FROM found AS f JOIN m_0.event AS e ON e.id = f.id JOIN given AS g ON g.place = f.place;

-- name: stored_events
-- The places of the lines that `known_events` would find, told without their texts.
WITH given AS (
    SELECT g.place, g.id, g.key, g.origin, g.created_at
    FROM jsonb_to_recordset($1::jsonb) AS g (place integer, id bigint, key text, origin text, created_at timestamptz)
)
SELECT g.place FROM given AS g
WHERE EXISTS (SELECT FROM m_0.event AS e WHERE e.ingest_key = g.key) OR EXISTS (SELECT FROM m_0.event AS e WHERE e.ingest_key = g.origin)
    OR EXISTS (SELECT FROM m_0.event AS e WHERE e.id = g.id AND e.created_at = g.created_at AND e.ingest_key IS NOT DISTINCT FROM g.key);

-- name: stored_pages
-- Which of these paths are pages.
SELECT p.path FROM m_0.page AS p WHERE p.path = ANY ($1::text[]);

-- name: add_events
-- Events under their numbers.
INSERT INTO m_0.event (id, session, kind, summary, content, "timestamp", author, ingest_key, created_at)
SELECT e.id, e.session, e.kind, e.summary, e.content, e."timestamp", e.author, e.ingest_key, e.created_at
FROM jsonb_to_recordset($1::jsonb) AS e (id bigint, session text, kind text, summary text, content text, "timestamp" timestamptz,
    author text, ingest_key text, created_at timestamptz);

-- name: ensure_entities
-- Entities that no line told of.
SELECT m_0.m_0_ensure_entities($1::jsonb);

-- name: ensure_tags
-- Tags that no line told of.
SELECT m_0.m_0_ensure_tags($1::jsonb);

-- name: add_participations
-- Entities of events.
INSERT INTO m_0.participation (event_id, entity_id, "timestamp")
SELECT DISTINCT v.id, e.id, v."timestamp" FROM jsonb_to_recordset($1::jsonb) AS x (event_id bigint, name text, type text)
JOIN m_0.entity AS e ON e.name = x.name AND e.type = x.type JOIN m_0.event AS v ON v.id = x.event_id;

-- name: add_memberships
-- Tags of events.
INSERT INTO m_0.membership (event_id, tag_id, kind, "timestamp")
SELECT DISTINCT v.id, t.id, x.kind, v."timestamp" FROM jsonb_to_recordset($1::jsonb) AS x (event_id bigint, path text, kind text)
JOIN m_0.tag AS t ON t.path = x.path JOIN m_0.event AS v ON v.id = x.event_id;

-- name: add_passages
-- Passages of events, after the last number given.
WITH given AS (
    SELECT p.event_id, p.number, p.text, p.words, p.length, row_number() OVER (ORDER BY p.event_id, p.number) AS nth
    FROM jsonb_to_recordset($1::jsonb) AS p (event_id bigint, number integer, text text, words text, length integer)
), counted AS (
    UPDATE m_0.counter AS c SET passages = c.passages + (SELECT count(*) FROM given) RETURNING c.passages
)
INSERT INTO m_0.passage (id, event_id, number, text, words, length)
SELECT counted.passages - (SELECT count(*) FROM given) + given.nth, given.event_id, given.number, given.text, given.words::tsvector, given.length
FROM given, counted;

-- name: present_events
-- Which of these events there are.
SELECT e.id FROM m_0.event AS e WHERE e.id = ANY ($1::bigint[]);

-- name: add_event_versions
-- Earlier versions of events, those that are not there yet.
INSERT INTO m_0.event_version (event_id, version, kind, summary, content, "timestamp", author, replaced_at)
SELECT v.event_id, v.version, v.kind, v.summary, v.content, v."timestamp", v.author, v.replaced_at
FROM jsonb_to_recordset($1::jsonb) AS v (event_id bigint, version integer, kind text, summary text, content text,
    "timestamp" timestamptz, author text, replaced_at timestamptz)
ON CONFLICT DO NOTHING RETURNING event_id, version;

-- name: add_next_links
-- What follows what, as far as it is not there yet.
INSERT INTO m_0.next_link (from_id, to_id, source)
SELECT l.from_id, l.to_id, l.source FROM jsonb_to_recordset($1::jsonb) AS l (from_id bigint, to_id bigint, source text)
ON CONFLICT DO NOTHING RETURNING from_id, to_id, source;

-- name: add_resolutions
-- What realized which plan, as far as nothing is known of the pair.
INSERT INTO m_0.resolution (plan_id, evidence_id, relation, asserted_at, asserted_by, revoked_at)
SELECT r.plan_id, r.evidence_id, r.relation, r.asserted_at, r.asserted_by, r.revoked_at
FROM jsonb_to_recordset($1::jsonb) AS r (plan_id bigint, evidence_id bigint, relation text, asserted_at timestamptz, asserted_by text,
    revoked_at timestamptz)
ON CONFLICT DO NOTHING RETURNING plan_id, evidence_id, relation;

-- name: add_aliases
-- Names that mean one thing, the pairs that are not there yet.
INSERT INTO m_0.alias (a_id, b_id, confidence, asserted_by, asserted_at)
SELECT s.a_id, s.b_id, s.confidence, s.asserted_by, s.asserted_at
FROM jsonb_to_recordset($1::jsonb) AS s (a_id bigint, b_id bigint, confidence real, asserted_by text, asserted_at timestamptz)
ON CONFLICT DO NOTHING RETURNING a_id, b_id;

-- name: find_page
-- A page by path, and whether this text is or was one of its versions.
SELECT p.id, p.created_at, (p.title, p.body) = ($2::text, $3::text)
    OR EXISTS (SELECT FROM m_0.page_version AS v WHERE v.page_id = p.id AND (v.title, v.body) = ($2::text, $3::text)) AS has_text
FROM m_0.page AS p WHERE p.path = $1::text;

-- name: add_page
-- A page under its number.
INSERT INTO m_0.page (id, path, names, title, body, version, author, created_at, updated_at, aliases)
SELECT p.id, p.path, p.names, p.title, p.body, p.version, p.author, p.created_at, p.updated_at, p.aliases
FROM jsonb_to_record($1::jsonb) AS p (id bigint, path text, names text[], title text, body text, version integer, author text,
    created_at timestamptz, updated_at timestamptz, aliases text[]);

-- name: link_page
-- Links, entities and tags of a page.
SELECT m_0.m_0_link_page($1::jsonb, $2::bigint);

-- name: add_page_passages
-- Passages of a page.
SELECT m_0.m_0_replace_passages($1::jsonb, $2::bigint);

-- name: add_page_versions
-- Earlier versions of pages, those that are not there yet.
INSERT INTO m_0.page_version (page_id, version, title, body, author, created_at)
SELECT v.page_id, v.version, v.title, v.body, v.author, v.created_at
FROM jsonb_to_recordset($1::jsonb) AS v (page_id bigint, version integer, title text, body text, author text, created_at timestamptz)
JOIN m_0.page AS p ON p.id = v.page_id AND v.version < p.version
ON CONFLICT DO NOTHING RETURNING page_id, version;

-- name: present_pages
-- Which of these pages there are.
SELECT p.id FROM m_0.page AS p WHERE p.id = ANY ($1::bigint[]);

-- name: mark_due
-- There are passages without vectors.
SELECT control.mark_due($1::bigint);

-- name: sweep_names
-- Entities and tags that nothing came to name.
WITH unnamed AS (
    DELETE FROM m_0.entity AS e WHERE e.event_count = 0 AND e.page_count = 0 RETURNING 1
), unused AS (
    DELETE FROM m_0.tag AS t WHERE NOT EXISTS (SELECT FROM m_0.membership AS m WHERE m.tag_id = t.id)
        AND NOT EXISTS (SELECT FROM m_0.page_tag AS p WHERE p.tag_id = t.id) RETURNING 1
)
SELECT (SELECT count(*) FROM unnamed) + (SELECT count(*) FROM unused) AS swept;
