"""A graph of the size that the targets name, put straight into a project's tables.

In: a server, a project, how many copies of the same graph. Out: `Graph`: its edges, names and head vectors. 100,000 events, 20,000
entities whose degrees follow Zipf's law, 400,000 participations, threads of forty events, vectors around 300 centres. Copies share
nothing, so every event and entity keeps its degree, and every vector those around it: only the size of the project grows.
"""

import time
from typing import Any

import msgspec
import numpy as np
import psycopg

from bench.running import Running
from bench.vectors import CLUSTERS, copy_vectors
from service.db.queries import load
from service.db.transaction import bind_schema

EVENTS, ENTITIES, PARTICIPATIONS, DIM = 100_000, 20_000, 400_000, 384

# Participation and passage keep their counts by triggers, one statement each.
_ROWS = f"""
INSERT INTO session (name, uuid) SELECT 'thread ' || n, gen_random_uuid() FROM generate_series(0, %(events)s / 40) AS n;
INSERT INTO event (id, session, summary, "timestamp")
SELECT n, 'thread ' || n / 40, 'What was said as number ' || n || ' of a long thread, and a few words about why it matters',
    timestamptz '2020-01-01Z' + n * interval '3 minutes'
FROM generate_series(1, %(events)s) AS n;
INSERT INTO entity (id, name, type, folded) SELECT n, 'Name ' || n, 'name', 'name ' || n FROM generate_series(1, %(entities)s) AS n;
INSERT INTO participation (event_id, entity_id, "timestamp")
SELECT f.event_id + c * {EVENTS}, f.entity_id + c * {ENTITIES},
    timestamptz '2020-01-01Z' + (f.event_id + c * {EVENTS}) * interval '3 minutes'
FROM generate_series(0, %(copies)s - 1) AS c CROSS JOIN fresh_edge AS f ORDER BY 1, 2;
INSERT INTO next_link (from_id, to_id, source) SELECT n, n + 1, 'thread'
FROM generate_series(1, %(events)s - 1) AS n WHERE n / 40 = (n + 1) / 40;
INSERT INTO next_link (from_id, to_id, source) SELECT n, n + 3, 'topic_segment' FROM generate_series(1, %(events)s - 3, 3) AS n;
INSERT INTO passage (id, event_id, number, text, words, length) SELECT id, id, 0, summary, '', 0 FROM event;
UPDATE counter SET events = %(events)s, entities = %(entities)s, passages = %(events)s;
UPDATE space SET done_through = %(events)s, head_count = %(events)s, piece_count = 0, page_count = 0, counted_at = now() WHERE current;
DELETE FROM control.due;
"""


class Graph(msgspec.Struct, frozen=True):
    """Where it is, and the numbers of its edges: event and entity, both from 1."""

    project: str
    schema: str
    space: int
    copies: int
    edges: Any
    vectors: Any

    def name(self, entity: int) -> str:
        """An entity's name; those with low numbers take part in the most events."""
        return f"Name {entity}"

    def vector(self, number: int) -> str:
        """The vector of a question that lies near event `number`."""
        chance = np.random.default_rng(number)
        near = self.vectors[number - 1].astype(np.float32) + 0.02 * chance.standard_normal(DIM)
        return "[" + ",".join(f"{x:.5g}" for x in near / np.linalg.norm(near)) + "]"


def build(server: Running, project: str, copies: int = 1, *, index: bool = True) -> Graph:
    """Fills a project that is empty, with its statistics and its vector index."""
    began = time.perf_counter()
    edges, vectors = _edges(), _vectors()
    with psycopg.connect(server.line["database"], autocommit=True) as owner:
        row = owner.execute("SELECT 'm_' || id FROM control.project WHERE slug = %s", (project,)).fetchone()
        assert row is not None
        owner.execute("SELECT set_config('search_path', %s, false)", (f"{row[0]}, ext, pg_temp",))
        space = owner.execute("SELECT id FROM space WHERE current").fetchone()
        assert space is not None
        graph = Graph(project, row[0], space[0], copies, edges, vectors)
        owner.execute("CREATE TEMP TABLE fresh_edge (event_id bigint, entity_id bigint)")
        with owner.cursor().copy("COPY fresh_edge FROM STDIN") as copy:
            copy.write("".join(f"{event}\t{entity}\n" for event, entity in edges.tolist()))
        sizes = {"events": EVENTS * copies, "entities": ENTITIES * copies, "copies": copies}
        with owner.transaction():
            for statement in _ROWS.split(";\n"):
                if statement.strip():
                    owner.execute(statement, sizes if "%(" in statement else None)
        _store(owner, graph)
        if index:
            _index(owner, graph)
        for name in ("event", "participation", "passage", "entity", "next_link", f"vector_{graph.space}"):
            owner.execute(f"VACUUM (ANALYZE) {graph.schema}.{name}")
    print(f"{project}: {EVENTS * copies:,} events made in {time.perf_counter() - began:.0f} s")
    return graph


def _edges() -> Any:
    """Distinct pairs; the entity of rank n is drawn with weight 1/n."""
    chance = np.random.default_rng(5)
    weights = 1 / np.arange(1, ENTITIES + 1)
    sums = np.cumsum(weights / weights.sum())
    drawn = np.searchsorted(sums, chance.random(2 * PARTICIPATIONS)).clip(max=ENTITIES - 1) + 1
    numbers = np.unique(chance.integers(1, EVENTS + 1, drawn.size) * (ENTITIES + 1) + drawn)
    kept = np.sort(chance.choice(numbers, PARTICIPATIONS, replace=False))
    return np.stack(np.divmod(kept, ENTITIES + 1), axis=1)


def _vectors() -> Any:
    chance = np.random.default_rng(11)
    centres = chance.standard_normal((CLUSTERS, DIM), dtype=np.float32)
    found = centres[chance.integers(CLUSTERS, size=EVENTS)] + np.float32(0.7) * chance.standard_normal((EVENTS, DIM), dtype=np.float32)
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float16)


def _store(owner: "psycopg.Connection[Any]", graph: Graph) -> None:
    """Writes the head vectors, each copy mirrored in its own way: within it all lies as it did, and no copy is near another."""
    chance = np.random.default_rng(13)
    for number in range(graph.copies):
        first = number * EVENTS
        passages = owner.execute(
            "SELECT id, 0, event_id, text_hash FROM passage WHERE id > %s AND id <= %s ORDER BY id", (first, first + EVENTS)
        ).fetchall()
        mirror = chance.choice(np.array([-1, 1], dtype=np.float32), DIM) if number else 1
        copy_vectors(owner, f"vector_{graph.space}", passages, graph.vectors.astype(np.float32) * mirror)


def _index(owner: "psycopg.Connection[Any]", graph: Graph) -> None:
    owner.execute("SELECT set_config('maintenance_work_mem', %s, false)", (f"{400 * graph.copies}MB",))
    owner.execute(bind_schema(load("project", "index")["create_index_0"].sql, graph.schema, graph.space).encode())
