"""Reranking: where a judge of query and text may change the order of the first hits.

In: the fused order and what a `Reranker` says of its first texts. Out: the new order with scores; the old one, and a note, when the
judge fails, is late or says something that cannot be.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from service.errors import MunimentError

LATE: Final = "gave no answer in time"
FAILED: Final = "failed"
UNUSABLE: Final = "gave an answer that cannot be used"
BUSY: Final = "is busy with other searches"
RESTING: Final = "failed several times and is left alone for a while"


class NoJudgement(Exception):
    """A reranker gives no scores; its text goes on from the reranker's name, in our own words."""


class Reranker(Protocol):
    """Judges how well texts answer a query."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    async def judge(self, query: str, texts: Sequence[str]) -> Sequence[tuple[int, float]]:
        """For each text its place in `texts` and a score from 0 to 1; raises `NoJudgement` when it cannot."""
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
        return _unchanged(reranker, LATE)
    except NoJudgement as error:
        return _unchanged(reranker, str(error))
    except (MunimentError, OSError, ValueError):
        return _unchanged(reranker, FAILED)
    scores = read_scores(said, len(texts))
    if scores is None:
        return _unchanged(reranker, UNUSABLE)
    order = sorted(scores, key=lambda place: (-scores[place], place))
    return Judged(tuple(order), tuple(scores[place] for place in range(len(texts))))


def read_scores(said: object, texts: int) -> dict[int, float] | None:
    """The score of each text by its place; None unless every text has exactly one, from 0 to 1."""
    try:
        pairs = msgspec.convert(said, list[tuple[int, float]])
    except msgspec.ValidationError:
        return None
    scores = dict(pairs)
    complete = len(pairs) == texts and sorted(scores) == list(range(texts))
    return scores if complete and all(0 <= score <= 1 for score in scores.values()) else None


def _unchanged(reranker: Reranker, what: str) -> Judged:
    return Judged((), (), f"Not reranked: {reranker.provider} ({reranker.model}) {what}; the fused order stands.")
