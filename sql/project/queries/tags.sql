-- name: count_tags
-- How many tags have a folded path like $1.
SELECT count(*) AS total FROM m_0.tag AS t WHERE t.folded LIKE $1::text;

-- name: list_tags
-- Tags whose folded path is like $1, the most used first, after the path $3 that is used $2 times.
WITH matching AS (
    SELECT t.id, t.path FROM m_0.tag AS t WHERE t.folded LIKE $1::text
), of_events AS (
    SELECT m.tag_id, count(*) FILTER (WHERE m.kind = 'contains') AS contains, count(*) FILTER (WHERE m.kind = 'refers') AS refers
    FROM m_0.membership AS m WHERE m.tag_id IN (SELECT x.id FROM matching AS x) GROUP BY m.tag_id
), of_pages AS (
    SELECT p.tag_id, count(*) AS pages FROM m_0.page_tag AS p WHERE p.tag_id IN (SELECT x.id FROM matching AS x) GROUP BY p.tag_id
), counted AS (
    SELECT x.id, x.path, coalesce(e.contains, 0) AS contains, coalesce(e.refers, 0) AS refers, coalesce(p.pages, 0) AS pages,
        coalesce(e.contains, 0) + coalesce(e.refers, 0) + coalesce(p.pages, 0) AS uses
    FROM matching AS x LEFT JOIN of_events AS e ON e.tag_id = x.id LEFT JOIN of_pages AS p ON p.tag_id = x.id
)
SELECT c.id, c.path, c.contains, c.refers, c.pages, c.uses FROM counted AS c
WHERE c.uses < $2::bigint OR (c.uses = $2::bigint AND c.path > $3::text)
ORDER BY c.uses DESC, c.path LIMIT $4::bigint;

-- name: named_tags
-- The tags of one number, or of one name: a full path or a last segment.
SELECT t.id FROM m_0.tag AS t
WHERE t.id = $1::bigint OR ($1::bigint IS NULL AND (t.path = $2::text OR t.leaf = $2::text)) ORDER BY t.id LIMIT 21;
