"""Projects of many workspaces, made and written to over REST, and the questions they are asked.

In: a server, how many. Out: `Place`s, each with a key of its workspace, and milliseconds.
"""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.corpus import Corpus
from bench.first import RECIPE_5
from bench.running import Running
from bench.timing import Times, percentiles

EVENTS_EACH = 3
ROUNDS = 3


class Place(msgspec.Struct, frozen=True):
    """One project, and the key that opens it."""

    key: str
    workspace: str
    project: str


class Tenants:
    """Makes projects, workspace by workspace; each workspace is made with its first project."""

    def __init__(self, server: Running, corpus: Corpus, projects: int, workspaces: int) -> None:
        self.projects, self.workspaces = projects, workspaces
        self._server = server
        self._events = [event for batch in corpus.event_batches() for event in batch]
        self._keys: dict[int, str] = {}
        self._turn = threading.Lock()

    def become_operator(self, data: Path) -> None:
        """The server's first key may then make workspaces."""
        command = [str(Path(sys.executable).parent / "muniment"), "workspace", "operator", self._server.line["workspace"]]
        subprocess.run([*command, "--data", str(data)], check=True, stdout=subprocess.DEVNULL)

    def open(self, number: int) -> Place:
        """The project's place, its workspace made."""
        workspace = number * self.workspaces // self.projects
        with self._turn:
            if workspace not in self._keys:
                self._keys[workspace] = self._server.post("/workspaces", {"slug": f"team-{workspace}"})["key"]
            return Place(self._keys[workspace], f"team-{workspace}", f"project-{number}")

    def make(self, place: Place) -> None:
        answer = send(self._server, place, f"/workspaces/{place.workspace}/projects", {"slug": place.project})
        assert answer["created"], answer

    def write(self, place: Place) -> None:
        """A few events, by whose names the project is asked."""
        events = random.Random(place.project).sample(self._events, EVENTS_EACH)
        send(self._server, place, f"/workspaces/{place.workspace}/projects/{place.project}/events:batch", {"events": events})


class Asking:
    """Search and recipe 5, the same questions in every project."""

    def __init__(self, server: Running, corpus: Corpus, questions: int) -> None:
        self._server = server
        texts = [{"query": text} for text in corpus.questions(questions)]
        pairs = [{"query": RECIPE_5, "params": {"a": a, "b": b}} for a, b in corpus.name_pairs(questions)]
        self._bodies: dict[str, list[dict[str, Any]]] = {"/search": texts, "/graph": pairs}
        self.first = Place(server.line["key"], server.line["workspace"], server.line["project"])

    def ask(self, place: Place, path: str, number: int) -> float:
        """Seconds of one question."""
        bodies = self._bodies[path]
        body = {**bodies[number % len(bodies)], "project": place.project}
        began = time.perf_counter()
        send(self._server, place, path, body)
        return time.perf_counter() - began

    def both(self, place: Place) -> None:
        """One question of each kind."""
        self.each([place])

    def warm(self, place: Place, others: Sequence[Place] = ()) -> dict[str, Times]:
        """All questions in one project, once to warm up and then some times more; before each, one of the others is asked the same."""
        found: dict[str, Times] = {}
        for path, bodies in self._bodies.items():
            taken: list[float] = []
            for number in range(len(bodies) * (ROUNDS + 1)):
                if others:
                    self.ask(others[number % len(others)], path, number)
                taken.append(self.ask(place, path, number))
            found[path] = percentiles(taken[len(bodies) :])
        return found

    def each(self, places: Iterable[Place]) -> dict[str, Times]:
        """One question of each kind in every project."""
        taken: dict[str, list[float]] = {path: [] for path in self._bodies}
        for number, place in enumerate(places):
            for path, times in taken.items():
                times.append(self.ask(place, path, number))
        return {path: percentiles(times) for path, times in taken.items()}


def send(server: Running, place: Place, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """A call under the place's key; raises what was refused."""
    answer = server.client.post(path, json=body, headers={"Authorization": f"Bearer {place.key}"})
    answer.raise_for_status()
    return answer.json()
