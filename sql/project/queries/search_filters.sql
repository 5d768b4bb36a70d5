-- The request's filters on one event or page `w`: compile.py joins those that are asked for and puts them where `wanted_…(id)` stands.

-- name: event_kinds
-- Events of these kinds.
SELECT w.id FROM m_0.event AS w WHERE w.kind = ANY(:kinds::text[]);

-- name: page_kinds
-- Pages are a kind of their own.
SELECT w.id FROM m_0.page AS w WHERE 'page' = ANY(:kinds::text[]);

-- name: event_tags
-- Events that carry one of the tags.
SELECT w.id FROM m_0.event AS w WHERE w.id IN (SELECT x.event_id FROM m_0.membership AS x WHERE x.tag_id = ANY(:held::bigint[]));

-- name: page_tags
-- Pages that carry one of the tags.
SELECT w.id FROM m_0.page AS w WHERE w.id IN (SELECT x.page_id FROM m_0.page_tag AS x WHERE x.tag_id = ANY(:held::bigint[]));

-- name: event_since
-- Events from this moment on.
SELECT w.id FROM m_0.event AS w WHERE coalesce(w."timestamp", w.created_at) >= :since::timestamptz;

-- name: page_since
-- Pages made from this moment on.
SELECT w.id FROM m_0.page AS w WHERE w.created_at >= :since::timestamptz;

-- name: event_until
-- Events up to this moment.
SELECT w.id FROM m_0.event AS w WHERE coalesce(w."timestamp", w.created_at) <= :until::timestamptz;

-- name: page_until
-- Pages made up to this moment.
SELECT w.id FROM m_0.page AS w WHERE w.created_at <= :until::timestamptz;

-- name: event_as_of
-- Events that were stored by then.
SELECT w.id FROM m_0.event AS w WHERE w.created_at <= :as_of::timestamptz;

-- name: page_as_of
-- Pages that were stored by then.
SELECT w.id FROM m_0.page AS w WHERE w.created_at <= :as_of::timestamptz;

-- name: page_unchanged
-- Pages whose text is still the one of that moment.
SELECT w.id FROM m_0.page AS w WHERE w.updated_at <= :as_of::timestamptz;

-- name: event_phrases
-- Events that hold every quoted phrase.
SELECT w.id FROM m_0.event AS w
WHERE w.id IN (
    SELECT x.event_id FROM unnest(:phrases::text[]) AS q (phrase) JOIN m_0.passage AS x ON x.words @@ q.phrase::tsquery
    WHERE x.event_id IS NOT NULL GROUP BY x.event_id HAVING count(DISTINCT q.phrase) = cardinality(:phrases::text[]));

-- name: page_phrases
-- Pages that hold every quoted phrase.
SELECT w.id FROM m_0.page AS w
WHERE w.id IN (
    SELECT x.page_id FROM unnest(:phrases::text[]) AS q (phrase) JOIN m_0.passage AS x ON x.words @@ q.phrase::tsquery
    WHERE x.page_id IS NOT NULL GROUP BY x.page_id HAVING count(DISTINCT q.phrase) = cardinality(:phrases::text[]));

-- name: event_excluded
-- Events that hold none of the excluded words.
SELECT w.id FROM m_0.event AS w
WHERE w.id NOT IN (SELECT x.event_id FROM m_0.passage AS x WHERE x.words @@ (SELECT :excluded::text::tsquery) AND x.event_id IS NOT NULL);

-- name: page_excluded
-- Pages that hold none of the excluded words.
SELECT w.id FROM m_0.page AS w
WHERE w.id NOT IN (SELECT x.page_id FROM m_0.passage AS x WHERE x.words @@ (SELECT :excluded::text::tsquery) AND x.page_id IS NOT NULL);
