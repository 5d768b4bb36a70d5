"""The main job: 20,000 events and 1,000 pages; search and recipe 5 over REST, each stage, and the same by hand-written SQL."""

import asyncio
import tempfile
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from bench.corpus import Corpus
from bench.inside import open_rooms
from bench.running import Running, await_indexes, await_vectors, fill, running
from bench.timing import measure, percentiles
from bench.vectors import store_vectors
from service.db.transaction import Tx
from service.operations.searching import MemoryQuery, QueryMemoryGraph, memory_query, query_memory_graph
from service.surface.cli.greeting import own_caller

RECIPE_5 = "START a = events(entity: $a, k: 200) MATCH (a)-[:PARTICIPATED_IN]-(n {name: $b}) RETURN DISTINCT a LIMIT 200"

# The best that we can write for recipe 5: 200 newest events of one name straight from the index, each probed for the other.
BY_HAND_5 = """
WITH one AS MATERIALIZED (SELECT id FROM entity WHERE name = %(a)s), two AS MATERIALIZED (SELECT id FROM entity WHERE name = %(b)s)
SELECT e.id, e.summary, e."timestamp" FROM (
    SELECT p.event_id, p."timestamp" FROM one JOIN participation p ON p.entity_id = one.id
    ORDER BY p."timestamp" DESC NULLS LAST, p.event_id DESC LIMIT 200
) s CROSS JOIN LATERAL (SELECT 1 FROM participation q JOIN two ON q.entity_id = two.id WHERE q.event_id = s.event_id LIMIT 1) hit
JOIN event e ON e.id = s.event_id ORDER BY s."timestamp" DESC NULLS LAST, s.event_id DESC LIMIT 200
"""

# Each stream's own best statement, one after another: what a careful person would run by hand, without fusing.
BY_HAND_VECTOR = """
SELECT owner_id, min(vector <=> (SELECT vector FROM {table} WHERE passage_id = %(id)s)) AS distance
FROM {table} GROUP BY kind = 2, owner_id ORDER BY distance LIMIT 400
"""


def run(events: int = 20_000, pages: int = 1_000, *, model: bool = False, questions: int = 60) -> None:
    """Prints the figures; with `model` the real one makes the vectors (some minutes), else they are clustered random ones."""
    corpus = Corpus(events, pages)
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder:
        with running(Path(folder) / "small", MUNIMENT_EMBEDDING_PROVIDER="none") as server:
            print(f"memory without a model: {server.memory_mb:.0f} MB")
        with running(Path(folder) / "data", MUNIMENT_WORKER_POLL_MS="500" if model else "3600000") as server:
            print({name: round(value) for name, value in fill(server, corpus).items()})
            if model:
                print(f"vectors after {await_vectors(server):.0f} s")
            print(f"{store_vectors(server)} vectors made up; memory {server.memory_mb:.0f} MB")
        with running(Path(folder) / "data") as server:
            await_indexes(server)
            _over_rest(server, corpus, questions)
            _by_hand(server, corpus, questions)
            asyncio.run(_stages(server, corpus, questions))
            print(f"memory with the model loaded, after all: {server.memory_mb:.0f} MB")


def _over_rest(server: Running, corpus: Corpus, questions: int) -> None:
    where = {"workspace": server.line["workspace"], "project": server.line["project"]}
    asked = [partial(server.post, "/search", {"query": text, **where}) for text in corpus.questions(questions)]
    print("memory_query over REST      ", measure(asked, 3))
    pairs = [{"a": a, "b": b} for a, b in corpus.name_pairs(questions)]
    walked = [partial(server.post, "/graph", {"query": RECIPE_5, "params": pair, **where}) for pair in pairs]
    print("recipe 5 over REST          ", measure(walked, 3))


def _by_hand(server: Running, corpus: Corpus, questions: int) -> None:
    with psycopg.connect(server.line["database"], autocommit=True, prepare_threshold=1) as owner:
        owner.execute("SELECT set_config('search_path', %s, false)", (f"{server.schema}, ext",))
        space = owner.execute("SELECT id FROM space WHERE current").fetchone()
        assert space is not None
        by_vector = BY_HAND_VECTOR.format(table=f"vector_{space[0]}")
        pairs = [{"a": a, "b": b} for a, b in corpus.name_pairs(questions)]
        print("recipe 5 by hand            ", measure([lambda p=p: owner.execute(BY_HAND_5, p).fetchall() for p in pairs], 3))
        ids = [{"id": n} for n in range(1, questions + 1)]
        print("exact vector scan by hand   ", measure([lambda p=p: owner.execute(by_vector, p).fetchall() for p in ids], 3))


async def _stages(server: Running, corpus: Corpus, questions: int) -> None:
    """The rooms in this process, each statement timed."""
    taken: dict[str, list[float]] = defaultdict(list)
    plain = Tx.fetch

    async def timed(self: Tx, sql: str, *args: Any, budget: Any = None) -> Any:
        started = time.perf_counter()
        try:
            return await plain(self, sql, *args, budget=budget)
        finally:
            taken[" ".join(sql.split())[:60]].append(time.perf_counter() - started)

    async with open_rooms(server) as services:
        caller = await own_caller(server.line["key"], services)
        project = server.line["project"]
        for text in corpus.questions(questions):
            await memory_query(services, caller, MemoryQuery(query=text, project=project))
        Tx.fetch = timed  # type: ignore[method-assign]
        whole: list[float] = []
        for text in corpus.questions(questions):
            started = time.perf_counter()
            await memory_query(services, caller, MemoryQuery(query=text, project=project))
            whole.append(time.perf_counter() - started)
        print("memory_query in the room    ", percentiles(whole))
        for name, seconds in taken.items():
            print(f"    {name:60}", percentiles(seconds))
        taken.clear()
        whole.clear()
        for a, b in corpus.name_pairs(questions) * 2:
            started = time.perf_counter()
            await query_memory_graph(services, caller, QueryMemoryGraph(query=RECIPE_5, params={"a": a, "b": b}, project=project))
            whole.append(time.perf_counter() - started)
        Tx.fetch = plain  # type: ignore[method-assign]
        print("recipe 5 in the room        ", percentiles(whole))
        for name, seconds in taken.items():
            print(f"    {name:60}", percentiles(seconds))
