"""Reranking: where a judge of query and text may change the order of the first hits.

In: the fused order and what a `Reranker` says of its first texts. Out: the new order with scores; the old one, and a note, when the
judge fails, is late or says something that cannot be.
"""

import asyncio
import math
from collections.abc import Sequence
from typing import Protocol

import msgspec

from service.errors import MunimentError


class Reranker(Protocol):
    """Judges how well texts answer a query."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    async def judge(self, query: str, texts: Sequence[str]) -> Sequence[tuple[int, float]]:
        """For each text its place in `texts` and a score from 0 to 1; raises `MunimentError` when it cannot."""
        ...


class Judged(msgspec.Struct, frozen=True):
    """The order of the texts by place, the score of each, and what went wrong."""

    order: tuple[int, ...]
    scores: tuple[float, ...]
    note: str | None = None


async def rerank(reranker: Reranker, query: str, texts: Sequence[str], timeout_ms: int) -> Judged:
    """Best text first; equal scores keep their order."""
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            said = await reranker.judge(query, texts)
    except TimeoutError:
        return _unchanged(reranker, "gave no answer in time")
    except (MunimentError, OSError, ValueError):
        return _unchanged(reranker, "failed")
    scores = dict(said)
    complete = len(said) == len(texts) and sorted(scores) == list(range(len(texts)))
    if not complete or not all(math.isfinite(score) and 0 <= score <= 1 for score in scores.values()):
        return _unchanged(reranker, "gave an answer that cannot be used")
    order = sorted(scores, key=lambda place: (-scores[place], place))
    return Judged(tuple(order), tuple(scores[place] for place in range(len(texts))))


def _unchanged(reranker: Reranker, what: str) -> Judged:
    return Judged((), (), f"Not reranked: {reranker.provider} ({reranker.model}) {what}; the fused order stands.")
