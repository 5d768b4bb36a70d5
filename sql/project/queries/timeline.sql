-- Events in order of time: a frame (timed, untimed) around a source. timeline.py puts the source in where the frame says `source`.

-- name: project
-- All events.
SELECT e.id, e."timestamp" FROM m_0.event AS e;

-- name: session
-- The events of a session.
SELECT e.id, e."timestamp" FROM m_0.event AS e WHERE e.session = $6::text;

-- name: entity
-- The events in which some entities take part.
SELECT DISTINCT p.event_id AS id, p."timestamp" FROM m_0.participation AS p WHERE p.entity_id = ANY ($6::bigint[]);

-- name: tag
-- The events of some tags, of both kinds of membership.
SELECT DISTINCT m.event_id AS id, m."timestamp" FROM m_0.membership AS m WHERE m.tag_id = ANY ($6::bigint[]);

-- name: timed_newest
-- Events from $3 to $4, the newest first, after the event $2 at $1.
WITH source AS (SELECT e.id, e."timestamp" FROM m_0.event AS e), page AS (
    SELECT s.id FROM source AS s
    WHERE (s."timestamp", s.id) < ($1::text::timestamptz, $2::bigint)
        AND s."timestamp" BETWEEN $3::text::timestamptz AND $4::text::timestamptz
    ORDER BY s."timestamp" DESC NULLS LAST, s.id DESC LIMIT $5::bigint
)
SELECT e.id, e.kind, e.summary, e."timestamp", e.session FROM page JOIN m_0.event AS e ON e.id = page.id
ORDER BY e."timestamp" DESC, e.id DESC;

-- name: timed_oldest
-- Events from $3 to $4, the oldest first, after the event $2 at $1.
WITH source AS (SELECT e.id, e."timestamp" FROM m_0.event AS e), page AS (
    SELECT s.id FROM source AS s
    WHERE (s."timestamp", s.id) > ($1::text::timestamptz, $2::bigint)
        AND s."timestamp" BETWEEN $3::text::timestamptz AND $4::text::timestamptz
    ORDER BY s."timestamp" ASC NULLS FIRST, s.id ASC LIMIT $5::bigint
)
SELECT e.id, e.kind, e.summary, e."timestamp", e.session FROM page JOIN m_0.event AS e ON e.id = page.id
ORDER BY e."timestamp", e.id;

-- name: untimed_newest
-- Events without a time, the last stored first, after the event $2; $1, $3 and $4 are null.
WITH source AS (SELECT e.id, e."timestamp" FROM m_0.event AS e), page AS (
    SELECT s.id FROM source AS s
    WHERE s."timestamp" IS NULL AND s.id < $2::bigint AND num_nonnulls($1::text, $3::text, $4::text) = 0
    ORDER BY s.id DESC LIMIT $5::bigint
)
SELECT e.id, e.kind, e.summary, e."timestamp", e.session FROM page JOIN m_0.event AS e ON e.id = page.id
ORDER BY e.id DESC;

-- name: untimed_oldest
-- Events without a time, the first stored first, after the event $2; $1, $3 and $4 are null.
WITH source AS (SELECT e.id, e."timestamp" FROM m_0.event AS e), page AS (
    SELECT s.id FROM source AS s
    WHERE s."timestamp" IS NULL AND s.id > $2::bigint AND num_nonnulls($1::text, $3::text, $4::text) = 0
    ORDER BY s.id ASC LIMIT $5::bigint
)
SELECT e.id, e.kind, e.summary, e."timestamp", e.session FROM page JOIN m_0.event AS e ON e.id = page.id
ORDER BY e.id;
