"""Runs a sentence-embedding model on ONNX Runtime, in the calling thread.

In: texts, then batches of their windows of token ids. Out: mean-pooled vectors, one a window. Needs the extra `local`.
"""

import ctypes
import os
import sys
from collections.abc import Sequence

import msgspec
import numpy as np

# Read when the library is loaded: without it, it collects how it is used and sends that to its makers.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime as ort
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from service.embed.model_files import ModelFiles

WINDOW = 256
"""Tokens of one window, its two marks included."""

WINDOWS = 4
"""Windows read of one text: a piece whose tokens were estimated too low is still read to its end."""

BATCH_TEXTS = 16
BATCH_TOKENS = 384
"""Padded tokens of one batch: about 120 ms of one core. Larger batches are no faster a text and keep a query waiting."""

_READ = 16_384
"""Characters the tokenizer is given; `WINDOWS` are full long before, unless the text is mostly blank."""

Floats = NDArray[np.float32]


class Window(msgspec.Struct, frozen=True):
    """The token ids of one window, and the number of the text it belongs to."""

    text: int
    ids: list[int]


class OnnxModel:
    """A loaded model. Not for several threads at a time: one ONNX thread each is the measure."""

    def __init__(self, files: ModelFiles) -> None:
        self._tokenizer = Tokenizer.from_file(str(files.tokenizer))
        self._tokenizer.enable_truncation(WINDOW)
        self._tokenizer.no_padding()
        self._session = _open_session(str(files.model))
        self._inputs = {node.name for node in self._session.get_inputs()}
        self.dim = int(self.run([self.windows(0, "a")[0].ids]).shape[1])

    def windows(self, number: int, text: str) -> list[Window]:
        """Cuts text `number` into windows of token ids, at most `WINDOWS`."""
        readable = text[:_READ].encode("utf-8", "replace").decode()
        first: Encoding = self._tokenizer.encode(readable)
        return [Window(number, list(each.ids)) for each in (first, *first.overflowing)[:WINDOWS]]

    def run(self, batch: Sequence[Sequence[int]]) -> Floats:
        """Embeds windows: (windows, dim), not brought to length one."""
        width = max(map(len, batch))
        ids = np.zeros((len(batch), width), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, window in enumerate(batch):
            ids[row, : len(window)] = window
            mask[row, : len(window)] = 1
        offered = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(None, {name: offered[name] for name in self._inputs})[0]
        weights = mask[..., None].astype(np.float32)
        return (np.asarray(states, dtype=np.float32) * weights).sum(axis=1) / weights.sum(axis=1)


def batched(windows: Sequence[Window]) -> list[list[Window]]:
    """Windows of like length together, so that little is padding; each batch within `BATCH_TEXTS` and `BATCH_TOKENS`."""
    batches: list[list[Window]] = []
    for window in sorted(windows, key=lambda each: len(each.ids), reverse=True):
        last = batches[-1] if batches else None
        if last and len(last) < BATCH_TEXTS and (len(last) + 1) * len(last[0].ids) <= BATCH_TOKENS:
            last.append(window)
        else:
            batches.append([window])
    return batches


def pooled(windows: Sequence[Window], vectors: Sequence[Floats], texts: int) -> list[Floats]:
    """One vector a text: the mean of its windows, each weighing as many tokens as it has."""
    sums = np.zeros((texts, len(vectors[0])), dtype=np.float32)
    for window, vector in zip(windows, vectors, strict=True):
        sums[window.text] += vector * np.float32(len(window.ids))
    return list(sums)


def embed_one(model: OnnxModel, text: str) -> Floats:
    """The vector of one text, for a query that cannot wait for others."""
    done: list[Window] = []
    vectors: list[Floats] = []
    for batch in batched(model.windows(0, text)):
        vectors += list(model.run([window.ids for window in batch]))
        done += batch
    return pooled(done, vectors, 1)[0]


def return_memory() -> None:
    """Gives freed memory back, which glibc keeps: about 60 MB after loading MiniLM, 30 MB after a run of full windows; 5 ms."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def _open_session(model: str) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # The arena keeps the largest batch ever seen; without it memory stays flat, at the same speed for batches of this size.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return_memory()
    return session
