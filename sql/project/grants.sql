-- What the workspace's role may do in a project: each table by name, since ALL TABLES scans the whole catalogue.
GRANT SELECT, INSERT, UPDATE, DELETE ON
    session, event, event_version, entity, participation, tag, membership, next_link, resolution, alias,
    page, page_version, page_link, page_entity, page_tag, passage, lexeme, embed_failure
    TO {role};
GRANT SELECT, UPDATE ON counter TO {role};
GRANT SELECT ON space, migration TO {role};

-- Functions run with the rights of who calls them, so what they call in turn is named too. Triggers fire without a right on theirs.
GRANT EXECUTE ON FUNCTION
    m_0_save_events(jsonb), m_0_save_passages(jsonb, bigint[]), m_0_link_names(jsonb, bigint[], timestamptz[]), m_0_link_events(jsonb, bigint[]),
    m_0_update_event(jsonb), m_0_rename_event(jsonb, bigint, timestamptz), m_0_replace_event_passages(jsonb, bigint),
    m_0_delete_events(bigint[]), m_0_delete_page(text, integer),
    m_0_save_page(jsonb), m_0_link_page(jsonb, bigint), m_0_replace_passages(jsonb, bigint),
    m_0_ensure_entities(jsonb), m_0_ensure_tags(jsonb)
    TO {role};
