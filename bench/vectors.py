"""Clustered vectors with a fixed seed, put in place of the model's where only speed is measured."""

import numpy as np
import psycopg

from bench.running import Running

CLUSTERS = 300


def store_vectors(server: Running, dim: int = 384) -> int:
    """Gives every passage without a vector one near one of 300 centres; gives their number."""
    chance = np.random.default_rng(11)
    centres = chance.standard_normal((CLUSTERS, dim))
    schema = server.schema
    with psycopg.connect(server.line["database"], autocommit=True) as owner:
        owner.execute("SELECT set_config('search_path', %s, false)", (f"{schema}, ext, pg_temp",))
        space = owner.execute("SELECT id FROM space WHERE current").fetchone()
        assert space is not None
        table = f"vector_{space[0]}"
        due = owner.execute(
            "SELECT p.id, CASE WHEN p.page_id IS NOT NULL THEN 2 WHEN p.number = 0 THEN 0 ELSE 1 END, "
            "coalesce(p.event_id, p.page_id), p.text_hash "
            f"FROM passage p LEFT JOIN {table} v ON v.passage_id = p.id WHERE v.passage_id IS NULL ORDER BY p.id"
        ).fetchall()
        with owner.cursor().copy(f"COPY {table} (passage_id, kind, owner_id, text_hash, vector) FROM STDIN") as copy:
            for passage, kind, owned, text_hash in due:
                vector = centres[chance.integers(CLUSTERS)] + 0.7 * chance.standard_normal(dim)
                vector /= np.linalg.norm(vector)
                copy.write_row((passage, kind, owned, text_hash, "[" + ",".join(f"{x:.4g}" for x in vector) + "]"))
        owner.execute("UPDATE control.due SET saves = saves + 1, next_at = now()")  # the worker looks at them when it next starts
        for name in ("event", "participation", "membership", "passage", "entity", "lexeme", "page", "next_link", table):
            owner.execute(f"VACUUM (ANALYZE) {schema}.{name}")
    return len(due)
