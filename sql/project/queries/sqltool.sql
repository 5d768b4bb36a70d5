-- name: read_rows
-- Runs one checked query as the project's reader: its text, its arguments, the number of its columns, the most rows and bytes.
SELECT r.line FROM m_0.m_0_read_rows($1::text, $2::text[], $3::integer, $4::integer, $5::bigint) AS r (line);

-- name: stands
-- Fails when the project is gone.
SELECT c.events FROM m_0.counter AS c;
