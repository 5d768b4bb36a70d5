"""How well search finds: recall of evidence on conversations with questions.

In: a JSON Lines file; each line is a conversation: `name`, `events` (`ref`, `summary`, `session`, `timestamp`, in order) and
`questions` (`q`, `relevant`: refs of the events that hold the evidence). Each conversation is imported as a project of its own,
embedded by the local model, and asked. Out: recall among the first 10 and 5 events, MRR, and whether an event of the right session
is among the first 5 sessions; for the fused ranking and for each stream alone.
"""

import asyncio
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.inside import open_rooms
from bench.running import Running, await_vectors, running
from service.db.scope import ProjectRef
from service.operations.operation import Services
from service.search.parse import SearchRequest, SearchSettings
from service.search.run import memory_query
from service.surface.cli.greeting import own_caller

_ONLY = {"fts_weight": 0.0, "entity_weight": 0.0, "graph_weight": 0.0, "vector_weight": 0.0}
MIXES: dict[str, SearchSettings] = {
    "fused": SearchSettings(),
    "words alone": SearchSettings(**{**_ONLY, "fts_weight": 1.0}),
    "words alone, no neighbours": SearchSettings(**{**_ONLY, "fts_weight": 1.0}, neighbour=0.0),
    "names alone": SearchSettings(**{**_ONLY, "entity_weight": 1.0}),
    "vectors alone": SearchSettings(**{**_ONLY, "vector_weight": 1.0}),
    "words and vectors": SearchSettings(graph_weight=0.0, entity_weight=0.0),
}


class Question(msgspec.Struct, frozen=True):
    """A question and the refs of its evidence."""

    q: str
    relevant: list[str]


class Conversation(msgspec.Struct, frozen=True):
    """What is imported as one project, and what is asked of it."""

    name: str
    events: list[dict[str, Any]]
    questions: list[Question]


class Score(msgspec.Struct, frozen=True):
    """One question: recall at 10 and 5, reciprocal rank of the first evidence, whether its session is among the first five."""

    r10: float
    r5: float
    mrr: float
    session: float


def run(file: Path) -> None:
    """Prints a table of the mixes."""
    conversations = [msgspec.json.decode(line, type=Conversation) for line in file.read_bytes().splitlines() if line.strip()]
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder, running(Path(folder) / "data") as server:
        refs = [_import(server, number, conversation) for number, conversation in enumerate(conversations)]
        asyncio.run(_ask(server, conversations, refs))


def _import(server: Running, number: int, conversation: Conversation) -> dict[str, str]:
    """Imports one conversation; gives the ref of each event id."""
    workspace, project = server.line["workspace"], f"c{number}"
    server.post(f"/workspaces/{workspace}/projects", {"slug": project})
    server.base = f"/workspaces/{workspace}/projects/{project}"
    refs: dict[str, str] = {}
    for first in range(0, len(conversation.events), 200):
        part = conversation.events[first : first + 200]
        lines = [{key: event[key] for key in ("summary", "session", "timestamp") if event.get(key)} for event in part]
        results = server.post(f"{server.base}/events:batch", {"events": [_fitted(line) for line in lines]})["results"]
        refs |= {result["id"]: event["ref"] for result, event in zip(results, part, strict=True)}
    await_vectors(server)
    return refs


def _fitted(line: dict[str, Any]) -> dict[str, Any]:
    """A turn longer than a summary keeps its whole text as content."""
    return line if len(line["summary"]) <= 500 else {**line, "summary": line["summary"][:499] + "…", "content": line["summary"]}


async def _ask(server: Running, conversations: Sequence[Conversation], refs: Sequence[dict[str, str]]) -> None:
    async with open_rooms(server) as services:
        caller = await own_caller(server.line["key"], services)
        projects = [await services.scopes.one(caller, None, f"c{number}") for number in range(len(conversations))]
        print(f"{'':28}  R@10   R@5    MRR   session@5")
        for name, mix in MIXES.items():
            scores = [
                await _score(services, projects[n], question, refs[n], mix)
                for n, each in enumerate(conversations)
                for question in each.questions
            ]
            means = [statistics.fmean(getattr(score, field) for score in scores) for field in Score.__struct_fields__]
            print(f"{name:28}" + "".join(f"  {mean:.3f}" for mean in means) + f"   (n={len(scores)})")


async def _score(services: Services, project: ProjectRef, question: Question, refs: dict[str, str], mix: SearchSettings) -> Score:
    answer = await memory_query(
        services.database, [project], SearchRequest(query=question.q, limit=100), embedders=[services.embedder], settings=mix
    )
    ranked = [refs[hit.id] for hit in answer.raw_hits]
    wanted = set(question.relevant)
    first = next((rank for rank, ref in enumerate(ranked, 1) if ref in wanted), None)
    sessions = list(dict.fromkeys(hit.session for hit in answer.raw_hits))[:5]
    right = {hit.session for hit in answer.raw_hits if refs[hit.id] in wanted}
    return Score(
        r10=len(wanted & set(ranked[:10])) / len(wanted),
        r5=len(wanted & set(ranked[:5])) / len(wanted),
        mrr=1 / first if first else 0.0,
        session=float(bool(right & set(sessions))),
    )
