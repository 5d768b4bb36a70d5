"""Wrong queries above, what is said of them below: every rejection reviewed by eye, as an agent would read it.

`python -m tests.pairs.graph.test_rejections` writes the file anew; the difference is then read like any other change.
"""

from pathlib import Path

import pytest

from service.graph.arguments import fill, read_params
from service.graph.compile import compiled
from service.graph.limits import GraphLimits
from service.graph.rejection import GraphRejection

FILE = Path(__file__).parent / "told" / "rejections.txt"
RULE = "-" * 40
PARAMS = {"ids": ["evt_1"], "q": "text", "n": 3, "list": [1], "seen": ["evt_2"], "name": "x", "map": {"a": 1}, "deep": [[1]]}


def read() -> list[tuple[str, str]]:
    """The pairs of the file: query, rejection."""
    pairs = FILE.read_text(encoding="utf-8").split(f"\n{RULE}\n")
    return [(query.strip(), told.strip()) for query, _, told in (pair.partition("\n\n") for pair in pairs)]


def told(query: str) -> str:
    """A rejection as lines: what blocks, where, why; the hint; what is allowed."""
    # Characters that are hard to see are written as escapes.
    text = query.encode("ascii", "backslashreplace").decode("unicode_escape") if "\\u" in query else query
    try:
        fill(compiled(text, vectors=True), read_params(PARAMS), GraphLimits())
    except GraphRejection as found:
        rejection = found.located(text)
        members = rejection.members
        place = f" {members['line']}:{members['column']}" if "line" in members else ""
        reason = rejection.message.split("\n")[0].split(": ", 1)[1] if place else rejection.message
        allowed = [f"{name}: {', '.join(values)}" for name, values in members.items() if name.startswith("allowed_")]
        return "\n".join([f"{rejection.blocked_by}{place} {reason}", f"-> {rejection.hint}", *allowed])
    return "accepted"


PAIRS = read()


@pytest.mark.parametrize(("query", "rejection"), PAIRS, ids=[query[:70] for query, _ in PAIRS])
def test_is_told(query: str, rejection: str) -> None:
    assert told(query) == rejection
    assert "-> None" not in rejection


def test_they_are_many() -> None:
    assert len({query for query, _ in PAIRS}) >= 120


def write() -> None:
    """Writes the file anew from its queries."""
    FILE.write_text(f"\n{RULE}\n".join(f"{query}\n\n{told(query)}\n" for query, _ in read()), encoding="utf-8")


if __name__ == "__main__":
    write()
