"""Conversations in several languages, and what is asked of them: how much of the evidence the text match finds by itself, and, asked in
other words, with the vectors of the packaged model."""

import statistics
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from service.db.scope import ProjectRef, SpaceRef
from service.embed.choose import make_provider
from service.embed.provider import EmbeddingProvider, Failed, vector_text
from service.search.parse import SearchSettings
from tests.conftest import Memory, Projects
from tests.integration.search.conftest import Ask, Embed, events


class Question(msgspec.Struct, frozen=True):
    q: str
    relevant: list[str]


class Conversation(msgspec.Struct, frozen=True):
    name: str
    events: list[dict[str, Any]]
    questions: list[Question]


class Packaged:
    """The packaged model as a search has it."""

    def __init__(self, model: EmbeddingProvider) -> None:
        self._model = model
        self.space = SpaceRef(0, "test", "vectors", model.space.dim)

    async def __call__(self, text: str) -> str:
        return vector_text(await self._model.embed_query(text))


CONVERSATIONS = {
    each.name: each
    for each in (
        msgspec.json.decode(line, type=Conversation) for line in Path(__file__).with_name("questions.jsonl").read_bytes().splitlines()
    )
}


@pytest_asyncio.fixture(loop_scope="session")
async def model() -> AsyncIterator[EmbeddingProvider]:
    made = make_provider("local")
    yield made
    await made.close()


@pytest.mark.parametrize(
    ("name", "recall", "first"),
    [
        ("German", 0.75, 0.62),
        ("Spanish", 0.9, 0.77),
        ("French", 0.9, 0.69),
        ("Chinese", 0.96, 0.83),
        ("Japanese", 0.96, 0.88),
        ("mixed", 0.92, 0.79),
        ("dates", 0.88, 0.69),
    ],
)
async def test_evidence_is_found(project: ProjectRef, memory: Memory, ask: Ask, name: str, recall: float, first: float) -> None:
    refs = await save(project, memory, name)
    found, ranks = await measure(project, ask, name, refs)
    assert found >= recall
    assert ranks >= first


async def test_what_is_asked_in_other_words_is_found_by_meaning(
    projects: Projects, memory: Memory, ask: Ask, model: EmbeddingProvider
) -> None:
    project = projects.make(dim=model.space.dim)
    refs = await save(project, memory, "commits")
    vectors = await model.embed_documents([event["summary"] for event in CONVERSATIONS["commits"].events])
    await memory.vectors(project, {key: vector for key, vector in zip(refs, vectors, strict=True) if not isinstance(vector, Failed)})
    embed = Packaged(model)
    words, _ = await measure(project, ask, "commits", refs)
    found, first = await measure(project, ask, "commits", refs, embed=embed)
    _, never = await measure(project, ask, "commits", refs, embed=embed, settings=SearchSettings(vector_lead=1.0))
    assert found >= max(0.9, words)
    assert first >= 0.75
    assert first > never


async def save(project: ProjectRef, memory: Memory, name: str) -> dict[str, str]:
    """Stores a conversation; gives the ref of each event."""
    conversation = CONVERSATIONS[name]
    given = [{key: value for key, value in event.items() if key != "ref"} for event in conversation.events]
    return dict(zip(await memory.save(project, given), (event["ref"] for event in conversation.events), strict=True))


async def measure(
    project: ProjectRef, ask: Ask, name: str, refs: dict[str, str], embed: Embed = None, settings: SearchSettings | None = None
) -> tuple[float, float]:
    """Recall among the first ten, and the mean reciprocal rank."""
    found: list[float] = []
    ranks: list[float] = []
    for question in CONVERSATIONS[name].questions:
        ranked = [refs[number] for number in events(await ask(project, question.q, limit=50, embed=embed, settings=settings))]
        wanted = set(question.relevant)
        found.append(len(wanted & set(ranked[:10])) / len(wanted))
        ranks.append(max((1 / rank for rank, ref in enumerate(ranked, 1) if ref in wanted), default=0.0))
    return statistics.fmean(found), statistics.fmean(ranks)
