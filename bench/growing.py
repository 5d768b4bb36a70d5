"""Ten times the memory of a project without ten times the import: copies of all rows, which share nothing but words and tags.

In: a project filled over REST. Out: the same number of events, pages and names times `copies`; every event and name keeps its degree,
every word is as rare as before. Counts are kept by the tables' own triggers.
"""

import time

import psycopg

from bench.running import Running

_COPY = """
INSERT INTO session (name, uuid) SELECT name || ' copy %(n)s', gen_random_uuid() FROM session WHERE name NOT LIKE '%% copy %%';
INSERT INTO event (id, session, kind, summary, content, "timestamp")
SELECT id + %(events)s * %(n)s, session || ' copy %(n)s', kind, summary, content, "timestamp" + %(n)s * interval '1 second'
FROM event WHERE id <= %(events)s;
INSERT INTO entity (id, name, type, folded) SELECT id + %(entities)s * %(n)s, name || ' %(n)s', type, folded || ' %(n)s'
FROM entity WHERE id <= %(entities)s;
INSERT INTO participation (event_id, entity_id, "timestamp")
SELECT event_id + %(events)s * %(n)s, entity_id + %(entities)s * %(n)s, "timestamp" + %(n)s * interval '1 second'
FROM participation WHERE event_id <= %(events)s;
INSERT INTO membership (event_id, tag_id, kind, "timestamp")
SELECT event_id + %(events)s * %(n)s, tag_id, kind, "timestamp" FROM membership WHERE event_id <= %(events)s;
INSERT INTO page (id, path, names, title, body, version)
SELECT id + %(pages)s * %(n)s, 'copy%(n)s/' || path, ARRAY['copy%(n)s/' || path], title, body, 1 FROM page WHERE id <= %(pages)s;
INSERT INTO page_link (from_id, target)
SELECT from_id + %(pages)s * %(n)s, 'copy%(n)s/' || target
FROM page_link WHERE from_id <= %(pages)s;
INSERT INTO page_entity (page_id, entity_id)
SELECT page_id + %(pages)s * %(n)s, entity_id + %(entities)s * %(n)s FROM page_entity WHERE page_id <= %(pages)s;
INSERT INTO passage (id, event_id, page_id, number, title_path, text, words, length)
SELECT id + %(passages)s * %(n)s, event_id + %(events)s * %(n)s, page_id + %(pages)s * %(n)s, number, title_path, text, words, length
FROM passage WHERE id <= %(passages)s
"""
_COUNTED = "UPDATE counter SET events = events * {n}, entities = entities * {n}, pages = pages * {n}, passages = passages * {n}"


def grow(server: Running, copies: int) -> None:
    """Makes the copies beside what is there; prints the seconds."""
    began = time.perf_counter()
    with psycopg.connect(server.line["database"], autocommit=True) as owner:
        owner.execute("SELECT set_config('search_path', %s, false)", (f"{server.schema}, ext, pg_temp",))
        row = owner.execute("SELECT events, entities, pages, passages FROM counter").fetchone()
        assert row is not None
        numbers = dict(zip(("events", "entities", "pages", "passages"), row, strict=True))
        for copy in range(1, copies):
            with owner.transaction():
                for statement in _COPY.split(";\n"):
                    owner.execute(statement % {**numbers, "n": copy})
        owner.execute(_COUNTED.format(n=copies))
    print(f"grown {copies} times in {time.perf_counter() - began:.0f} s", flush=True)
