"""Wrong queries above, what is said of them below: every rejection reviewed by eye, as an agent would read it.

`python -m tests.pairs.graph.test_rejections` writes the file anew; the difference is then read like any other change.
"""

import re
from difflib import get_close_matches
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


MEANT = [
    (query, found.group(1)) for query, rejection in PAIRS if (found := re.search("^-> did you mean (.+)\\?$", rejection, re.MULTILINE))
]


@pytest.mark.parametrize(("query", "meant"), MEANT, ids=[query[:70] for query, _ in MEANT])
def test_one_retry_with_the_word_that_was_meant_is_enough(query: str, meant: str) -> None:
    words = {word.casefold(): word for word in re.findall(r"\w+", query) if word != meant}
    (wrong,) = get_close_matches(meant.casefold(), words, n=1, cutoff=0)
    assert told(re.sub(rf"\b{words[wrong]}\b", meant, query, count=1)) == "accepted"


CORRECTED = [
    ("START a = events(name: $name) RETURN a", "START a = events(entity: $name) RETURN a"),
    ("START a = events(text: $q) MATCH (a)-[:MENTIONS]->(n) RETURN n", "START a = events(text: $q) MATCH (a)-[:PARTICIPATED_IN]->(n) RETURN n"),
    ("START a = events(text: $q) MATCH (a)-[:NEXT]-(b) RETURN b", "START a = events(text: $q) MATCH (a)-[:NEXT]->(b) RETURN b"),
    ("START a = events(text: $q) MATCH (a)<-[:MEMBER_OF]-(t) RETURN t", "START a = events(text: $q) MATCH (a)-[:MEMBER_OF]->(t) RETURN t"),
    ("START a = events(text: $q) MATCH (a)-[f:FAR]-(b) RETURN b", "START a = events(text: $q) MATCH (a)-[s:SHARES {min: 2}]-(b)-[f:FAR]-(a) RETURN b"),
    ("START a = events(text: $q) MATCH (a)-[:SHARES*]-(b) RETURN b", "START a = events(text: $q) MATCH (a)-[:SHARES*1..3]-(b) RETURN b"),
    ("START a = events(text: $q) MATCH (a)-[:SHARES]-(b) WHERE b.id NOT IN $seen RETURN b", "START a = events(text: $q) MATCH (a)-[:SHARES]-(b) WHERE NOT b.id IN $seen RETURN b"),
    ("START a = events(text: $q) MATCH (a)-[:SHARES]-(b) WHERE b = 'evt_1' RETURN b", "START a = events(text: $q) MATCH (a)-[:SHARES]-(b) WHERE b.id = 'evt_1' RETURN b"),
    ("START a = events(text: $q) MATCH (a)-[:SHARES]-(b) WHERE b.id != 'evt_1' RETURN b", "START a = events(text: $q) MATCH (a)-[:SHARES]-(b) WHERE b.id <> 'evt_1' RETURN b"),
    ("START a = events(text: $q) WHERE a.id = 'evt_1' RETURN a", "START a = events(text: $q) MATCH (a) WHERE a.id = 'evt_1' RETURN a"),
    ("START a = events(text: $q) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN DISTINCT n.name ORDER BY n.type", "START a = events(text: $q) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN DISTINCT n.name, n.type ORDER BY n.type"),
    ("START a = events(text: $q) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN n.name ORDER BY count(a)", "START a = events(text: $q) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN n.name, count(a) ORDER BY count(a)"),
    ("START a = events(text: $q) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN n.name, count(*) ORDER BY count DESC LIMIT 5", "START a = events(text: $q) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN n.name, count(*) AS count ORDER BY count DESC LIMIT 5"),
    ("START a = events(text: $q) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN n.name, count(*) ORDER BY count DESC LIMIT 5", "START a = events(text: $q) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN n.name, count(*) ORDER BY count(*) DESC LIMIT 5"),
    ("START a = events(text: $q) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN n.name AS name, count(*) AS c ORDER BY cnt", "START a = events(text: $q) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN n.name AS name, count(*) AS c ORDER BY c"),
    ("START a = events(text: $q) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN n.name AS name, count(*) AS c ORDER BY cnt", "START a = events(text: $q) MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN n.name AS name, count(*) AS cnt ORDER BY cnt"),
    ("START a = events(text: $q) RETURN count()", "START a = events(text: $q) RETURN count(*)"),
    ("START a = events(text: $q) RETURN a SKIP 5", "START a = events(text: $q) RETURN a LIMIT 200"),
    ("START a = events(text: $q) MATCH (a)-[s:SHARES]-(b) RETURN s", "START a = events(text: $q) MATCH (a)-[s:SHARES]-(b) RETURN s.count"),
    ("MATCH (a) RETURN a", "START a = events(text: $q) MATCH (a) RETURN a"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "corrected"), CORRECTED, ids=[query[:70] for query, _ in CORRECTED])
def test_one_retry_by_the_hint_is_enough(query: str, corrected: str) -> None:
    assert told(query) != "accepted"
    assert told(corrected) == "accepted"


def write() -> None:
    """Writes the file anew from its queries."""
    FILE.write_text(f"\n{RULE}\n".join(f"{query}\n\n{told(query)}\n" for query, _ in read()), encoding="utf-8")


if __name__ == "__main__":
    write()
