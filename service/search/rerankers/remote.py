"""What rerankers over HTTP have in common: a bounded number of calls at a time, a breaker, clipped texts, errors in our own words.

In: a query and texts. Out: pairs of place and score as the provider gave them, or `NoJudgement`.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import msgspec

from service.embed.breaker import Breaker
from service.remote import Endpoint, Remote, RemoteError, Retries
from service.search.rerank import BUSY, FAILED, LATE, RESTING, UNUSABLE, NoJudgement, read_scores

_CLIP: Final = 2_000  # characters of a text that are judged
_NEARLY_ALL: Final = 0.9


class RerankOptions(msgspec.Struct, frozen=True):
    """Where a reranker is, what it may take, and how many calls there may be at a time."""

    endpoint: Endpoint
    model: str | None = None
    deadline_s: float = 20.0
    in_flight: int = 4
    retries: Retries = Retries(attempts=2)


class RemoteReranker(ABC):
    """A `Reranker`; the classes below say how their API asks and answers."""

    provider: str
    path: ClassVar[str]

    def __init__(self, options: RerankOptions) -> None:
        """Raises `InvalidSetting` for an address or a key that cannot be sent."""
        self.model = options.model or "default"
        self._options = options
        self._remote = Remote(options.endpoint, options.retries)
        self._breaker = Breaker()
        self._running = 0
        self._form = 0

    @abstractmethod
    def forms(self, query: str, texts: Sequence[str]) -> Sequence[Mapping[str, object]]:
        """The request, in each form that servers of this kind want; the one that a server takes is kept."""

    @abstractmethod
    def read(self, reply: bytes) -> list[tuple[int, float]]:
        """The pairs of a reply. Raises `ValueError` for anything else."""

    async def judge(self, query: str, texts: Sequence[str]) -> Sequence[tuple[int, float]]:
        """For each text its place and a score; raises `NoJudgement`, at once when as many calls run as may or the last ones failed."""
        if self._running >= self._options.in_flight:
            raise NoJudgement(BUSY)
        if not self._breaker.admits():
            raise NoJudgement(RESTING)
        self._running += 1
        try:
            return await self._judge(query, [_clip(text) for text in texts])
        finally:
            self._running -= 1

    async def _judge(self, query: str, texts: Sequence[str]) -> list[tuple[int, float]]:
        started = time.monotonic()
        try:
            pairs = self.read(await self._ask(query, texts))
            if read_scores(pairs, len(texts)) is None:
                raise ValueError("not a score for each text")
        except RemoteError as error:
            failure = LATE if error.kind == "timeout" else FAILED
        except ValueError:
            failure = UNUSABLE
        except asyncio.CancelledError:
            # A caller that leaves says nothing of the judge; one that waited for as long as the judge may take does.
            if time.monotonic() - started >= _NEARLY_ALL * self._options.deadline_s:
                self._breaker.failed()
            raise
        else:
            self._breaker.succeeded()
            return pairs
        self._breaker.failed()
        raise NoJudgement(failure)

    async def close(self) -> None:
        """Ends the connections."""
        await self._remote.close()

    async def _ask(self, query: str, texts: Sequence[str]) -> bytes:
        ends = time.monotonic() + self._options.deadline_s
        forms = self.forms(_clip(query), texts)
        for number in range(self._form, len(forms)):
            try:
                reply = await self._remote.post(self.path, forms[number], ends - time.monotonic())
            except RemoteError as error:
                if error.answered not in (400, 422) or number == len(forms) - 1:
                    raise
            else:
                self._form = number
                return reply
        raise AssertionError("there is a form")


def _clip(text: str) -> str:
    return text[:_CLIP].encode("utf-8", "replace").decode()
