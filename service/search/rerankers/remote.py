"""What rerankers over HTTP have in common: a bounded number of calls at a time, clipped texts, errors in our own words.

In: a query and texts. Out: pairs of place and score as the provider gave them, or `NoJudgement`.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

import msgspec

from service.remote import Endpoint, Remote, RemoteError, Retries
from service.search.rerank import BUSY, FAILED, LATE, UNUSABLE, NoJudgement

_CLIP: Final = 2_000  # characters of a text that are judged


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
        self._running = 0
        self._form = 0

    @abstractmethod
    def forms(self, query: str, texts: Sequence[str]) -> Sequence[Mapping[str, object]]:
        """The request, in each form that servers of this kind want; the one that a server takes is kept."""

    @abstractmethod
    def read(self, reply: bytes) -> list[tuple[int, float]]:
        """The pairs of a reply. Raises `ValueError` for anything else."""

    async def judge(self, query: str, texts: Sequence[str]) -> Sequence[tuple[int, float]]:
        """For each text its place and a score; raises `NoJudgement`, at once when as many calls run as may."""
        if self._running >= self._options.in_flight:
            raise NoJudgement(BUSY)
        self._running += 1
        try:
            return self.read(await self._ask(query, [_clip(text) for text in texts]))
        except RemoteError as error:
            raise NoJudgement(LATE if error.kind == "timeout" else FAILED) from None
        except ValueError:
            raise NoJudgement(UNUSABLE) from None
        finally:
            self._running -= 1

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
        raise NoJudgement(FAILED)


def _clip(text: str) -> str:
    return text[:_CLIP].encode("utf-8", "replace").decode()
