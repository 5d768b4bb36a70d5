"""What the metrics say of embeddings."""

import re

import pytest

from service.db.owner import OwnerDatabase
from service.db.scope import ProjectRef
from service.embed.backfill import Backfill
from service.embed.provider import EmbeddingUnavailable, Vector
from service.embed.query import QueryEmbedder
from service.embed.query_cache import QueryCache
from service.observe.embedding import hide_totals, show_totals
from service.observe.metrics import render_metrics
from tests.conftest import Memory
from tests.integration.embed.conftest import Meanings
from tests.integration.embed.test_backfill import Letters


def figure(name: str, **labels: str) -> float:
    told = ",".join(f'{label}="{value}"' for label, value in sorted(labels.items()))
    pattern = rf"^{name}{re.escape('{' + told + '}') if told else ''} (\S+)$"
    found = re.search(pattern, render_metrics().decode(), re.MULTILINE)
    return float(found[1]) if found else 0.0


async def totals(memory: Memory) -> dict[str, float]:
    (row,) = await memory.database.control("embedding_totals")
    show_totals(**row)
    return {state: figure("muniment_embedding_passages", state=state) for state in ("pending", "embedded", "failed")}


async def drain(backfill: Backfill, owner: OwnerDatabase) -> None:
    await owner.fetch("UPDATE control.due SET next_at = now()")
    while (await backfill.run_round()).more:
        pass


async def test_passages_are_counted_by_what_became_of_them(memory: Memory, mine: ProjectRef, owner: OwnerDatabase) -> None:
    backfill = Backfill(owner, Letters())
    await drain(backfill, owner)
    await owner.fetch("DELETE FROM control.due")  # what other tests left, and would be tried again meanwhile
    before = await totals(memory)
    done = {outcome: figure("muniment_embedded_passages_total", provider="test", outcome=outcome) for outcome in ("embedded", "failed")}
    await memory.save(mine, [{"summary": "poison"}, *({"summary": f"event {n}"} for n in range(9))])
    await totals(memory)
    assert figure("muniment_embedding_due_projects") >= 1
    await drain(backfill, owner)
    after = await totals(memory)
    assert after["embedded"] - before["embedded"] == 9
    assert after["pending"] - before["pending"] == 1
    for _ in range(4):
        await owner.fetch("UPDATE m_0.embed_failure SET retry_at = now()", project=mine.project_id)
        await drain(backfill, owner)
    given_up = await totals(memory)
    assert (given_up["failed"] - before["failed"], given_up["pending"] - before["pending"]) == (1, 0)
    assert figure("muniment_embedded_passages_total", provider="test", outcome="embedded") - done["embedded"] == 9
    assert figure("muniment_embedded_passages_total", provider="test", outcome="failed") - done["failed"] == 5
    assert figure("muniment_embedding_batch_seconds_count", provider="test") >= 1


async def test_what_is_not_known_is_not_told() -> None:
    show_totals(passages=3, embedded=1, failed=1, due_projects=2, overdue_s=0.5)
    assert figure("muniment_embedding_passages", state="pending") == 1
    hide_totals()
    told = render_metrics().decode()
    assert "muniment_embedding_passages{" not in told
    assert "muniment_embedding_due_projects NaN" in told


async def test_failures_are_counted_by_provider_purpose_and_reason(memory: Memory, mine: ProjectRef, owner: OwnerDatabase) -> None:
    class Away(Letters):
        async def embed_query(self, text: str) -> Vector:
            raise EmbeddingUnavailable(self.space, "timeout")

    provider = Away()
    provider.away = True
    await memory.save(mine, [{"summary": "one"}])
    labels = {"provider": "test", "purpose": "documents", "reason": "unavailable"}
    before = figure("muniment_embedding_errors_total", **labels)
    await drain(Backfill(owner, provider), owner)
    assert figure("muniment_embedding_errors_total", **labels) > before
    labels = {"provider": "test", "purpose": "query", "reason": "timeout"}
    before = figure("muniment_embedding_errors_total", **labels)
    with pytest.raises(EmbeddingUnavailable):
        await QueryEmbedder(provider, QueryCache(), 5.0)("a question")
    assert figure("muniment_embedding_errors_total", **labels) == before + 1


async def test_queries_are_counted_when_they_are_made_and_not_when_they_are_remembered(meanings: Meanings) -> None:
    embedder = QueryEmbedder(meanings.model, QueryCache(), 10.0)
    before = figure("muniment_embedding_query_seconds_count", provider="local")
    for _ in range(3):
        await embedder("one and the same")
    assert figure("muniment_embedding_query_seconds_count", provider="local") == before + 1
