-- The stages of memory_query. `:name` is a value, bound when the statement is compiled (service/search/compile.py), which also puts
-- the request's filters where `wanted_event(id)` and `wanted_page(id)` stand, and the query's terms where `weighed_terms()` (their sum), `each_term()`,
-- `terms_of(…)`, `sum_terms(…)` and `best_terms()` stand; what is only explained where `matched_names()` and `all_matched()` stand, and the look into texts where `untold_names()` stands. Long lists come as one text, names as its lines and words as its words: the driver looks
-- at each item of an array several times. They are cut up in a subquery, which runs once, not for each row.

-- name: facts
-- What ranking needs to know before it begins: how rare the query's words are, which names it spells exactly, which tags it is held to.
SELECT 'word' AS topic, l.word AS key, l.df AS number FROM m_0.lexeme AS l WHERE l.word = ANY(:words::text[])
UNION ALL
SELECT 'start' AS topic, s.start AS key, sum(l.df)::bigint AS number
FROM unnest(:starts::text[]) AS s (start) JOIN m_0.lexeme AS l ON starts_with(l.word, s.start) GROUP BY s.start
UNION ALL
SELECT v.topic, NULL AS key, v.number
FROM m_0.counter AS c CROSS JOIN LATERAL (VALUES ('documents', c.documents), ('length', c.words), ('last', c.passages)) AS v (topic, number)
UNION ALL
SELECT v.topic, v.key, v.number
FROM m_0.entity AS e CROSS JOIN LATERAL (VALUES ('entity', e.folded, e.id), ('hub', e.name, e.event_count)) AS v (topic, key, number)
WHERE e.folded = ANY((SELECT string_to_array(:names::text, chr(10)))::text[]) AND (v.topic = 'entity' OR e.event_count > :fan::bigint)
UNION ALL
SELECT 'tag' AS topic, t.folded AS key, t.id AS number FROM m_0.tag AS t WHERE t.folded = ANY((SELECT string_to_array(:names::text, chr(10)))::text[])
    OR split_part(t.folded, '/', -1) = ANY((SELECT string_to_array(:names::text, chr(10)))::text[])
UNION ALL
SELECT DISTINCT 'held' AS topic, NULL AS key, t.id AS number
FROM unnest(:tags::text[]) AS w (name) JOIN m_0.tag AS t ON t.folded = w.name OR split_part(t.folded, '/', -1) = w.name OR starts_with(t.folded, w.name || '/');

-- name: facts_forms
-- Words that begin like those of the query, so that other forms of them can be told, and parts of them; where the query does not tell its
-- language, only of a project that has words of one. The bounds are looked up in the order of the database's locale, in which words of one
-- beginning stand together.
SELECT 'word' AS topic, l.word AS key, l.df AS number
FROM (
    SELECT f.word, f.df
    FROM unnest(:lows::text[], :highs::text[]) AS b (low, high)
        CROSS JOIN LATERAL (
            SELECT x.word, x.df FROM m_0.lexeme AS x WHERE x.word >= b.low AND x.word <= b.high ORDER BY x.word LIMIT :forms::bigint
        ) AS f
    WHERE starts_with(f.word, b.low)
    UNION ALL
    SELECT x.word, x.df FROM m_0.lexeme AS x WHERE x.word = ANY((SELECT string_to_array(:parts::text, ' '))::text[])
) AS l
WHERE :told::boolean OR (
    SELECT max(x.df) >= :present::double precision * (SELECT c.documents FROM m_0.counter AS c)
    FROM m_0.lexeme AS x WHERE x.word = ANY((SELECT string_to_array(:markers::text, ' '))::text[])
);

-- name: facts_dated
-- How many events are of a time that the query names, counted as far as text is ranked.
SELECT 'dated' AS topic, NULL AS key, count(*) AS number
FROM (
    SELECT FROM unnest(:ranges::text::tstzmultirange) AS r (range)
        CROSS JOIN LATERAL (
            SELECT FROM m_0.event AS e WHERE e."timestamp" >= lower(r.range) AND e."timestamp" < upper(r.range) LIMIT :counted::bigint
        ) AS e
    LIMIT :counted::bigint
) AS d;

-- name: words
-- Text match: candidates by the rarest words, and by the time that the query names, scored by all. An event is read together with those beside it in the session: of each word
-- it takes its own score or a part of the best one near, the less the farther; so a word said twice nearby counts once, and what answers
-- a question stands by the words of the question. OFFSET has the filters asked once of all neighbours, not for each event that lends.
WITH scored AS MATERIALIZED (
    SELECT p.id, p.event_id, p.page_id, 1 / sqrt(0.6 + 0.4 * p.length / :mean_length::double precision) AS share, each_term()
    FROM m_0.passage AS p
    WHERE (p.words @@ (SELECT :candidates::text::tsquery) AND p.id + 0 > :after::bigint) OR of_that_time(p.event_id)
), event_hit AS (
    SELECT DISTINCT ON (f.event_id) f.event_id AS id, f.id AS passage, f.score, f.share, terms_of(f)
    FROM (SELECT s.*, s.share * sum_terms(s) AS score FROM scored AS s) AS f
    WHERE f.event_id IS NOT NULL AND wanted_event(f.event_id)
    ORDER BY f.event_id, f.score DESC, f.id
), heard AS MATERIALIZED (
    SELECT h.*, row_number() OVER (ORDER BY h.score DESC, h.id DESC) AS place
    FROM (SELECT h.* FROM event_hit AS h WHERE h.score > 0 ORDER BY h.score DESC, h.id DESC LIMIT 2 * :stream_size::bigint) AS h
), near AS (
    SELECT h.id, h.passage, h.share, terms_of(h) FROM heard AS h
    UNION ALL
    SELECT n.id, NULL AS passage, n.share, terms_of(n) FROM (
        SELECT n.id, h.share * :neighbour::double precision ^ n.step AS share, terms_of(h)
        FROM heard AS h
            CROSS JOIN LATERAL (SELECT e.session FROM m_0.event AS e WHERE e.id = h.id LIMIT 1) AS e
            CROSS JOIN LATERAL (
                SELECT b.id, row_number() OVER (ORDER BY b.id DESC) AS step FROM (
                    SELECT v.id FROM m_0.event AS v
                    WHERE v.session = e.session AND v.id < h.id ORDER BY v.session DESC, v.id DESC LIMIT :reach::bigint
                ) AS b
                UNION ALL
                SELECT b.id, row_number() OVER (ORDER BY b.id) AS step FROM (
                    SELECT v.id FROM m_0.event AS v WHERE v.session = e.session AND v.id > h.id ORDER BY v.session, v.id LIMIT :reach::bigint
                ) AS b
            ) AS n
        WHERE h.place <= :spread::bigint OFFSET 0
    ) AS n WHERE wanted_event(n.id)
), event_last AS (
    SELECT n.id, max(n.passage) AS passage, best_terms() AS score FROM near AS n GROUP BY n.id
), page_hit AS (
    SELECT DISTINCT ON (f.page_id) f.page_id AS id, f.id AS passage, f.score, f.score / f.share AS held
    FROM (SELECT s.*, s.share * sum_terms(s) AS score FROM scored AS s) AS f
    WHERE f.page_id IS NOT NULL AND wanted_page(f.page_id)
    ORDER BY f.page_id, f.score DESC, f.id
)
(
    SELECT false AS is_page, h.id, h.passage, h.score, (SELECT max(b.score / b.share) FROM heard AS b) AS held
    FROM event_last AS h WHERE h.score > 0
    ORDER BY h.score DESC, h.id DESC LIMIT :stream_size::bigint
)
UNION ALL
(
    SELECT true AS is_page, h.id, h.passage, h.score, h.held FROM page_hit AS h WHERE h.score > 0
    ORDER BY h.score DESC, h.id DESC LIMIT :stream_size::bigint
);

-- name: old_pages
-- The pages whose text has changed since a moment, in the version of that moment; nulls where that version is not kept any more.
SELECT g.id, g.path, v.title, left(v.body, :body::integer) AS body, v.created_at
FROM m_0.page AS g LEFT JOIN LATERAL (
    SELECT o.title, o.body, o.created_at FROM m_0.page_version AS o
    WHERE o.page_id = g.id AND o.created_at <= :as_of::timestamptz ORDER BY o.version DESC LIMIT 1
) AS v ON true
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

-- name: matched_names
-- The rarest names by which an event or page is found, where they are asked for.
SELECT (array_agg(c.name ORDER BY c.carried, c.name))[1:10] AS matched FROM carried AS c;

-- name: all_matched
-- The same of all candidates, in their order.
SELECT json_agg(r.matched)::text AS matched FROM stream AS r;

-- name: term
-- What one lexeme adds to a passage's score: a single lexeme's ts_rank saturates as it comes again.
SELECT :weight::double precision * ts_rank(p.words, (SELECT :query::text::tsquery)) AS score FROM m_0.passage AS p;

-- name: phrase
-- What several lexemes in a row add; ts_rank does not heed their order.
SELECT CASE
    WHEN p.words @@ (SELECT :query::text::tsquery) THEN :weight::double precision * ts_rank(p.words, (SELECT :query::text::tsquery)) ELSE 0
END AS score FROM m_0.passage AS p;

-- name: moment
-- What it adds that an event is of a time that the query names.
SELECT CASE
    WHEN (SELECT e."timestamp" FROM m_0.event AS e WHERE e.id = p.event_id) <@ (SELECT :ranges::text::tstzmultirange) THEN :weight::double precision ELSE 0
END AS score FROM m_0.passage AS p;

-- name: of_that_time
-- Whether a passage is of an event of a time that the query names; of so many of the newest.
SELECT p.event_id = ANY(ARRAY(
    SELECT e.id FROM unnest(:that_time::text::tstzmultirange) AS r (range)
        CROSS JOIN LATERAL (
            SELECT x.id, x."timestamp" FROM m_0.event AS x WHERE x."timestamp" >= lower(r.range) AND x."timestamp" < upper(r.range)
            ORDER BY x."timestamp" DESC NULLS LAST, x.id DESC LIMIT :dated_most::bigint
        ) AS e
    ORDER BY e."timestamp" DESC NULLS LAST, e.id DESC LIMIT :dated_most::bigint
)) AS chosen FROM m_0.passage AS p;

-- name: names
-- Entities, tags, sessions, public ids, paths and titles that the query names: each counts 1/(events or pages that carry it), of a tag or
-- session as far as it is read.
WITH started AS MATERIALIZED (
    SELECT e.id, e.name, e.folded, e.event_count + e.page_count AS carried
    FROM m_0.entity AS e
    WHERE e.words @@ (SELECT :starts::text::tsquery) AND e.folded ~ :pattern::text AND NOT e.id = ANY(:entities::bigint[])
    ORDER BY e.event_count + e.page_count, e.id LIMIT :started::bigint
), entity_named AS MATERIALIZED (
    SELECT e.id, e.name, e.event_count + e.page_count AS carried, e.id = ANY(:telling::bigint[]) AS spelled, e.folded = :whole::text AS itself
    FROM m_0.entity AS e WHERE e.id = ANY(:entities::bigint[])
    UNION ALL
    SELECT s.id, s.name, s.carried, s.folded ~ :whole_words::text AS spelled, false AS itself FROM started AS s
), tag_named AS MATERIALIZED (
    SELECT t.id, t.path AS name,
        (
            SELECT count(DISTINCT m.event_id)
            FROM (SELECT m.event_id FROM m_0.membership AS m WHERE m.tag_id = t.id LIMIT 2 * :fan::bigint) AS m
        ) + (SELECT count(*) FROM (SELECT FROM m_0.page_tag AS p WHERE p.tag_id = t.id LIMIT :fan::bigint) AS p) AS carried,
        t.id = ANY(:tag_ids::bigint[]) OR t.folded ~ :whole_words::text AS spelled
    FROM m_0.tag AS t
    WHERE t.id = ANY(:tag_ids::bigint[])
        OR CASE WHEN t.folded LIKE ANY(:pieces::text[]) THEN t.folded ~ :pattern::text ELSE false END
    ORDER BY t.id LIMIT :started::bigint
), session_named AS MATERIALIZED (
    SELECT s.name, (SELECT count(*) FROM (SELECT FROM m_0.event AS e WHERE e.session = s.name LIMIT :fan::bigint) AS e) AS carried
    FROM (
        SELECT n.name FROM m_0.session AS n WHERE n.name = ANY((SELECT string_to_array(:sessions::text, chr(10)))::text[])
        UNION
        SELECT n.name FROM m_0.session AS n WHERE n.uuid = ANY(:uuids::uuid[])
    ) AS s
), carried_event AS (
    SELECT p.event_id AS id, n.name, n.carried, n.spelled, n.itself
    FROM entity_named AS n CROSS JOIN LATERAL (
        SELECT p.event_id FROM m_0.participation AS p WHERE p.entity_id = n.id
        ORDER BY p.entity_id, p."timestamp" DESC NULLS LAST, p.event_id DESC LIMIT :fan::bigint
    ) AS p
    UNION ALL
    SELECT m.event_id AS id, n.name, n.carried, n.spelled, false AS itself
    FROM tag_named AS n CROSS JOIN LATERAL (
        SELECT DISTINCT m.event_id FROM (
            SELECT m.event_id FROM m_0.membership AS m WHERE m.tag_id = n.id
            ORDER BY m.tag_id, m."timestamp" DESC NULLS LAST, m.event_id DESC LIMIT :fan::bigint
        ) AS m
    ) AS m
    UNION ALL
    SELECT e.id, n.name, n.carried, false AS spelled, false AS itself
    FROM session_named AS n CROSS JOIN LATERAL (
        SELECT e.id FROM m_0.event AS e WHERE e.session = n.name ORDER BY e.session DESC, e.id DESC LIMIT :fan::bigint
    ) AS e
    UNION ALL
    SELECT e.id, 'evt_' || e.id AS name, 1 AS carried, true AS spelled, true AS itself FROM m_0.event AS e WHERE e.id = ANY(:event_ids::bigint[])
), carried_page AS (
    SELECT p.page_id AS id, n.name, n.carried, n.spelled, n.itself
    FROM entity_named AS n CROSS JOIN LATERAL (SELECT x.page_id FROM m_0.page_entity AS x WHERE x.entity_id = n.id OFFSET 0) AS p
    UNION ALL
    SELECT p.page_id AS id, n.name, n.carried, n.spelled, false AS itself
    FROM tag_named AS n CROSS JOIN LATERAL (SELECT x.page_id FROM m_0.page_tag AS x WHERE x.tag_id = n.id OFFSET 0) AS p
    UNION ALL
    (
        SELECT p.id, p.path AS name, 1 AS carried, true AS spelled, true AS itself FROM m_0.page AS p WHERE p.id = ANY(:page_ids::bigint[])
        UNION
        SELECT p.id, p.path AS name, 1 AS carried, true AS spelled, true AS itself
        FROM unnest(string_to_array(:page_names::text, chr(10))) AS w (name)
            CROSS JOIN LATERAL (SELECT x.id, x.path FROM m_0.page AS x WHERE x.names @> ARRAY[w.name] OFFSET 0) AS p
    )
)
(
    SELECT false AS is_page, c.id, sum(1.0::double precision / c.carried ORDER BY c.carried) AS score,
        bool_or(c.spelled) AS spelled, bool_or(c.itself) AS itself, matched_names()
    FROM carried_event AS c WHERE c.carried > 0 AND wanted_event(c.id)
    GROUP BY c.id ORDER BY 3 DESC, 2 DESC LIMIT :stream_size::bigint
)
UNION ALL
(
    SELECT true AS is_page, c.id, sum(1.0::double precision / c.carried ORDER BY c.carried) AS score,
        bool_or(c.spelled) AS spelled, bool_or(c.itself) AS itself, matched_names()
    FROM carried_page AS c WHERE c.carried > 0 AND wanted_page(c.id)
    GROUP BY c.id ORDER BY 3 DESC, 2 DESC LIMIT :stream_size::bigint
);

-- name: vector_count
-- How many passages have a vector.
SELECT count(*) AS number FROM m_0.vector_0 AS v;

-- name: near_all
-- How far every passage is, in one pass: no index serves the function.
SELECT v.kind = 2 AS is_page, v.owner_id AS id, v.passage_id AS passage,
    cosine_distance(v.vector, (SELECT :vector::text::halfvec)) AS distance
FROM m_0.vector_0 AS v;

-- name: near_left
-- How far the passages are that the filters leave, of each kind up to a number of them; heads are reached by their owner, the others by
-- their passage.
(
    SELECT true AS is_page, v.owner_id AS id, v.passage_id AS passage,
        cosine_distance(v.vector, (SELECT :vector::text::halfvec)) AS distance
    FROM m_0.passage AS p JOIN m_0.vector_0 AS v ON v.passage_id = p.id
    WHERE NOT p.page_id IS NULL AND wanted_page(p.page_id) LIMIT :most::bigint
)
UNION ALL
(
    SELECT false AS is_page, v.owner_id AS id, v.passage_id AS passage,
        cosine_distance(v.vector, (SELECT :vector::text::halfvec)) AS distance
    FROM m_0.passage AS p JOIN m_0.vector_0 AS v ON v.passage_id = p.id
    WHERE NOT p.event_id IS NULL AND p.number > 0 AND wanted_event(p.event_id) LIMIT :most::bigint
)
UNION ALL
(
    SELECT false AS is_page, v.owner_id AS id, v.passage_id AS passage,
        cosine_distance(v.vector, (SELECT :vector::text::halfvec)) AS distance
    FROM m_0.vector_0 AS v WHERE v.kind = 0 AND wanted_event(v.owner_id) LIMIT :most::bigint
);

-- name: near_indexed
-- The nearest of each kind through its index, which may give them a little out of order; a kind without an index is measured whole.
(
    SELECT false AS is_page, v.owner_id AS id, v.passage_id AS passage, v.vector OPERATOR(<=>) (SELECT :vector::text::halfvec) AS distance
    FROM m_0.vector_0 AS v WHERE v.kind = 0 AND wanted_event(v.owner_id)
    ORDER BY v.vector OPERATOR(<=>) (SELECT :vector::text::halfvec) LIMIT :each::bigint
)
UNION ALL
(
    SELECT false AS is_page, v.owner_id AS id, v.passage_id AS passage, v.vector OPERATOR(<=>) (SELECT :vector::text::halfvec) AS distance
    FROM m_0.vector_0 AS v WHERE v.kind = 1 AND wanted_event(v.owner_id)
    ORDER BY v.vector OPERATOR(<=>) (SELECT :vector::text::halfvec) LIMIT :each::bigint
)
UNION ALL
(
    SELECT true AS is_page, v.owner_id AS id, v.passage_id AS passage, v.vector OPERATOR(<=>) (SELECT :vector::text::halfvec) AS distance
    FROM m_0.vector_0 AS v WHERE v.kind = 2 AND wanted_page(v.owner_id)
    ORDER BY v.vector OPERATOR(<=>) (SELECT :vector::text::halfvec) LIMIT :each::bigint
);

-- name: nearest
-- Of what is near: the nearest passage of each event and page, and of how many passages it was chosen. A vector of zeros, which no provider's
-- becomes, but a table may hold, is near nothing: its distance is no number, and would be the first of the scores.
WITH event_near AS MATERIALIZED (
    SELECT n.id, n.passage, n.distance FROM near AS n WHERE NOT n.is_page ORDER BY n.distance, n.passage LIMIT :nearest::bigint
), page_near AS MATERIALIZED (
    SELECT n.id, n.passage, n.distance FROM near AS n WHERE n.is_page ORDER BY n.distance, n.passage LIMIT :nearest::bigint
), event_best AS (
    SELECT DISTINCT ON (v.id) v.id, v.passage, v.distance FROM event_near AS v ORDER BY v.id, v.distance, v.passage
), page_best AS (
    SELECT DISTINCT ON (v.id) v.id, v.passage, v.distance FROM page_near AS v ORDER BY v.id, v.distance, v.passage
)
(
    SELECT false AS is_page, v.id, v.passage, 1 - v.distance AS score, (SELECT count(*) FROM event_near) AS seen FROM event_best AS v
    WHERE v.distance <> 'NaN'
    ORDER BY v.distance, v.id DESC LIMIT :stream_size::bigint
)
UNION ALL
(
    SELECT true AS is_page, v.id, v.passage, 1 - v.distance AS score, (SELECT count(*) FROM page_near) AS seen FROM page_best AS v
    WHERE v.distance <> 'NaN'
    ORDER BY v.distance, v.id DESC LIMIT :stream_size::bigint
);

-- name: nearest_indexed
-- The same where an index has chosen as many passages as are wanted.
(
    SELECT false AS is_page, v.id, v.passage, 1 - v.distance AS score, (SELECT count(*) FROM near AS n WHERE NOT n.is_page) AS seen
    FROM (SELECT DISTINCT ON (n.id) n.id, n.passage, n.distance FROM near AS n WHERE NOT n.is_page ORDER BY n.id, n.distance, n.passage) AS v
    WHERE v.distance <> 'NaN'
    ORDER BY v.distance, v.id DESC LIMIT :stream_size::bigint
)
UNION ALL
(
    SELECT true AS is_page, v.id, v.passage, 1 - v.distance AS score, (SELECT count(*) FROM near AS n WHERE n.is_page) AS seen
    FROM (SELECT DISTINCT ON (n.id) n.id, n.passage, n.distance FROM near AS n WHERE n.is_page ORDER BY n.id, n.distance, n.passage) AS v
    WHERE v.distance <> 'NaN'
    ORDER BY v.distance, v.id DESC LIMIT :stream_size::bigint
);

-- name: packed_words
-- A stream's candidates as one row for pages and one for events, with lists as text: the next statement takes them as they are. With the
-- most that a passage holds of the query, however long it is.
SELECT r.is_page, count(*) AS number, string_agg(r.id::text, ',') AS ids, string_agg(coalesce(r.passage::text, 'NULL'), ',') AS passages,
    string_agg(r.score::text, ',') AS scores, max(r.held) AS held
FROM stream AS r GROUP BY r.is_page;

-- name: packed_names
-- The same for names: which of them the query gives by id, path or title, which of them the texts do not tell, and what matched, where that is
-- asked for.
SELECT r.is_page, count(*) AS number, string_agg(r.id::text, ',') AS ids, string_agg('NULL', ',') AS passages,
    string_agg(r.score::text, ',') AS scores, array_agg(r.id) FILTER (WHERE r.itself) AS itself,
    untold_names(), all_matched()
FROM stream AS r GROUP BY r.is_page;

-- name: untold_names
-- Those with a name that few carry, and of which the query has a word as a whole, while their texts have none of the words by which texts
-- are chosen; only where texts can be read.
SELECT array_agg(r.id) FILTER (WHERE r.spelled AND r.score * :rare::bigint >= 1 AND CASE
    WHEN r.is_page THEN NOT EXISTS (SELECT FROM m_0.passage AS p WHERE p.page_id = r.id AND p.words @@ (SELECT :candidates::text::tsquery))
    ELSE NOT EXISTS (SELECT FROM m_0.passage AS p WHERE p.event_id = r.id AND p.words @@ (SELECT :candidates::text::tsquery))
END) AS untold FROM stream AS r;

-- name: packed_near
-- The same for vectors: of how many passages they were chosen.
SELECT r.is_page, count(*) AS number, string_agg(r.id::text, ',') AS ids, string_agg(r.passage::text, ',') AS passages,
    string_agg(r.score::text, ',') AS scores, max(r.seen) AS seen
FROM stream AS r GROUP BY r.is_page;

-- name: packed_left
-- The same for the vectors that filters leave, and how many of these there are.
SELECT r.is_page, count(*) AS number, string_agg(r.id::text, ',') AS ids, string_agg(r.passage::text, ',') AS passages,
    string_agg(r.score::text, ',') AS scores, max(r.seen) AS seen, (SELECT count(*) FROM near AS n WHERE n.is_page = r.is_page) AS measured
FROM stream AS r GROUP BY r.is_page;
