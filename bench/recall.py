"""What the vector index finds of what is nearest, with real vectors: recall at 20, unfiltered.

In: a file of conversations as `retrieval` takes it. Its turns are put together in pairs, so that there are enough texts for an index, and
the local model embeds them. Out: of the 20 events that measuring every vector puts first, how many the index puts there, for all questions.
"""

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.inside import find_project, open_rooms
from bench.retrieval import MIXES, Conversation
from bench.running import Running, await_indexes, await_vectors, running
from service.db.scope import ProjectRef
from service.operations.operation import Services
from service.search.parse import SearchRequest, SearchSettings
from service.search.run import memory_query

FIRST = 20
_ABOVE = SearchSettings().exact_vectors
_SHORT = 240  # characters of a turn, so that two make a summary


def run(file: Path, events: int = 30_000) -> None:
    """Prints the recall and what stands behind it."""
    conversations = [msgspec.json.decode(line, type=Conversation) for line in file.read_bytes().splitlines() if line.strip()]
    turns = [event["summary"][:_SHORT] for each in conversations for event in each.events]
    questions = [question.q for each in conversations for question in each.questions]
    above = min(_ABOVE, events // 2)  # fewer texts have an index as well
    chance = random.Random(13)
    with (
        tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder,
        running(Path(folder) / "data", MUNIMENT_EXACT_CANDIDATES=str(above)) as server,
    ):
        for first in range(0, events, 500):
            pairs = [{"summary": " ".join(chance.sample(turns, 2))} for _ in range(min(500, events - first))]
            server.post(f"{server.base}/events:batch", {"events": pairs})
        print(
            f"{events:,} texts embedded in {await_vectors(server):.0f} s, index built in {await_indexes(server, above):.0f} s", flush=True
        )
        asyncio.run(_compare(server, questions, above))


async def _compare(server: Running, questions: Sequence[str], above: int) -> None:
    async with open_rooms(server) as services:
        project, _ = await find_project(server, services.database, server.line["project"])
        shares: list[float] = []
        taken = {True: 0.0, False: 0.0}
        for question in questions:
            found: dict[bool, list[str]] = {}
            for exact in (True, False):
                began = time.perf_counter()
                found[exact] = await _nearest(services, project, question, 10**9 if exact else above)
                taken[exact] += time.perf_counter() - began
            shares.append(len(set(found[True]) & set(found[False])) / FIRST)
    print(f"recall at {FIRST}: {statistics.fmean(shares):.4f}, at worst {min(shares):.2f} (n={len(shares)})")
    print(f"a call took {taken[False] / taken[True]:.2f} of what measuring takes")


async def _nearest(services: Services, project: ProjectRef, question: str, measured: int) -> list[str]:
    mix = msgspec.structs.replace(MIXES["vectors alone"], exact_vectors=measured, embed_ms=60_000)
    request = SearchRequest(query=question, limit=FIRST)
    answer = await memory_query(services.database, [project], request, embedders=[services.embedder], settings=mix)
    assert "vector" in answer.streams_active
    assert not answer.truncated
    return [hit.id for hit in answer.raw_hits]
