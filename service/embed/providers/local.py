"""Embeddings in the process itself, on ONNX Runtime, without network.

In: texts. Out: their vectors, from one thread of its own: the event loop goes on, and a query waits for one small batch at most.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from service.embed.model_files import PACKAGED, ModelFiles
from service.embed.onnx_model import WINDOW, Floats, OnnxModel, Window, batched, embed_one, pooled, return_memory
from service.embed.provider import Embedded, EmbeddingUnavailable, Failed, ProviderOptions, Space, Vector, checked

T = TypeVar("T")

_ENCODED_AT_ONCE = 64  # sorted by length together: with fewer, a tenth of the work is padding


class LocalProvider:
    """MiniLM as packaged, or the model of a folder. A folder's model is loaded here, to learn its size; MiniLM at its first use."""

    available = True
    window = WINDOW

    def __init__(self, files: ModelFiles, options: ProviderOptions) -> None:
        self._files = files
        self._options = options
        self._model: OnnxModel | None = None
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="embed")
        self._documents = asyncio.Lock()
        self._closed = False
        self.space = Space(PACKAGED.provider, files.name, PACKAGED.dim)
        if options.model_folder is not None:
            self.space = Space(PACKAGED.provider, files.name, self._with_model(lambda model: model.dim))

    async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
        """One answer for each text, in order; blank texts fail with `empty_text`. Raises `EmbeddingUnavailable`."""
        answers: list[Embedded] = [Failed("empty_text")] * len(texts)
        filled = [number for number, text in enumerate(texts) if text.strip()]
        for at in range(0, len(filled), _ENCODED_AT_ONCE):
            numbers = filled[at : at + _ENCODED_AT_ONCE]
            vectors = await self._embed_some([self._options.document_prefix + texts[number] for number in numbers])
            for number, vector in zip(numbers, vectors, strict=True):
                answers[number] = vector
        if filled:
            await self._in_turn(lambda _: return_memory())
        return answers

    async def embed_query(self, text: str) -> Vector:
        """The vector of a query. Raises `EmbeddingUnavailable`, for a blank query too."""
        prefixed = self._options.query_prefix + text
        vector = checked(await self._in_thread(lambda model: embed_one(model, prefixed)), self.space.dim) if text.strip() else None
        if vector is None or isinstance(vector, Failed):
            raise EmbeddingUnavailable(self.space, "bad_vector")
        return vector

    async def close(self) -> None:
        """Ends the thread, after what it has been given, and lets the model go; closing again does nothing."""
        if self._closed:
            return
        self._closed = True
        self._threads.submit(self._forget)
        self._threads.shutdown(wait=False)

    def _forget(self) -> None:
        self._model = None

    async def _embed_some(self, texts: Sequence[str]) -> list[Embedded]:
        windows = await self._in_turn(lambda model: [window for number, text in enumerate(texts) for window in model.windows(number, text)])
        done: list[Window] = []
        vectors: list[Floats] = []
        for batch in batched(windows):
            vectors += await self._in_turn(lambda model, batch=batch: list(model.run([window.ids for window in batch])))
            done += batch
        return [checked(vector, self.space.dim) for vector in pooled(done, vectors, len(texts))]

    async def _in_turn(self, work: Callable[[OnnxModel], T]) -> T:
        """Runs work for documents: one piece of it at a time in the thread's queue, so that a query comes next."""
        async with self._documents:
            return await self._in_thread(work)

    async def _in_thread(self, work: Callable[[OnnxModel], T]) -> T:
        if self._closed:
            raise EmbeddingUnavailable(self.space, "unavailable")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._with_model, work)

    def _with_model(self, work: Callable[[OnnxModel], T]) -> T:
        try:
            if self._model is None:
                self._model = OnnxModel(self._files)
            return work(self._model)
        except Exception as error:
            raise EmbeddingUnavailable(self.space, "unavailable") from error
