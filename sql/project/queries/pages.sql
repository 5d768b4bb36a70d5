-- name: save_page
-- Stores a page; see sql/project/functions/save_page.sql for the shape of $1.
SELECT s.id, s.version, s.outcome FROM m_0.m_0_save_page($1::jsonb) AS s;

-- name: delete_page
-- Deletes a page; `stands` is the version that stands when it is not the expected one.
SELECT d.id, d.stands FROM m_0.m_0_delete_page($1::text, $2::integer) AS d;

-- name: read_page
-- A page by its path, now or in version $2, with its names, links and backlinks.
SELECT p.id, p.path, coalesce(v.title, p.title) AS title, coalesce(v.body, p.body) AS body,
    coalesce(v.version, p.version) AS version, p.version AS current_version,
    p.aliases, CASE WHEN v.version IS NULL THEN p.author ELSE v.author END AS author, coalesce(v.created_at, p.updated_at) AS updated_at,
    ARRAY(SELECT e.name FROM m_0.page_entity AS pe JOIN m_0.entity AS e ON e.id = pe.entity_id WHERE pe.page_id = p.id ORDER BY e.id)
        AS entity_names,
    ARRAY(SELECT e.type FROM m_0.page_entity AS pe JOIN m_0.entity AS e ON e.id = pe.entity_id WHERE pe.page_id = p.id ORDER BY e.id)
        AS entity_types,
    ARRAY(SELECT t.path FROM m_0.page_tag AS pt JOIN m_0.tag AS t ON t.id = pt.tag_id WHERE pt.page_id = p.id ORDER BY t.path) AS tags,
    ARRAY(SELECT DISTINCT o.path FROM m_0.page_link AS l JOIN m_0.page AS o ON o.names @> ARRAY[l.target]
        WHERE l.from_id = p.id AND o.id <> p.id ORDER BY o.path) AS links,
    ARRAY(SELECT DISTINCT o.path FROM m_0.page_link AS l JOIN m_0.page AS o ON o.id = l.from_id
        WHERE l.target = ANY (p.names) AND o.id <> p.id ORDER BY o.path) AS backlinks
FROM m_0.page AS p LEFT JOIN m_0.page_version AS v ON v.page_id = p.id AND v.version = $2::integer
WHERE p.path = $1::text AND ($2::integer IS NULL OR p.version = $2::integer OR v.version IS NOT NULL);

-- name: pages_named
-- Pages that a link means: those of one of these paths first, then those of this folded name.
SELECT p.path FROM m_0.page AS p WHERE p.names && ($1::text[] || $2::text)
ORDER BY p.path = ANY ($1::text[]) DESC, p.path LIMIT $3::integer;

-- name: kept_versions
-- The newest version of a page, and the earliest that can be read.
SELECT p.version AS newest, coalesce((SELECT min(v.version) FROM m_0.page_version AS v WHERE v.page_id = p.id), p.version) AS earliest
FROM m_0.page AS p WHERE p.path = $1::text;

-- name: standing_page
-- A page as it stands, from which a new text is made.
SELECT p.version, p.title, p.body, p.author, p.aliases,
    ARRAY(SELECT e.name FROM m_0.page_entity AS pe JOIN m_0.entity AS e ON e.id = pe.entity_id WHERE pe.page_id = p.id ORDER BY e.id) AS names,
    ARRAY(SELECT e.type FROM m_0.page_entity AS pe JOIN m_0.entity AS e ON e.id = pe.entity_id WHERE pe.page_id = p.id ORDER BY e.id) AS types
FROM m_0.page AS p WHERE p.path = $1::text;

-- name: list_pages
-- Pages whose path begins with $1, after the path $2.
SELECT p.id, p.path, p.title, p.version, p.updated_at FROM m_0.page AS p
WHERE starts_with(p.path, $1::text) AND p.path > $2::text ORDER BY p.path LIMIT $3::integer;
