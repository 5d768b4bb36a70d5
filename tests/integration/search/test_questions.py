"""Conversations in several languages, and what is asked of them: how much of the evidence the text match finds by itself."""

import statistics
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.db.scope import ProjectRef
from tests.conftest import Memory
from tests.integration.search.conftest import Ask, events


class Question(msgspec.Struct, frozen=True):
    q: str
    relevant: list[str]


class Conversation(msgspec.Struct, frozen=True):
    name: str
    events: list[dict[str, Any]]
    questions: list[Question]


CONVERSATIONS = {
    each.name: each
    for each in (
        msgspec.json.decode(line, type=Conversation) for line in Path(__file__).with_name("questions.jsonl").read_bytes().splitlines()
    )
}


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
    conversation = CONVERSATIONS[name]
    given = [{key: value for key, value in event.items() if key != "ref"} for event in conversation.events]
    refs = dict(zip(await memory.save(project, given), (event["ref"] for event in conversation.events), strict=True))
    found: list[float] = []
    ranks: list[float] = []
    for question in conversation.questions:
        ranked = [refs[number] for number in events(await ask(project, question.q, limit=50))]
        wanted = set(question.relevant)
        found.append(len(wanted & set(ranked[:10])) / len(wanted))
        ranks.append(max((1 / rank for rank, ref in enumerate(ranked, 1) if ref in wanted), default=0.0))
    assert statistics.fmean(found) >= recall
    assert statistics.fmean(ranks) >= first
