"""How fast the back-fill is beside its model alone: the same texts through it, database included, and through bare ONNX Runtime.

In: texts of like lengths as events and pages have them. Out: texts a second of both, taken in turn, and their ratio. The bare way knows all
texts beforehand: it tokenizes and sorts them at once, and writes nothing down.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

from bench.corpus import Corpus
from service.db.embedded import start_embedded
from service.db.owner import OwnerDatabase
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.backfill import Backfill
from service.embed.choose import make_provider
from service.embed.model_files import find_model
from service.embed.provider import EmbeddingProvider
from service.memory.event_rows import EventInput
from service.memory.events import save_events
from service.tenants.migrate import migrate
from service.tenants.owner import owner_connection
from service.tenants.workspaces import create_project, create_workspace

BATCH_TOKENS, BATCH_TEXTS, WINDOW = 384, 16, 256  # the best of those tried for one thread


class Bare:
    """The model on one thread of ONNX Runtime, mean-pooled."""

    def __init__(self) -> None:
        files = find_model(None, None)
        self.tokenizer = Tokenizer.from_file(str(files.tokenizer))
        self.tokenizer.enable_truncation(WINDOW)
        self.tokenizer.no_padding()
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
        self.session = ort.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])

    def embed(self, texts: Sequence[str]) -> int:
        encoded = sorted((each.ids for each in self.tokenizer.encode_batch(list(texts))), key=len, reverse=True)
        done = at = 0
        while at < len(encoded):
            size = max(1, min(BATCH_TEXTS, BATCH_TOKENS // len(encoded[at])))
            done += len(self._run(encoded[at : at + size]))
            at += size
        return done

    def _run(self, batch: Sequence[Sequence[int]]) -> np.ndarray:
        ids = np.zeros((len(batch), len(batch[0])), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        states = self.session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]
        pooled = (states * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


def run(texts: int = 1_024, rounds: int = 4) -> None:
    """Prints the figures, for summaries alone and for a mixture with longer texts."""
    corpus = Corpus(texts * rounds, 0)
    events = [event for batch in corpus.event_batches() for event in batch]
    kinds = {"summaries": lambda e: e["summary"], "with contents": lambda e: f"{e['summary']} {e.get('content', '')}"[:500]}
    bare, provider = Bare(), make_provider("local")
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder:
        server = start_embedded(Path(folder))
        try:
            api_url = migrate(server.owner_url, superuser_allowed=True).api_url
            for name, make in kinds.items():
                blocks = [[f"{name} {n}: {make(event)}"[:500] for n, event in enumerate(events[at::rounds])] for at in range(rounds)]
                print(name, asyncio.run(_compare(server.owner_url, api_url, bare, provider, blocks)))
        finally:
            server.stop()


async def _compare(owner_url: str, api_url: str, bare: Bare, provider: EmbeddingProvider, blocks: Sequence[Sequence[str]]) -> str:
    database, owner = await Database.open(api_url), OwnerDatabase(owner_url)
    backfill = Backfill(owner, provider)
    await backfill.run_round()
    await provider.embed_documents(["warm"])
    bare.embed(["warm"])
    speeds: list[tuple[float, float]] = []
    for number, block in enumerate(blocks):
        project = _make_project(owner_url, provider, number, block[0].split()[0])
        for at in range(0, len(block), 200):
            await save_events(database, project, [EventInput(summary=text) for text in block[at : at + 200]], "bench")
        alone = 0.0
        if number % 2:
            alone = await _bare(bare, block)
        filled = await _fill(backfill, len(block))
        speeds.append((alone or await _bare(bare, block), filled))
    await owner.close()
    await database.close()
    ratios = [filled / alone for alone, filled in speeds]
    told = ", ".join(f"{alone:.0f} and {filled:.0f}" for alone, filled in speeds)
    return f"bare and back-fill, texts/s: {told}; ratio {statistics.median(ratios):.2f} (of {min(ratios):.2f} to {max(ratios):.2f})"


async def _bare(bare: Bare, block: Sequence[str]) -> float:
    started = time.perf_counter()
    done = await asyncio.to_thread(bare.embed, block)
    return done / (time.perf_counter() - started)


async def _fill(backfill: Backfill, wanted: int) -> float:
    started, stored = time.perf_counter(), 0
    while stored < wanted:
        stored += (await backfill.run_round()).stored
    return stored / (time.perf_counter() - started)


def _make_project(owner_url: str, provider: EmbeddingProvider, number: int, name: str) -> ProjectRef:
    space = provider.space
    with owner_connection(owner_url) as owner:
        workspace = create_workspace(owner, "bench")
        made = create_project(owner, workspace, f"{name}-{number}", None, (space.provider, space.model, space.dim))
        row = owner.execute("SELECT role FROM control.workspace WHERE id = $1", (workspace.id,)).fetchone()
        assert row is not None
    return ProjectRef(workspace.id, "bench", row["role"], made.id, made.slug)
