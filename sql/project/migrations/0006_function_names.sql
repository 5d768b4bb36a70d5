-- deploy: after
-- Functions are named after their schema now. Those of before go, and with them the triggers that still call them: the functions' own files
-- make each trigger anew.
-- squawk-ignore ban-drop-function
DROP FUNCTION IF EXISTS
    save_events(jsonb), save_passages(jsonb, bigint[]), link_names(jsonb, bigint[]), link_names(jsonb, bigint[], timestamptz[]),
    link_events(jsonb, bigint[]), update_event(jsonb), rename_event(jsonb, bigint, timestamptz), replace_event_passages(jsonb, bigint),
    delete_events(bigint[]), delete_page(text, integer), save_page(jsonb), link_page(jsonb, bigint), replace_passages(jsonb, bigint),
    ensure_entities(jsonb), ensure_tags(jsonb), read_rows(text, text[], integer, integer, bigint),
    passage_added(), passage_removed(), entity_counted(), tag_left()
    CASCADE;
