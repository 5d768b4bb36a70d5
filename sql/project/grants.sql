-- What the workspace's role may do in a project: each table by name, since ALL TABLES scans the whole catalogue.
GRANT SELECT, INSERT, UPDATE, DELETE ON
    session, event, event_version, entity, participation, tag, membership, next_link, resolution, alias,
    page, page_version, page_link, page_entity, page_tag, passage, lexeme, embed_failure
    TO {role};
GRANT SELECT, UPDATE ON counter TO {role};
GRANT SELECT ON space, migration TO {role};
