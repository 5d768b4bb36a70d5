"""Clustered vectors with a fixed seed, put in place of the model's where only speed is measured."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg

from bench.running import Running

CLUSTERS = 300
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_PIECE = 50_000
_DUE = """
SELECT p.id, CASE WHEN p.page_id IS NOT NULL THEN 2 WHEN p.number = 0 THEN 0 ELSE 1 END, coalesce(p.event_id, p.page_id), p.text_hash
FROM passage AS p LEFT JOIN {table} AS v ON v.passage_id = p.id WHERE v.passage_id IS NULL ORDER BY p.id LIMIT %s
"""
# The worker looks at the project when it next starts.
_MARK = """
INSERT INTO control.due AS d (project_id, saves) VALUES (%s, 1) ON CONFLICT (project_id) DO UPDATE SET saves = d.saves + 1, next_at = now()
"""
_INDEXES = """
SELECT x.indexrelid::regclass::text FROM pg_index AS x JOIN pg_class AS c ON c.oid = x.indexrelid JOIN pg_am AS m ON m.oid = c.relam
WHERE x.indrelid = %s::regclass AND m.amname = 'hnsw'
"""


def store_vectors(server: Running, dim: int = 384) -> int:
    """Gives every passage without a vector one near one of 300 centres; gives their number.

    Vector indexes go, since filling one row by row takes hours: the worker builds them again.
    """
    chance = np.random.default_rng(11)
    centres = chance.standard_normal((CLUSTERS, dim), dtype=np.float32)
    schema, stored = server.schema, 0
    with psycopg.connect(server.line["database"], autocommit=True) as owner:
        owner.execute("SELECT set_config('search_path', %s, false)", (f"{schema}, ext, pg_temp",))
        space = owner.execute("SELECT id FROM space WHERE current").fetchone()
        assert space is not None
        table = f"vector_{space[0]}"
        for (index,) in owner.execute(_INDEXES, (table,)).fetchall():
            owner.execute(f"DROP INDEX {index}")
        while due := owner.execute(_DUE.format(table=table), (_PIECE,)).fetchall():
            noise = np.float32(0.7) * chance.standard_normal((len(due), dim), dtype=np.float32)
            copy_vectors(owner, table, due, centres[chance.integers(CLUSTERS, size=len(due))] + noise)
            stored += len(due)
        owner.execute(_MARK, (int(schema.removeprefix("m_")),))
        for name in ("event", "participation", "membership", "passage", "entity", "lexeme", "page", "next_link", table):
            owner.execute(f"VACUUM (ANALYZE) {schema}.{name}")
    return stored


def copy_vectors(owner: "psycopg.Connection[Any]", table: str, passages: Sequence[tuple[int, int, int, int]], vectors: Any) -> None:
    """Writes vectors, brought to length one, in COPY's binary form; of each passage its id, kind, owner and the hash of its text."""
    dim = vectors.shape[1]
    sizes: list[tuple[Any, ...]] = [("fields", ">i2")]
    for name, kind in (("passage", ">i8"), ("kind", ">i2"), ("owner", ">i8"), ("hash", ">i8")):
        sizes += [(f"{name}_length", ">i4"), (name, kind)]
    rows = np.zeros(
        len(passages), np.dtype([*sizes, ("vector_length", ">i4"), ("dim", ">i2"), ("unused", ">i2"), ("vector", ">f2", (dim,))])
    )
    rows["fields"], rows["dim"], rows["vector_length"] = 5, dim, 4 + 2 * dim
    rows["passage_length"] = rows["owner_length"] = rows["hash_length"] = 8
    rows["kind_length"] = 2
    for name, column in zip(("passage", "kind", "owner", "hash"), zip(*passages, strict=True), strict=True):
        rows[name] = column
    rows["vector"] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    with owner.cursor().copy(f"COPY {table} (passage_id, kind, owner_id, text_hash, vector) FROM STDIN (FORMAT binary)") as copy:
        copy.write(_SIGNATURE + rows.tobytes() + b"\xff\xff")
