-- deploy: before
-- Counts what the project keeps. Whoever writes takes the counter's row first, so nobody writes until the triggers stand that count on.
SELECT one FROM counter FOR UPDATE;
INSERT INTO control.usage (project_id, workspace_id, events, bytes, events_before, bytes_before)
SELECT p.id, p.workspace_id, kept.events, kept.bytes, kept.events, kept.bytes
FROM control.project AS p CROSS JOIN (
    SELECT (SELECT count(*) FROM event) AS events,
        (SELECT coalesce(sum(octet_length(e.summary) + coalesce(octet_length(e.content), 0)), 0) FROM event AS e)
        + (SELECT coalesce(sum(octet_length(v.summary) + coalesce(octet_length(v.content), 0)), 0) FROM event_version AS v)
        + (SELECT coalesce(sum(octet_length(g.title) + octet_length(g.body)), 0) FROM page AS g)
        + (SELECT coalesce(sum(octet_length(w.title) + octet_length(w.body)), 0) FROM page_version AS w) AS bytes
) AS kept
WHERE 'm_' || p.id = current_schema();
