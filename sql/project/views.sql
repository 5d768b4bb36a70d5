-- What query_memories_with_sql reads; docs/sql.md describes each column. Ids are the numbers of the public ids: evt_42 is 42.
-- Only the project's reader role has rights on these views, and it has rights on nothing else.

CREATE VIEW events AS
SELECT e.id, 'evt_' || e.id AS public_id, e.session, e.kind, e.summary, e.content, e."timestamp", e.id AS order_index, e.author, e.created_at
FROM event AS e;

CREATE VIEW entities AS
SELECT n.id, 'ent_' || n.id AS public_id, n.name, n.type, n.event_count, n.page_count FROM entity AS n;

CREATE VIEW event_entities AS
SELECT p.event_id, p.entity_id FROM participation AS p;

CREATE VIEW tags AS
SELECT t.id, 'tag_' || t.id AS public_id, t.path, t.leaf FROM tag AS t;

CREATE VIEW event_tags AS
SELECT m.event_id, m.tag_id, m.kind FROM membership AS m;

CREATE VIEW sessions AS
SELECT s.name, s.uuid, s.agent, s.started_at, s.ended_at FROM session AS s;

CREATE VIEW next_links AS
SELECT l.from_id AS from_event_id, l.to_id AS to_event_id, l.source FROM next_link AS l;

CREATE VIEW resolutions AS
SELECT r.plan_id AS plan_event_id, r.evidence_id AS evidence_event_id, r.relation, r.asserted_at, r.asserted_by, r.revoked_at
FROM resolution AS r;

CREATE VIEW aliases AS
SELECT a.a_id AS entity_id, a.b_id AS same_as_entity_id, a.confidence, a.asserted_by, a.asserted_at FROM alias AS a;

CREATE VIEW pages AS
SELECT p.id, 'pg_' || p.id AS public_id, p.path, p.title, p.body, p.version, p.author, p.created_at, p.updated_at FROM page AS p;

-- A link leads to each page that goes by one of the names it may mean, as read_page shows them.
CREATE VIEW page_links AS
SELECT DISTINCT l.from_id AS from_page_id, o.id AS to_page_id
FROM page_link AS l JOIN page AS o ON o.names @> ARRAY[l.target] WHERE o.id <> l.from_id;
