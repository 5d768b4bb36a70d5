"""A program that is led by coverage through the reading of graph queries: whatever text comes is compiled to SQL, or rejected with a hint.

In: a folder of texts to begin with, a file for what is accepted, libFuzzer's own options. Out: that file, a text a line as JSON; the program ends
with an error, and libFuzzer's report of the text, at the first that does neither. Run by test_coverage.py.
"""

import sys
from pathlib import Path

import atheris
import msgspec

with atheris.instrument_imports(include=["service.graph"], enable_loader_override=False):
    from service.graph.arguments import fill
    from service.graph.compile import compiled
    from service.graph.limits import GraphLimits
    from service.graph.rejection import GraphRejection

PARAMS = {"q": "1 0 0 0", "ids": ["evt_1"], "x": None, "name": "n", "a": "n", "b": "n", "part": "nn", "tag": "t", "seen": [], "n": 3}
MOST_KEPT = 2_000


class Kept:
    """The accepted texts, each once."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)
        self._seen: set[str] = set()

    def add(self, text: str) -> None:
        if text not in self._seen and len(self._seen) < MOST_KEPT:
            self._seen.add(text)
            self._file.write(msgspec.json.encode(text) + b"\n")


def read(text: str) -> bool:
    """Whether the text is accepted; anything but that and a whole rejection is raised."""
    try:
        fill(compiled(text, vectors=True), PARAMS, GraphLimits())
    except GraphRejection as rejection:
        problem = rejection.located(text).problem()
        if problem.members["blocked_by"] not in ("syntax", "grammar", "params") or not problem.hint or problem.status != 400:
            raise AssertionError(f"a rejection that teaches nothing: {problem}") from rejection
        msgspec.json.encode(problem)
        return False
    return True


def main() -> None:
    kept = Kept(Path(sys.argv.pop(1)))

    def once(data: bytes) -> None:
        text = data.decode("utf-8", errors="replace")
        if read(text):
            kept.add(text)

    atheris.Setup(sys.argv, once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
