-- name: start_session
-- Notes that a run began; one that stands is open again.
INSERT INTO m_0.session AS s (name, uuid, agent) VALUES ($1::text, $2::uuid, $3::text)
ON CONFLICT (name) DO UPDATE SET ended_at = NULL, agent = coalesce(excluded.agent, s.agent);

-- name: end_session
-- Notes that a run ended.
UPDATE m_0.session AS s SET ended_at = now() WHERE s.name = $1::text RETURNING s.uuid, s.agent, s.ended_at;

-- name: session_events
-- What happened in a run, in order.
SELECT e.id, e.kind, e.summary, e."timestamp" FROM m_0.event AS e WHERE e.session = $1::text ORDER BY e.id LIMIT $2::integer;

-- name: read_session
-- A run with its number of events.
SELECT s.name, s.uuid, s.agent, s.started_at, s.ended_at, (SELECT count(*) FROM m_0.event AS e WHERE e.session = s.name) AS events
FROM m_0.session AS s WHERE s.name = $1::text;

-- name: list_sessions
-- Runs, the latest first; after the one that began at $1 under the name $2.
SELECT s.name, s.uuid, s.agent, s.started_at, s.ended_at, (SELECT count(*) FROM m_0.event AS e WHERE e.session = s.name) AS events
FROM m_0.session AS s WHERE $1::timestamptz IS NULL OR (s.started_at, s.name) < ($1::timestamptz, $2::text)
ORDER BY s.started_at DESC, s.name DESC LIMIT $3::integer;
