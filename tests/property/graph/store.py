"""Puts a graph into a project in place of the one before."""

from typing import Any

from service.db.pools import Database
from service.db.scope import ProjectRef
from tests.property.graph.model import Graph
from tests.property.graph.values import fold

INSERTS = (
    ('event (id, summary, "timestamp")', ("bigint", "text", "timestamptz")),
    ("entity (id, name, type, folded)", ("bigint", "text", "text", "text")),
    ("tag (id, path, leaf, folded)", ("bigint", "text", "text", "text")),
    ('participation (event_id, entity_id, "timestamp")', ("bigint", "bigint", "timestamptz")),
    ('membership (event_id, tag_id, kind, "timestamp")', ("bigint", "bigint", "text", "timestamptz")),
    ("next_link (from_id, to_id, source)", ("bigint", "bigint", "text")),
    ("resolution (plan_id, evidence_id, asserted_at, revoked_at)", ("bigint", "bigint", "timestamptz", "timestamptz")),
    ("alias (a_id, b_id, confidence)", ("bigint", "bigint", "real")),
    ("passage (id, event_id, number, text, words, length)", ("bigint", "bigint", "integer", "text", "tsvector", "integer")),
    ("vector_0 (passage_id, kind, owner_id, text_hash, vector)", ("bigint", "smallint", "bigint", "bigint", "halfvec")),
)


async def store(database: Database, project: ProjectRef, graph: Graph) -> None:
    async with database.write(project) as tx:
        for table in ("event", "entity", "tag"):
            await tx.execute(f"DELETE FROM m_0.{table}")
        for (target, types), rows in zip(INSERTS, tables(graph), strict=True):
            casts = ", ".join(f"u.c{i}::{kind}" for i, kind in enumerate(types))
            names = ", ".join(f"c{i}" for i in range(len(types)))
            arrays = ", ".join(f"${i}::{'text' if kind in ('tsvector', 'halfvec') else kind}[]" for i, kind in enumerate(types, 1))
            columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in types]
            await tx.fetch(f"INSERT INTO m_0.{target} SELECT {casts} FROM unnest({arrays}) AS u ({names})", *columns)


def tables(graph: Graph) -> list[list[tuple[Any, ...]]]:
    """The rows of each table in the order of `INSERTS`."""
    times = graph.times
    return [
        [(n, f"event {n}", times[n - 1]) for n in graph.events],
        [(n, name, kind, fold(name)) for n, (name, kind) in enumerate(graph.entities, 1)],
        [(n, path, path.rsplit("/", 1)[-1], fold(path)) for n, path in enumerate(graph.tags, 1)],
        [(event, entity, times[event - 1]) for event, entity in graph.participation],
        [(event, tag, kind, times[event - 1]) for event, tag, kind in graph.membership],
        list(graph.next),
        [(plan, evidence, at, at if revoked else None) for plan, evidence, at, revoked in graph.resolution],
        list(graph.alias),
        [(n, n, 0, "x", "", 1) for n in graph.events],
        [(n, 0, n, 0, str(list(vector))) for n, vector in graph.vectors.items()],
    ]
