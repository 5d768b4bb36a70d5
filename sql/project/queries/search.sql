-- The stages of memory_query. `:name` is a value, bound when the statement is compiled (service/search/compile.py), which also puts
-- the request's filters where `wanted_event(id)` and `wanted_page(id)` stand, and the query's terms where `weighed_terms()` stands.

-- name: facts
-- What ranking needs to know before it begins: how rare the query's words are, which names it spells exactly, which tags it is held to.
SELECT 'word' AS topic, l.word AS key, l.df AS number FROM m_0.lexeme AS l WHERE l.word = ANY(:words::text[])
UNION ALL
SELECT 'start' AS topic, s.start AS key, sum(l.df)::bigint AS number
FROM unnest(:starts::text[]) AS s (start) JOIN m_0.lexeme AS l ON starts_with(l.word, s.start) GROUP BY s.start
UNION ALL
SELECT 'documents' AS topic, NULL AS key, c.documents AS number FROM m_0.counter AS c
UNION ALL
SELECT 'length' AS topic, NULL AS key, c.words AS number FROM m_0.counter AS c
UNION ALL
SELECT 'last' AS topic, NULL AS key, c.passages AS number FROM m_0.counter AS c
UNION ALL
SELECT 'entity' AS topic, e.folded AS key, e.id AS number FROM m_0.entity AS e WHERE e.folded = ANY(:names::text[])
UNION ALL
SELECT 'tag' AS topic, t.folded AS key, t.id AS number FROM m_0.tag AS t WHERE t.folded = ANY(:names::text[]) OR split_part(t.folded, '/', -1) = ANY(:names::text[])
UNION ALL
SELECT 'hub' AS topic, e.name AS key, e.event_count AS number FROM m_0.entity AS e
WHERE e.folded = ANY(:names::text[]) AND e.event_count > :fan::bigint
UNION ALL
SELECT DISTINCT 'held' AS topic, NULL AS key, t.id AS number
FROM unnest(:tags::text[]) AS w (name) JOIN m_0.tag AS t ON t.folded = w.name OR split_part(t.folded, '/', -1) = w.name OR starts_with(t.folded, w.name || '/');

-- name: words
-- Text match: candidates by the rarest words, scored by all; then half of the best events' scores goes to those beside them in the session.
WITH found AS MATERIALIZED (
    SELECT p.id, p.event_id, p.page_id,
        weighed_terms() / sqrt(0.6 + 0.4 * p.length / :mean_length::double precision) AS score
    FROM m_0.passage AS p
    WHERE p.words @@ (SELECT :candidates::text::tsquery) AND p.id + 0 > :after::bigint
), event_hit AS (
    SELECT DISTINCT ON (f.event_id) f.event_id AS id, f.id AS passage, f.score
    FROM found AS f
    WHERE f.event_id IS NOT NULL AND f.score > 0 AND wanted_event(f.event_id)
    ORDER BY f.event_id, f.score DESC, f.id
), event_first AS MATERIALIZED (
    SELECT h.id, h.passage, h.score FROM event_hit AS h ORDER BY h.score DESC, h.id DESC LIMIT :stream_size::bigint
), beside AS MATERIALIZED (
    SELECT n.id, :neighbour::double precision * f.score AS score
    FROM (SELECT h.id, h.score FROM event_first AS h ORDER BY h.score DESC, h.id DESC LIMIT :spread::bigint) AS f
        CROSS JOIN LATERAL (SELECT e.session FROM m_0.event AS e WHERE e.id = f.id LIMIT 1) AS e
        CROSS JOIN LATERAL (
            (SELECT v.id FROM m_0.event AS v WHERE v.session = e.session AND v.id < f.id ORDER BY v.session DESC, v.id DESC LIMIT 1)
            UNION ALL
            (SELECT v.id FROM m_0.event AS v WHERE v.session = e.session AND v.id > f.id ORDER BY v.session, v.id LIMIT 1)
        ) AS n
), spread AS (
    SELECT f.id, f.passage, f.score FROM event_first AS f
    UNION ALL
    SELECT b.id, NULL AS passage, b.score FROM beside AS b WHERE wanted_event(b.id)
), event_last AS (
    SELECT s.id, max(s.passage) AS passage, sum(s.score ORDER BY s.score) AS score FROM spread AS s GROUP BY s.id
), page_hit AS (
    SELECT DISTINCT ON (f.page_id) f.page_id AS id, f.id AS passage, f.score
    FROM found AS f
    WHERE f.page_id IS NOT NULL AND f.score > 0 AND wanted_page(f.page_id)
    ORDER BY f.page_id, f.score DESC, f.id
)
(SELECT false AS is_page, h.id, h.passage, h.score FROM event_last AS h ORDER BY h.score DESC, h.id DESC LIMIT :stream_size::bigint)
UNION ALL
(SELECT true AS is_page, h.id, h.passage, h.score FROM page_hit AS h ORDER BY h.score DESC, h.id DESC LIMIT :stream_size::bigint);

-- name: old_pages
-- The pages whose text has changed since a moment, in the version of that moment.
SELECT g.id, g.path, v.title, left(v.body, :body::integer) AS body, v.created_at
FROM m_0.page AS g CROSS JOIN LATERAL (
    SELECT o.title, o.body, o.created_at FROM m_0.page_version AS o
    WHERE o.page_id = g.id AND o.created_at <= :as_of::timestamptz ORDER BY o.version DESC LIMIT 1
) AS v
WHERE g.updated_at > :as_of::timestamptz AND g.created_at <= :as_of::timestamptz AND wanted_page(g.id)
ORDER BY g.updated_at, g.id LIMIT :most::bigint;

-- name: old_words
-- Text match in those versions, whose words are made as the query is asked.
SELECT p.id, weighed_terms() / sqrt(0.6 + 0.4 * p.length / :mean_length::double precision) AS score
FROM (
    SELECT o.id, o.words::tsvector AS words, o.length
    FROM unnest(:old_ids::bigint[], :old_words::text[], :old_lengths::integer[]) AS o (id, words, length)
) AS p
WHERE p.words @@ (SELECT :candidates::text::tsquery)
    AND NOT EXISTS (SELECT 1 FROM unnest(:required::text[]) AS q (phrase) WHERE NOT p.words @@ q.phrase::tsquery)
    AND NOT EXISTS (SELECT 1 FROM unnest(:refused::text[]) AS q (phrase) WHERE p.words @@ q.phrase::tsquery);

-- name: term
-- What one lexeme adds to a passage's score: a single lexeme's ts_rank saturates as it comes again.
SELECT :weight::double precision * ts_rank(p.words, (SELECT :query::text::tsquery)) AS score FROM m_0.passage AS p;

-- name: phrase
-- What several lexemes in a row add; ts_rank does not heed their order.
SELECT CASE
    WHEN p.words @@ (SELECT :query::text::tsquery) THEN :weight::double precision * ts_rank(p.words, (SELECT :query::text::tsquery)) ELSE 0
END AS score FROM m_0.passage AS p;

-- name: names
-- Entities, tags, sessions, public ids, paths and titles that the query names: each counts 1/(events or pages that carry it).
WITH started AS MATERIALIZED (
    SELECT e.id, e.name, e.event_count + e.page_count AS carried
    FROM m_0.entity AS e
    WHERE CASE WHEN e.folded LIKE ANY(:pieces::text[]) THEN e.folded ~ :pattern::text ELSE false END AND NOT e.id = ANY(:entities::bigint[])
    ORDER BY e.event_count + e.page_count, e.id LIMIT :started::bigint
), entity_named AS MATERIALIZED (
    SELECT e.id, e.name, e.event_count + e.page_count AS carried FROM m_0.entity AS e WHERE e.id = ANY(:entities::bigint[])
    UNION ALL
    SELECT s.id, s.name, s.carried FROM started AS s
), tag_named AS MATERIALIZED (
    SELECT t.id, t.path AS name,
        (SELECT count(*) FROM (SELECT DISTINCT m.event_id FROM m_0.membership AS m WHERE m.tag_id = t.id) AS m)
            + (SELECT count(*) FROM m_0.page_tag AS p WHERE p.tag_id = t.id) AS carried
    FROM m_0.tag AS t
    WHERE t.id = ANY(:tag_ids::bigint[])
        OR CASE WHEN t.folded LIKE ANY(:pieces::text[]) THEN t.folded ~ :pattern::text ELSE false END
    ORDER BY t.id LIMIT :started::bigint
), session_named AS MATERIALIZED (
    SELECT s.name, (SELECT count(*) FROM m_0.event AS e WHERE e.session = s.name) AS carried
    FROM (
        SELECT n.name FROM m_0.session AS n WHERE n.name = ANY(:sessions::text[])
        UNION
        SELECT n.name FROM m_0.session AS n WHERE n.uuid = ANY(:uuids::uuid[])
    ) AS s
), carried_event AS (
    SELECT p.event_id AS id, n.name, n.carried, false AS itself
    FROM entity_named AS n CROSS JOIN LATERAL (
        SELECT p.event_id FROM m_0.participation AS p WHERE p.entity_id = n.id
        ORDER BY p.entity_id, p."timestamp" DESC NULLS LAST, p.event_id DESC LIMIT :fan::bigint
    ) AS p
    UNION
    SELECT m.event_id AS id, n.name, n.carried, false AS itself
    FROM tag_named AS n CROSS JOIN LATERAL (
        SELECT m.event_id FROM m_0.membership AS m WHERE m.tag_id = n.id
        ORDER BY m.tag_id, m."timestamp" DESC NULLS LAST, m.event_id DESC LIMIT :fan::bigint
    ) AS m
    UNION
    SELECT e.id, n.name, n.carried, false AS itself
    FROM session_named AS n CROSS JOIN LATERAL (
        SELECT e.id FROM m_0.event AS e WHERE e.session = n.name ORDER BY e.session DESC, e.id DESC LIMIT :fan::bigint
    ) AS e
    UNION
    SELECT e.id, 'evt_' || e.id AS name, 1 AS carried, true AS itself FROM m_0.event AS e WHERE e.id = ANY(:event_ids::bigint[])
), carried_page AS (
    SELECT p.page_id AS id, n.name, n.carried, false AS itself FROM entity_named AS n JOIN m_0.page_entity AS p ON p.entity_id = n.id
    UNION
    SELECT p.page_id AS id, n.name, n.carried, false AS itself FROM tag_named AS n JOIN m_0.page_tag AS p ON p.tag_id = n.id
    UNION
    SELECT p.id, p.path AS name, 1 AS carried, true AS itself FROM m_0.page AS p WHERE p.id = ANY(:page_ids::bigint[])
    UNION
    SELECT p.id, p.path AS name, 1 AS carried, true AS itself FROM m_0.page AS p WHERE p.names && :page_names::text[]
)
(
    SELECT false AS is_page, c.id, sum(1.0::double precision / c.carried ORDER BY c.carried) AS score,
        (array_agg(c.name ORDER BY c.carried, c.name))[1:10] AS matched, bool_or(c.itself) AS itself
    FROM carried_event AS c WHERE c.carried > 0 AND wanted_event(c.id)
    GROUP BY c.id ORDER BY 3 DESC, 2 DESC LIMIT :stream_size::bigint
)
UNION ALL
(
    SELECT true AS is_page, c.id, sum(1.0::double precision / c.carried ORDER BY c.carried) AS score,
        (array_agg(c.name ORDER BY c.carried, c.name))[1:10] AS matched, bool_or(c.itself) AS itself
    FROM carried_page AS c WHERE c.carried > 0 AND wanted_page(c.id)
    GROUP BY c.id ORDER BY 3 DESC, 2 DESC LIMIT :stream_size::bigint
);

-- name: vector_indexes
-- Which kinds of vectors have an index, and which pgvector it is.
SELECT coalesce(array_agg(pg_get_expr(i.indpred, i.indrelid)), '{}') AS indexed,
    (SELECT x.extversion FROM pg_catalog.pg_extension AS x WHERE x.extname = 'vector') AS version
FROM pg_catalog.pg_index AS i
    JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
    JOIN pg_catalog.pg_am AS a ON a.oid = c.relam
WHERE i.indrelid = 'm_0.vector_0'::regclass AND i.indisvalid AND a.amname = 'hnsw';

-- name: vector_count
-- How many passages have a vector.
SELECT count(*) AS number FROM m_0.vector_0 AS v;

-- name: vectors
-- The nearest passage of each event and page by an exact scan: no index serves the function.
WITH event_near AS MATERIALIZED (
    SELECT v.owner_id AS id, v.passage_id AS passage, cosine_distance(v.vector, (SELECT :vector::text::halfvec)) AS distance
    FROM m_0.vector_0 AS v WHERE v.kind < 2 AND wanted_event(v.owner_id)
    ORDER BY distance, v.passage_id LIMIT :nearest::bigint
), page_near AS MATERIALIZED (
    SELECT v.owner_id AS id, v.passage_id AS passage, cosine_distance(v.vector, (SELECT :vector::text::halfvec)) AS distance
    FROM m_0.vector_0 AS v WHERE v.kind = 2 AND wanted_page(v.owner_id)
    ORDER BY distance, v.passage_id LIMIT :nearest::bigint
), event_best AS (
    SELECT DISTINCT ON (v.id) v.id, v.passage, v.distance FROM event_near AS v ORDER BY v.id, v.distance, v.passage
), page_best AS (
    SELECT DISTINCT ON (v.id) v.id, v.passage, v.distance FROM page_near AS v ORDER BY v.id, v.distance, v.passage
)
(
    SELECT false AS is_page, v.id, v.passage, 1 - v.distance AS score FROM event_best AS v
    ORDER BY v.distance, v.id DESC LIMIT :stream_size::bigint
)
UNION ALL
(
    SELECT true AS is_page, v.id, v.passage, 1 - v.distance AS score FROM page_best AS v
    ORDER BY v.distance, v.id DESC LIMIT :stream_size::bigint
);

-- name: head_vectors
-- The nearest heads of events through their index, which may give them a little out of order.
WITH near AS MATERIALIZED (
    SELECT v.owner_id AS id, v.passage_id AS passage, v.vector OPERATOR(<=>) (SELECT :vector::text::halfvec) AS distance
    FROM m_0.vector_0 AS v WHERE v.kind = 0 AND wanted_event(v.owner_id)
    ORDER BY v.vector OPERATOR(<=>) (SELECT :vector::text::halfvec) LIMIT :stream_size::bigint
)
SELECT false AS is_page, v.id, v.passage, 1 - v.distance AS score FROM near AS v ORDER BY v.distance + 0, v.passage;

-- name: piece_vectors
-- The nearest pieces of events through their index.
WITH near AS MATERIALIZED (
    SELECT v.owner_id AS id, v.passage_id AS passage, v.vector OPERATOR(<=>) (SELECT :vector::text::halfvec) AS distance
    FROM m_0.vector_0 AS v WHERE v.kind = 1 AND wanted_event(v.owner_id)
    ORDER BY v.vector OPERATOR(<=>) (SELECT :vector::text::halfvec) LIMIT :nearest::bigint
)
SELECT false AS is_page, v.id, v.passage, 1 - v.distance AS score FROM near AS v ORDER BY v.distance + 0, v.passage;

-- name: page_vectors
-- The nearest passages of pages through their index.
WITH near AS MATERIALIZED (
    SELECT v.owner_id AS id, v.passage_id AS passage, v.vector OPERATOR(<=>) (SELECT :vector::text::halfvec) AS distance
    FROM m_0.vector_0 AS v WHERE v.kind = 2 AND wanted_page(v.owner_id)
    ORDER BY v.vector OPERATOR(<=>) (SELECT :vector::text::halfvec) LIMIT :nearest::bigint
)
SELECT true AS is_page, v.id, v.passage, 1 - v.distance AS score FROM near AS v ORDER BY v.distance + 0, v.passage;
