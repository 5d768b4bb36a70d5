-- Counts that ranking needs, kept exact inside the transaction that changes the rows, whichever way they change.
-- Every writer and every delete holds the counter's row first, so these updates meet no deadlock.

CREATE OR REPLACE FUNCTION m_0_passage_added() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
BEGIN
    INSERT INTO lexeme AS l (word, df)
    SELECT w.lexeme, count(*) FROM added AS a, unnest(a.words) AS w GROUP BY w.lexeme ORDER BY w.lexeme
    ON CONFLICT (word) DO UPDATE SET df = l.df + excluded.df;
    UPDATE counter SET documents = documents + n, words = counter.words + length
    FROM (SELECT count(*) AS n, coalesce(sum(a.length), 0) AS length FROM added AS a) AS t WHERE n > 0;
    RETURN NULL;
END
$$;

-- Without a join: how many rows were removed is not known when a plan is made, and one for few compares each word of a large page with all
-- others, which takes minutes. An insert that always meets a row, and an array, go by the index whatever was guessed.
CREATE OR REPLACE FUNCTION m_0_passage_removed() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    unused text[];
BEGIN
    WITH lessened AS (
        INSERT INTO lexeme AS l (word, df)
        SELECT w.lexeme, -count(*) FROM removed AS r, unnest(r.words) AS w GROUP BY w.lexeme ORDER BY w.lexeme
        ON CONFLICT (word) DO UPDATE SET df = l.df + excluded.df
        RETURNING l.word, l.df
    )
    SELECT array_agg(s.word) INTO unused FROM lessened AS s WHERE s.df <= 0;
    DELETE FROM lexeme AS l WHERE l.word = ANY (unused);
    UPDATE counter SET documents = documents - n, words = counter.words - length
    FROM (SELECT count(*) AS n, coalesce(sum(r.length), 0) AS length FROM removed AS r) AS t WHERE n > 0;
    RETURN NULL;
END
$$;

-- How many events, or pages, an entity takes part in: the trigger's table says which.
CREATE OR REPLACE FUNCTION m_0_entity_counted() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
DECLARE
    sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
    of_events integer := CASE TG_TABLE_NAME WHEN 'participation' THEN sign ELSE 0 END;
    of_pages integer := sign - of_events;
BEGIN
    UPDATE entity AS e SET event_count = e.event_count + of_events * t.n, page_count = e.page_count + of_pages * t.n
    FROM (SELECT entity_id, count(*) AS n FROM changed GROUP BY entity_id) AS t WHERE e.id = t.entity_id;
    IF sign < 0 THEN
        DELETE FROM entity AS e
        USING (SELECT DISTINCT entity_id FROM changed) AS t
        WHERE e.id = t.entity_id AND e.event_count = 0 AND e.page_count = 0;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION m_0_tag_left() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
BEGIN
    DELETE FROM tag AS t
    USING (SELECT DISTINCT tag_id FROM removed) AS r
    WHERE t.id = r.tag_id
        AND NOT EXISTS (SELECT FROM membership AS m WHERE m.tag_id = t.id)
        AND NOT EXISTS (SELECT FROM page_tag AS p WHERE p.tag_id = t.id);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER passage_added AFTER INSERT ON passage
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION m_0_passage_added();
CREATE OR REPLACE TRIGGER passage_removed AFTER DELETE ON passage
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION m_0_passage_removed();
CREATE OR REPLACE TRIGGER participation_added AFTER INSERT ON participation
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION m_0_entity_counted();
CREATE OR REPLACE TRIGGER participation_removed AFTER DELETE ON participation
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION m_0_entity_counted();
CREATE OR REPLACE TRIGGER page_entity_added AFTER INSERT ON page_entity
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION m_0_entity_counted();
CREATE OR REPLACE TRIGGER page_entity_removed AFTER DELETE ON page_entity
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION m_0_entity_counted();
CREATE OR REPLACE TRIGGER membership_removed AFTER DELETE ON membership
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION m_0_tag_left();
CREATE OR REPLACE TRIGGER page_tag_removed AFTER DELETE ON page_tag
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION m_0_tag_left();

-- What earlier versions had in the place of entity_counted.
DROP FUNCTION IF EXISTS participation_added(), participation_removed(), page_entity_added(), page_entity_removed();
