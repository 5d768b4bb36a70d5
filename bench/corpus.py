"""A project's worth of made-up memory with the statistics of real ones: words, names and sessions by Zipf's law, one fixed seed.

In: how many events and pages. Out: batches for the REST API. Vectors are made apart (`vectors.py`): they are clustered, since uniform
ones would make every index look worse and every scan the same.
"""

import itertools
import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

_ONSETS = ["b", "br", "c", "d", "dr", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "tr", "v", "w"]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "ou"]
_CODAS = ["", "n", "r", "s", "t", "l", "m", "nd", "rk", "st"]
_START = datetime(2025, 1, 1, tzinfo=UTC)


class Zipf:
    """Draws numbers below `size`, the n-th with weight 1/n."""

    def __init__(self, size: int, chance: random.Random) -> None:
        self._sums = list(itertools.accumulate(1 / n for n in range(1, size + 1)))
        self._chance = chance
        self._numbers = range(size)

    def draw(self, count: int) -> list[int]:
        return self._chance.choices(self._numbers, cum_weights=self._sums, k=count)


class Corpus:
    """Events, pages and questions, the same for the same seed."""

    def __init__(self, events: int, pages: int, seed: int = 7) -> None:
        self.events, self.pages = events, pages
        self._chance = random.Random(seed)
        self.words = self._make_words(20_000)
        self.names = [f"{self.words[-n - 1].title()} {self.words[n].title()}" for n in range(max(100, events // 5))]
        self._word = Zipf(len(self.words), self._chance)
        self._name = Zipf(len(self.names), self._chance)

    def _make_words(self, count: int) -> list[str]:
        found: dict[str, None] = {}
        while len(found) < count:
            syllables = self._chance.choices((1, 2, 3), (2, 5, 3))[0]
            pick = self._chance.choice
            found["".join(pick(_ONSETS) + pick(_VOWELS) + pick(_CODAS) for _ in range(syllables))] = None
        return list(found)

    def sentence(self, least: int, most: int) -> str:
        return " ".join(self.words[n] for n in self._word.draw(self._chance.randint(least, most)))

    def event_batches(self, size: int = 500) -> Iterator[list[dict[str, Any]]]:
        """Batches for `events:batch`; four names an event in the mean, sessions of about forty."""
        for first in range(0, self.events, size):
            yield [self._event(n) for n in range(first, min(first + size, self.events))]

    def _event(self, number: int) -> dict[str, Any]:
        names = {self.names[n] for n in self._name.draw(self._chance.randint(2, 6))}
        return {
            "summary": self.sentence(12, 28)[:480],
            "content": self.sentence(30, 80) if self._chance.random() < 0.2 else None,
            "timestamp": (_START + timedelta(minutes=11 * number)).isoformat(),
            "session": f"session {number // 40}",
            "entities": [{"name": name, "type": "name"} for name in sorted(names)],
            "tags": [f"area/{self.words[self._chance.randint(0, 30)]}"],
            "ingest_key": f"bench-{number}",
        }

    def page(self, number: int) -> dict[str, str]:
        """A page of some four hundred words under headings, with links to two others."""
        links = " ".join(f"[[page-{self._chance.randrange(self.pages)}]]" for _ in range(2))
        parts = [f"## {self.sentence(2, 4)}\n\n{self.sentence(60, 110)}\n" for _ in range(4)]
        return {"path": f"notes/page-{number}.md", "title": self.sentence(2, 5).title(), "body": "\n".join([*parts, links])}

    def questions(self, count: int) -> list[str]:
        """Natural questions: a few common words and a few rare ones."""
        chance = random.Random(count)
        picked: list[str] = []
        for _ in range(count):
            common = [self.words[int(math.exp(chance.uniform(0, 5)))] for _ in range(4)]
            rare = [self.words[chance.randrange(300, 8_000)] for _ in range(3)]
            picked.append(" ".join([*common, *rare]))
        return picked

    def name_pairs(self, count: int) -> list[tuple[str, str]]:
        """Pairs of names as a user would ask for: one common, one less so."""
        chance = random.Random(count)
        return [(self.names[chance.randrange(0, 20)], self.names[chance.randrange(0, 100)]) for _ in range(count)]
