-- deploy: before
-- Aliases of pages stand as they were given, and not only among the names that links may say.
ALTER TABLE page ADD COLUMN aliases text[] NOT NULL DEFAULT '{}';
ALTER TABLE page ALTER COLUMN aliases SET STATISTICS 0;
-- Those of before are known in the spelling in which they are compared.
UPDATE page AS p SET aliases = given.aliases
FROM (
    SELECT o.id, array_agg(n.name ORDER BY n.place) AS aliases
    FROM page AS o, unnest(o.names) WITH ORDINALITY AS n (name, place)
    WHERE n.place > 1 AND lower(n.name) NOT IN (
        lower(normalize(o.title, NFKC)), lower(normalize(regexp_replace(o.path, '^.*/|\.md$', '', 'g'), NFKC))
    )
    GROUP BY o.id
) AS given
WHERE given.id = p.id;
