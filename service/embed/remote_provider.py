"""What embedding providers have in common that are reached over HTTP: batches, pieces, and how one bad text fails alone.

In: texts. Out: their vectors, or `Failed` for each that the provider will not embed; `EmbeddingUnavailable` when it embeds none.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, Final, cast

import msgspec

from service.embed.breaker import Breaker
from service.embed.pieces import estimate_tokens, fit, halves, mean
from service.embed.provider import (
    SAID,
    Embedded,
    EmbeddingUnavailable,
    Failed,
    FailureReason,
    ProviderOptions,
    Space,
    Vector,
    checked,
)
from service.remote import MAY_CONCERN_THE_TEXT, Endpoint, Remote, RemoteError

MOST_DIM: Final = 16_000  # what pgvector stores
WINDOW: Final = 512
"""Tokens that a model reads of which nothing is known: those that read fewer say so, and get halves."""

_LEAST_PIECE: Final = 64  # characters; a model that finds them too long will not be asked with fewer
_KNOWN_GOOD: Final = "ok"


class Model(msgspec.Struct, frozen=True):
    """What is known of a model: the size of its vectors, the tokens it reads, whether it makes shorter vectors when asked."""

    dim: int
    window: int
    shortens: bool = False


class Job(msgspec.Struct, frozen=True):
    """What the texts of one call share: the prefix that goes before each, and when it must have ended (monotonic seconds)."""

    prefix: str
    ends: float


class Unusable(Exception):
    """An answer that concerns these texts and not the provider as a whole."""

    def __init__(self, reason: FailureReason, *, too_long: bool = False) -> None:
        super().__init__(reason)
        self.reason: FailureReason = reason
        self.too_long = too_long


class RemoteProvider(ABC):
    """An `EmbeddingProvider`; the classes below say how their API asks and answers."""

    name: ClassVar[str]
    default_url: ClassVar[str]
    default_model: ClassVar[str]
    path: ClassVar[str]
    models: ClassVar[Mapping[str, Model]]

    available = True

    def __init__(self, options: ProviderOptions) -> None:
        """Asks for one vector, to learn its size, when neither the options nor we know it; then raises `EmbeddingUnavailable`."""
        self._options = options
        self._model = options.model or self.default_model
        known = self.models.get(self._model)
        self.window = options.window or (known.window if known else WINDOW)
        self._shortened = options.dim if known and known.shortens and options.dim != known.dim else None
        self._endpoint = Endpoint(options.url or self.default_url, options.key)
        self._remote = Remote(self._endpoint, options.retries)
        self._breaker = Breaker()
        self.space = Space(self.name, self._model, options.dim or (known.dim if known else self._ask_dim()))

    @abstractmethod
    def body(self, texts: Sequence[str]) -> Mapping[str, object]:
        """The request for the vectors of texts."""

    @abstractmethod
    def read(self, reply: bytes) -> list[object]:
        """The vectors of a reply, in the order of the texts, unchecked. Raises `ValueError` for anything else."""

    async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
        """One answer for each text, in order; a text fails alone. Raises `EmbeddingUnavailable`."""
        answers: list[Embedded] = [Failed("empty_text")] * len(texts)
        pieces = [(number, piece) for number, text in enumerate(texts) for piece in self._pieces(text, self._options.document_prefix)]
        found: dict[int, list[tuple[str, Embedded]]] = {}
        for batch in self._batches(pieces):
            job = Job(self._options.document_prefix, time.monotonic() + self._options.document_time_s)
            vectors = await self._embed_admitted([piece for _, piece in batch], job)
            for (number, piece), vector in zip(batch, vectors, strict=True):
                found.setdefault(number, []).append((piece, vector))
        for number, parts in found.items():
            answers[number] = mean([piece for piece, _ in parts], [vector for _, vector in parts], self.space.dim)
        return answers

    async def embed_query(self, text: str) -> Vector:
        """The vector of a query. Raises `EmbeddingUnavailable`, for a blank query too."""
        job = Job(self._options.query_prefix, time.monotonic() + self._options.query_time_s)
        pieces = self._pieces(text, job.prefix)
        vector = mean(pieces, await self._embed(pieces, job), self.space.dim) if pieces else None
        if vector is None or isinstance(vector, Failed):
            raise EmbeddingUnavailable(self.space, "bad_vector")
        return vector

    async def close(self) -> None:
        """Ends the connections."""
        await self._remote.close()

    def _pieces(self, text: str, prefix: str) -> list[str]:
        """The text in pieces that fit the model; none of a blank one."""
        readable = text.encode("utf-8", "replace").decode()
        room = max(self.window / 2, self.window - estimate_tokens(prefix))
        return fit(readable, room) if readable.strip() else []

    def _batches(self, pieces: Sequence[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
        """As many pieces as one request may hold."""
        batch: list[tuple[int, str]] = []
        tokens = 0.0
        for number, piece in pieces:
            cost = estimate_tokens(piece)
            if batch and (len(batch) >= self._options.batch_items or tokens + cost > self._options.batch_tokens):
                yield batch
                batch, tokens = [], 0.0
            batch.append((number, piece))
            tokens += cost
        if batch:
            yield batch

    async def _embed_admitted(self, pieces: Sequence[str], job: Job) -> list[Embedded]:
        """One batch, when the breaker lets it through. Queries have a breaker of their own, in the query cache."""
        if not self._breaker.admits():
            raise EmbeddingUnavailable(self.space, self._breaker.reason)
        try:
            vectors = await self._embed(pieces, job)
        except EmbeddingUnavailable as error:
            self._breaker.failed(error.reason)
            raise
        self._breaker.succeeded()
        return vectors

    async def _embed(self, pieces: Sequence[str], job: Job, *, works: bool = False) -> list[Embedded]:
        """A vector for each piece. What is not answered is asked again in halves, down to the piece, and that down to `_LEAST_PIECE`.

        `works` is True when the provider is known to embed other texts: else each text of a provider that is set up wrongly would be tried.
        """
        try:
            return [checked(vector, self.space.dim) for vector in await self._ask(pieces, job)]
        except Unusable as error:
            unusable = error
        if not works:
            await self._check_works(job)
        if len(pieces) > 1:
            middle = len(pieces) // 2
            return [*await self._embed(pieces[:middle], job, works=True), *await self._embed(pieces[middle:], job, works=True)]
        if not unusable.too_long or len(pieces[0]) <= _LEAST_PIECE:
            return [Failed(unusable.reason)]
        parts = halves(pieces[0])
        vectors: list[Embedded] = []
        for part in parts:
            vectors += await self._embed([part], job, works=True)
            if isinstance(vectors[-1], Failed):
                return [vectors[-1]]
        return [mean(parts, vectors, self.space.dim)]

    async def _check_works(self, job: Job) -> None:
        try:
            await self._ask([_KNOWN_GOOD], job)
        except Unusable:
            raise EmbeddingUnavailable(self.space, "refused") from None

    async def _ask(self, pieces: Sequence[str], job: Job) -> list[object]:
        """One request. Raises `Unusable` or `EmbeddingUnavailable`."""
        try:
            reply = await self._remote.post(self.path, self.body([job.prefix + piece for piece in pieces]), job.ends - time.monotonic())
        except RemoteError as error:
            if error.answered in MAY_CONCERN_THE_TEXT:
                raise Unusable("refused", too_long=error.too_long) from None
            raise EmbeddingUnavailable(self.space, error.reason) from None
        try:
            vectors = self.read(reply)
        except ValueError:
            raise Unusable("no_answer") from None
        if len(vectors) != len(pieces):
            raise Unusable("no_answer")
        return vectors

    def _ask_dim(self) -> int:
        """The size of the vectors, from one of them. In a thread: a provider is made where no loop may be blocked or is running."""
        try:
            with ThreadPoolExecutor(1, thread_name_prefix="embed") as thread:
                return thread.submit(lambda: asyncio.run(self._measure())).result()
        except (RemoteError, ValueError) as error:
            reason = error.reason if isinstance(error, RemoteError) else "bad_vector"
        raise EmbeddingUnavailable(
            Space(self.name, self._model, 0),
            reason,
            f"The embedding provider {self.name} ({self._model}) did not say how long its vectors are: {SAID[reason]}.",
            hint="See that it answers, or give the size: MUNIMENT_EMBEDDING_DIM, a workspace's `dim`.",
        )

    async def _measure(self) -> int:
        remote = Remote(self._endpoint, self._options.retries)
        try:
            vectors = self.read(await remote.post(self.path, self.body([_KNOWN_GOOD]), self._options.query_time_s))
        finally:
            await remote.close()
        size = len(cast("list[object]", vectors[0])) if len(vectors) == 1 and isinstance(vectors[0], list) else 0
        if not 0 < size <= MOST_DIM:
            raise ValueError(f"vectors of {size} numbers")
        return size
