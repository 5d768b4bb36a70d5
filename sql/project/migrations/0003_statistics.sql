-- deploy: before
-- The remaining columns in which a person or a text can show keep no samples either, the vectors of texts among them.
ALTER TABLE session ALTER COLUMN agent SET STATISTICS 0;
ALTER TABLE entity ALTER COLUMN type SET STATISTICS 0;
ALTER TABLE resolution ALTER COLUMN asserted_by SET STATISTICS 0;
ALTER TABLE alias ALTER COLUMN asserted_by SET STATISTICS 0;
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT c.relname FROM pg_class AS c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname ~ '^vector_[0-9]+$'
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN vector SET STATISTICS 0', name);
    END LOOP;
END
$$;
