"""A server of the bench's own, started as a user would start it, and filled over REST."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psutil
import psycopg

from bench.corpus import Corpus


class Running:
    """A serving process with its client."""

    def __init__(self, process: "subprocess.Popen[bytes]", line: dict[str, Any]) -> None:
        self.process = process
        self.line = line
        self.client = httpx2.Client(base_url=f"{line['url']}/api/v1", headers={"Authorization": f"Bearer {line['key']}"}, timeout=120)
        self.base = f"/workspaces/{line['workspace']}/projects/{line['project']}"

    @property
    def memory_mb(self) -> float:
        """Resident memory of the server process, without Postgres."""
        return psutil.Process(self.process.pid).memory_info().rss / 1e6

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.post(path, json=body)
        answer.raise_for_status()
        return answer.json()

    def put_page(self, page: dict[str, str]) -> None:
        body = {"title": page["title"], "body": page["body"]}
        self.client.put(f"{self.base}/pages/{page['path']}", json=body).raise_for_status()

    @property
    def schema(self) -> str:
        """The project's schema, for the statements written by hand."""
        with psycopg.connect(self.line["database"]) as owner:
            row = owner.execute("SELECT 'm_' || id FROM control.project WHERE slug = %s", (self.line["project"],)).fetchone()
            assert row is not None
            return row[0]


@contextlib.contextmanager
def running(data: Path, **environment: str) -> Generator[Running]:
    """Starts `muniment serve` on a free port and stops it again."""
    command = [str(Path(sys.executable).parent / "muniment"), "serve", "--data", str(data), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "MUNIMENT_LOG_LEVEL": "error", **environment}) as process:
        assert process.stdout is not None
        try:
            yield Running(process, json.loads(process.stdout.readline()))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def fill(server: Running, corpus: Corpus) -> dict[str, float]:
    """Imports the corpus; gives events and pages per second."""
    started = time.perf_counter()
    for batch in corpus.event_batches():
        server.post(f"{server.base}/events:batch", {"events": batch})
    events = time.perf_counter() - started
    started = time.perf_counter()
    pages = [corpus.page(n) for n in range(corpus.pages)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(server.put_page, pages))
    return {"events/s": corpus.events / events, "pages/s": corpus.pages / (time.perf_counter() - started)}


def await_vectors(server: Running) -> float:
    """Waits for the worker; gives the seconds."""
    started = time.perf_counter()
    while server.client.get(f"{server.base}/status").json()["embedding"]["pending"]:
        time.sleep(1)
    return time.perf_counter() - started


def await_indexes(server: Running, above: int = 20_000) -> float:
    """Waits until the worker has counted the vectors and, where they are more than `above`, built indexes; gives the seconds."""
    started = time.perf_counter()
    while True:
        embedding = server.client.get(f"{server.base}/status").json()["embedding"]
        current = next(space for space in embedding["spaces"] if space["current"])
        if embedding["pending"] == 0 and current["index"] == ("ready" if embedding["embedded"] > above else "not_needed"):
            return time.perf_counter() - started
        time.sleep(0.5)
