-- deploy: before
-- Names are found by the beginning of any of their words through an index instead of by reading them all.
-- Names are few beside events: writing them anew takes seconds, during which the project's calls wait.
-- squawk-ignore adding-field-with-default
ALTER TABLE entity ADD COLUMN words tsvector GENERATED ALWAYS AS (
    array_to_tsvector(array_remove(regexp_split_to_array(folded, '[\u0001-/:-@\[-`{-\u00bf\u2000-\u206f\u3000-\u3020]+'), ''))
) STORED;
ALTER TABLE entity ALTER COLUMN words SET STATISTICS 0;
-- squawk-ignore require-concurrent-index-creation
CREATE INDEX entity_words ON entity USING gin (words);
