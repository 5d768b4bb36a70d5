-- name: header
-- How much there is of each kind, and the last numbers given.
SELECT (SELECT count(*) FROM m_0.session) AS session, (SELECT count(*) FROM m_0.entity) AS entity, (SELECT count(*) FROM m_0.tag) AS tag,
    (SELECT count(*) FROM m_0.event) AS event, (SELECT count(*) FROM m_0.event_version) AS event_version,
    (SELECT count(*) FROM m_0.next_link) AS next_link, (SELECT count(*) FROM m_0.resolution) AS resolution,
    (SELECT count(*) FROM m_0.alias) AS alias, (SELECT count(*) FROM m_0.page) AS page,
    (SELECT count(*) FROM m_0.page_version) AS page_version, c.events, c.entities, c.tags, c.pages
FROM m_0.counter AS c;

-- name: session
-- Sessions by name.
SELECT s.name, s.uuid, s.agent, s.started_at, s.ended_at FROM m_0.session AS s ORDER BY s.name COLLATE "C";

-- name: entity
-- Entities by number.
SELECT e.id, e.name, e.type FROM m_0.entity AS e ORDER BY e.id;

-- name: tag
-- Tags by number.
SELECT t.id, t.path FROM m_0.tag AS t ORDER BY t.id;

-- name: event
-- Events by number, with their entities and tags.
SELECT e.id, e.session, e.kind, e.summary, e.content, e."timestamp", e.author, e.ingest_key, e.created_at,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('name', n.name, 'type', n.type) ORDER BY n.id), '[]')::text
        FROM m_0.participation AS p JOIN m_0.entity AS n ON n.id = p.entity_id WHERE p.event_id = e.id) AS entities,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('path', t.path, 'kind', m.kind) ORDER BY t.id, m.kind), '[]')::text
        FROM m_0.membership AS m JOIN m_0.tag AS t ON t.id = m.tag_id WHERE m.event_id = e.id) AS tags
FROM m_0.event AS e ORDER BY e.id;

-- name: event_version
-- Earlier versions of events.
SELECT v.event_id, v.version, v.kind, v.summary, v.content, v."timestamp", v.author, v.replaced_at
FROM m_0.event_version AS v ORDER BY v.event_id, v.version;

-- name: next_link
-- What follows what.
SELECT l.from_id, l.to_id, l.source FROM m_0.next_link AS l ORDER BY l.from_id, l.source COLLATE "C", l.to_id;

-- name: resolution
-- Plans and what realized them, revoked ones too.
SELECT r.plan_id, r.evidence_id, r.relation, r.asserted_at, r.asserted_by, r.revoked_at
FROM m_0.resolution AS r ORDER BY r.plan_id, r.evidence_id, r.relation COLLATE "C";

-- name: alias
-- Names that mean one thing.
SELECT jsonb_build_object('name', a.name, 'type', a.type)::text AS a, jsonb_build_object('name', b.name, 'type', b.type)::text AS b,
    s.confidence, s.asserted_by, s.asserted_at
FROM m_0.alias AS s JOIN m_0.entity AS a ON a.id = s.a_id JOIN m_0.entity AS b ON b.id = s.b_id ORDER BY s.a_id, s.b_id;

-- name: page
-- Pages by number, with their links, entities and tags.
SELECT p.id, p.path, p.names, p.aliases, p.title, p.body, p.version, p.author, p.created_at, p.updated_at,
    ARRAY(SELECT l.target FROM m_0.page_link AS l WHERE l.from_id = p.id ORDER BY l.target COLLATE "C") AS links,
    (SELECT coalesce(jsonb_agg(jsonb_build_object('name', n.name, 'type', n.type) ORDER BY n.id), '[]')::text
        FROM m_0.page_entity AS e JOIN m_0.entity AS n ON n.id = e.entity_id WHERE e.page_id = p.id) AS entities,
    ARRAY(SELECT t.path FROM m_0.page_tag AS g JOIN m_0.tag AS t ON t.id = g.tag_id WHERE g.page_id = p.id ORDER BY t.id) AS tags
FROM m_0.page AS p ORDER BY p.id;

-- name: page_version
-- Earlier versions of pages.
SELECT v.page_id, v.version, v.title, v.body, v.author, v.created_at FROM m_0.page_version AS v ORDER BY v.page_id, v.version;
