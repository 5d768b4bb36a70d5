"""Very long texts: how much longer an eight times longer one takes, the server's memory, and how long others wait meanwhile.

In: nothing; a server is started. Out: a line for each kind of text, saved as an event of 9.5 MB and as a page of 5 MB.
"""

import random
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from bench.corpus import Corpus
from bench.running import Running, running

EVENT = 9_500_000
PAGE = 5_000_000
_PART = 8


def run() -> None:
    """Prints the figures: a ratio of 1 is linear time."""
    quiet = {"MUNIMENT_EMBEDDING_PROVIDER": "none", "MUNIMENT_WORKER_POLL_MS": "3600000"}
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder, running(Path(folder) / "data", **quiet) as server:
        server.client.timeout = httpx2.Timeout(300)
        print(f"memory at first {server.memory_mb:.0f} MB")
        for name, make in KINDS.items():
            for what, size, write in (("event", EVENT, _save), ("page", PAGE, _put)):
                short, _ = _timed(server, partial(write, server, make(size // _PART)))
                long, waits = _timed(server, partial(write, server, make(size)))
                print(
                    f"{name:16} {what:5} {long:6.1f} s, ratio {long / short / _PART:4.2f}, memory {server.memory_mb:4.0f} MB, "
                    f"others wait {sorted(waits)[len(waits) // 2] * 1000:4.0f} ms, at most {max(waits) * 1000:4.0f} ms"
                )
        text = prose(EVENT)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(partial(_save, server), [text] * 4))
        print(f"memory after four events at once {server.memory_mb:.0f} MB")


def _timed(server: Running, work: Callable[[], Any]) -> tuple[float, list[float]]:
    """The seconds that it takes, and those that a question every twentieth of a second waits for its answer meanwhile."""
    waits: list[float] = []
    over = threading.Event()
    client = httpx2.Client(base_url=server.line["url"], timeout=300)

    def ask() -> None:
        while not over.wait(0.05):
            asked = time.perf_counter()
            client.get("/livez").raise_for_status()
            waits.append(time.perf_counter() - asked)

    asking = threading.Thread(target=ask)
    asking.start()
    started = time.perf_counter()
    try:
        work()
    finally:
        seconds = time.perf_counter() - started
        over.set()
        asking.join()
        client.close()
    return seconds, waits or [0.0]


def _save(server: Running, text: str) -> None:
    _send(server, "POST", f"{server.base}/events", {"summary": "A very long text", "content": text})


def _put(server: Running, text: str) -> None:
    _send(server, "PUT", f"{server.base}/pages/long.md", {"title": "Long", "body": text})


def _send(server: Running, method: str, path: str, body: dict[str, str]) -> None:
    """As UTF-8, so that the body is as long as the text says."""
    content = msgspec.json.encode(body)
    answer = server.client.request(method, path, content=content, headers={"Content-Type": "application/json"})
    answer.raise_for_status()


def prose(size: int) -> str:
    corpus = Corpus(100, 10)
    sentence = " ".join(corpus.sentence(40, 80).capitalize() + "." for _ in range(200))
    return repeated(sentence + "\n\n")(size)


def repeated(piece: str) -> Callable[[int], str]:
    """Texts of one piece that are so many bytes of JSON."""
    return lambda size: piece * (size // (len(msgspec.json.encode(piece)) - 2))


def _one_word(size: int) -> str:
    return prose(size - size // 5) + " " + "x" * (size // 5)


def _near_secrets(size: int) -> str:
    chance = random.Random(1)
    lines = [
        f"password = {'a' * chance.randint(6, 9)}{chance.randrange(10**6)} token: not-a-secret-{chance.randrange(99)}" for _ in range(1000)
    ]
    return repeated("\n".join(lines) + "\n")(size)


KINDS: dict[str, Callable[[int], str]] = {
    "prose": prose,
    "one word": _one_word,
    "near secrets": _near_secrets,
    "a.a.a": repeated("a."),
    "Chinese": repeated("中文没有空格的很长的文本"),
    "@": repeated("@"),
    "[[": repeated("[["),
    "base64": lambda size: repeated("QUJD" * 16 + "\n")(size) + "and no end",
    "headings, fences": repeated("# a\n```\nb\n```\n"),
}
