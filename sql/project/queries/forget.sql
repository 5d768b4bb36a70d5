-- name: event_parts
-- The events in $1 that there are, with the later parts of their contents.
WITH RECURSIVE part AS (
    SELECT e.id FROM m_0.event AS e WHERE e.id = ANY ($1::bigint[])
    UNION
    SELECT l.to_id FROM part JOIN m_0.next_link AS l ON l.from_id = part.id AND l.source = 'chunk_order'
)
SELECT part.id FROM part ORDER BY part.id;

-- name: events_of_session
-- Up to $2 events of a session.
SELECT e.id FROM m_0.event AS e WHERE e.session = $1::text ORDER BY e.id LIMIT $2::integer;

-- name: events_of_author
-- Up to $2 events that one author wrote.
SELECT e.id FROM m_0.event AS e WHERE e.author = $1::text ORDER BY e.id LIMIT $2::integer;

-- name: authors
-- Who wrote here.
SELECT a.author FROM (
    SELECT e.author FROM m_0.event AS e UNION SELECT v.author FROM m_0.event_version AS v
    UNION SELECT p.author FROM m_0.page AS p UNION SELECT w.author FROM m_0.page_version AS w
) AS a WHERE a.author IS NOT NULL ORDER BY a.author LIMIT 1000;

-- name: corrected_by
-- An event after $2 that one author corrected, with the newest version that somebody else wrote.
SELECT e.id, e.session, v.kind, v.summary, v.content, v."timestamp", v.author
FROM m_0.event AS e CROSS JOIN LATERAL (
    SELECT v.kind, v.summary, v.content, v."timestamp", v.author FROM m_0.event_version AS v
    WHERE v.event_id = e.id AND v.author IS DISTINCT FROM e.author ORDER BY v.version DESC LIMIT 1
) AS v
WHERE e.author = $1::text AND e.id > $2::bigint ORDER BY e.id LIMIT 1;

-- name: set_event_author
-- Whose text an event's is.
UPDATE m_0.event AS e SET author = $2::text WHERE e.id = $1::bigint;

-- name: sessions_of_versions
-- Sessions in which one author wrote earlier versions of events.
SELECT DISTINCT e.session FROM m_0.event_version AS v JOIN m_0.event AS e ON e.id = v.event_id
WHERE v.author = $1::text AND e.session IS NOT NULL ORDER BY e.session;

-- name: delete_event_versions
-- Deletes the earlier versions of events that one author wrote.
DELETE FROM m_0.event_version AS v WHERE v.author = $1::text RETURNING v.event_id;

-- name: around_events
-- What hangs on events and goes with them, and the names and sessions that may be left without any.
SELECT (SELECT count(*) FROM m_0.event_version AS v WHERE v.event_id = ANY ($1::bigint[])) AS event_version,
    (SELECT count(*) FROM m_0.next_link AS l WHERE l.from_id = ANY ($1::bigint[]) OR l.to_id = ANY ($1::bigint[])) AS next_link,
    (SELECT count(*) FROM m_0.resolution AS r WHERE r.plan_id = ANY ($1::bigint[]) OR r.evidence_id = ANY ($1::bigint[])) AS resolution,
    (SELECT count(*) FROM m_0.membership AS m WHERE m.event_id = ANY ($1::bigint[])) AS membership,
    (SELECT count(*) FROM m_0.participation AS p WHERE p.event_id = ANY ($1::bigint[])) AS participation,
    ARRAY(SELECT p.id FROM m_0.passage AS p WHERE p.event_id = ANY ($1::bigint[])) AS passages,
    ARRAY(SELECT DISTINCT p.entity_id FROM m_0.participation AS p WHERE p.event_id = ANY ($1::bigint[])) AS entities,
    ARRAY(SELECT DISTINCT m.tag_id FROM m_0.membership AS m WHERE m.event_id = ANY ($1::bigint[])) AS tags,
    ARRAY(SELECT DISTINCT e.session FROM m_0.event AS e WHERE e.id = ANY ($1::bigint[]) AND e.session IS NOT NULL) AS sessions;

-- name: around_page
-- What hangs on a page and goes with it, and the names that may be left without any.
SELECT p.id, p.author,
    (SELECT count(*) FROM m_0.page_version AS v WHERE v.page_id = p.id) AS page_version,
    (SELECT count(*) FROM m_0.page_link AS l WHERE l.from_id = p.id) AS page_link,
    (SELECT count(*) FROM m_0.page_entity AS e WHERE e.page_id = p.id) AS page_entity,
    (SELECT count(*) FROM m_0.page_tag AS t WHERE t.page_id = p.id) AS page_tag,
    ARRAY(SELECT s.id FROM m_0.passage AS s WHERE s.page_id = p.id) AS passages,
    ARRAY(SELECT e.entity_id FROM m_0.page_entity AS e WHERE e.page_id = p.id) AS entities,
    ARRAY(SELECT t.tag_id FROM m_0.page_tag AS t WHERE t.page_id = p.id) AS tags
FROM m_0.page AS p WHERE p.path = $1::text;

-- name: around_entity
-- What hangs on an entity and goes with it.
SELECT e.id,
    (SELECT count(*) FROM m_0.participation AS p WHERE p.entity_id = e.id) AS participation,
    (SELECT count(*) FROM m_0.page_entity AS p WHERE p.entity_id = e.id) AS page_entity,
    (SELECT count(*) FROM m_0.alias AS a WHERE a.a_id = e.id OR a.b_id = e.id) AS alias
FROM m_0.entity AS e WHERE e.id = $1::bigint;

-- name: count_vectors
-- How many of these passages have a vector in the current space.
SELECT count(*) FROM m_0.vector_0 AS v WHERE v.passage_id = ANY ($1::bigint[]);

-- name: count_names
-- How many of these entities and tags there are, and in how many pairs of aliases the entities stand.
SELECT (SELECT count(*) FROM m_0.entity AS e WHERE e.id = ANY ($1::bigint[])) AS entity,
    (SELECT count(*) FROM m_0.tag AS t WHERE t.id = ANY ($2::bigint[])) AS tag,
    (SELECT count(*) FROM m_0.alias AS a WHERE a.a_id = ANY ($1::bigint[]) OR a.b_id = ANY ($1::bigint[])) AS alias;

-- name: delete_entity
-- Deletes an entity; what hangs on it goes with it.
DELETE FROM m_0.entity AS e WHERE e.id = $1::bigint;

-- name: find_session
-- A session by name.
SELECT s.name, s.uuid, s.agent FROM m_0.session AS s WHERE s.name = $1::text;

-- name: session_of_page
-- The session that a page was written from.
SELECT s.name, s.uuid, s.agent FROM m_0.session AS s WHERE $1::text = 'sessions/' || s.uuid || '.md';

-- name: delete_empty_session
-- Deletes a session that has no events.
DELETE FROM m_0.session AS s WHERE s.name = $1::text AND NOT EXISTS (SELECT FROM m_0.event AS e WHERE e.session = s.name)
RETURNING s.name;

-- name: delete_versions
-- Deletes the earlier versions of a page; with an author, those that this author wrote.
DELETE FROM m_0.page_version AS v WHERE v.page_id = $1::bigint AND ($2::text IS NULL OR v.author = $2::text) RETURNING v.version;

-- name: pages_of_author
-- Pages in which a text of one author stands, now or in an earlier version, after the path $2.
SELECT p.path, p.author FROM m_0.page AS p
WHERE p.path > $2::text AND (p.author = $1::text OR EXISTS (SELECT FROM m_0.page_version AS v WHERE v.page_id = p.id AND v.author = $1::text))
ORDER BY p.path LIMIT 1;

-- name: version_of_others
-- The newest earlier version of a page that somebody else wrote.
SELECT v.title, v.body, v.author FROM m_0.page_version AS v
WHERE v.page_id = $1::bigint AND v.author IS DISTINCT FROM $2::text ORDER BY v.version DESC LIMIT 1;

-- name: set_page_author
-- Whose text a page's is.
UPDATE m_0.page AS p SET author = $2::text WHERE p.id = $1::bigint;

-- name: delete_claims
-- Deletes what one author said about others' events and entities.
WITH gone AS (
    DELETE FROM m_0.resolution AS r WHERE r.asserted_by = $1::text RETURNING 1
), apart AS (
    DELETE FROM m_0.alias AS a WHERE a.asserted_by = $1::text RETURNING 1
)
SELECT (SELECT count(*) FROM gone) AS resolution, (SELECT count(*) FROM apart) AS alias;
