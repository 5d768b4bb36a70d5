"""What each of the nine relations joins, read off the lists of a graph, slowly and plainly."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.property.graph.model import Graph

TOLERANCE = 1e-4


class Unsure(Exception):
    """Two measured numbers are too close for the answer to be told apart from its neighbour."""


class Measured(float):
    """A number that comes out of vectors or logarithms: exact to the tolerance only."""


class Ref(NamedTuple):
    """A node."""

    label: str
    number: int


class Edge(NamedTuple):
    """An edge from a bound node: where it ends, what its variable has, and what makes it the same edge as another."""

    far: Ref
    properties: dict[str, Any]
    identity: Any


def cosine(a: tuple[float, ...] | None, b: tuple[float, ...] | None) -> Measured | None:
    if a is None or b is None:
        return None
    return Measured(sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b)))


def too_close(a: float, b: float) -> bool:
    return a != b and abs(a - b) < TOLERANCE


def ranked(scores: dict[int, Measured]) -> list[int]:
    """Events by score, the highest first, equal ones by number; adjacent ones that can hardly be told apart are `Unsure`."""
    return sorted(scores, key=lambda event: (-scores[event], event))


class Edges:
    """The edges of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.df = Counter(entity for _, entity in graph.participation)
        self.names = {event: {e for v, e in graph.participation if v == event} for event in graph.events}

    def at(self, relation: str, near: Ref, outward: bool, options: dict[str, Any], star: tuple[int, int] | None) -> Iterator[Edge]:
        """The edges of `relation` at `near`; `outward`: near is the end that the arrow leaves."""
        return getattr(self, "_" + relation.lower())(near, outward, options, star)

    def _participated_in(self, near: Ref, *_: Any) -> Iterator[Edge]:
        for event, entity in self.graph.participation:
            if near == ("Event", event):
                yield Edge(Ref("Entity", entity), {}, ("P", event, entity))
            if near == ("Entity", entity):
                yield Edge(Ref("Event", event), {}, ("P", event, entity))

    def _member_of(self, near: Ref, outward: bool, options: dict[str, Any], _: Any) -> Iterator[Edge]:
        kinds = words(options.get("kind"))
        for event, tag, kind in self.graph.membership:
            if kinds is not None and kind not in kinds:
                continue
            if near == ("Event", event):
                yield Edge(Ref("Tag", tag), {"kind": kind}, ("M", event, tag, kind))
            if near == ("Tag", tag):
                yield Edge(Ref("Event", event), {"kind": kind}, ("M", event, tag, kind))

    def _connected(self, near: Ref, _: Any, options: dict[str, Any], __: Any) -> Iterator[Edge]:
        together = Counter(e for names in self.names.values() if near.number in names for e in names if e != near.number)
        for entity, count in together.items():
            if count >= options.get("min", 1):
                yield Edge(Ref("Entity", entity), {"event_count": count}, ("C", frozenset((near.number, entity))))

    def _same_as(self, near: Ref, _: Any, options: dict[str, Any], __: Any) -> Iterator[Edge]:
        for a, b, confidence in self.graph.alias:
            if near.number in (a, b) and confidence >= options.get("min", 0):
                yield Edge(Ref("Entity", b if near.number == a else a), {"confidence": confidence}, ("A", a, b))

    def _resolved_by(self, near: Ref, outward: bool, *_: Any) -> Iterator[Edge]:
        for plan, evidence, asserted, revoked in self.graph.resolution:
            if not revoked and near.number == (plan if outward else evidence):
                far = Ref("Event", evidence if outward else plan)
                yield Edge(far, {"relation": "realization", "asserted_at": asserted}, ("R", plan, evidence))

    def _similar(self, near: Ref, _: Any, options: dict[str, Any], __: Any) -> Iterator[Edge]:
        vectors = self.graph.vectors
        if near.number not in vectors:
            return
        scores = {event: cosine(vectors[near.number], v) or Measured(0) for event, v in vectors.items() if event != near.number}
        order, k = ranked(scores), options.get("k", 5)
        if len(order) > k and too_close(scores[order[k - 1]], scores[order[k]]):
            raise Unsure
        for event in order[:k]:
            if at_least(scores[event], options.get("min", -2)):
                yield Edge(Ref("Event", event), {"cos": scores[event]}, ("S", frozenset((near.number, event))))

    def _far(self, near: Ref, _: Any, options: dict[str, Any], __: Any) -> Iterator[Edge]:
        vectors, most = self.graph.vectors, options.get("max", 0.5)
        for event in vectors:
            cos = cosine(vectors.get(near.number), vectors[event])
            if cos is not None and event != near.number and not at_least(cos, most):
                yield Edge(Ref("Event", event), {"cos": cos}, ("F", frozenset((near.number, event))))

    def _next(self, near: Ref, outward: bool, options: dict[str, Any], star: tuple[int, int] | None) -> Iterator[Edge]:
        low, high = star or (1, 1)
        wanted = words(options.get("source"))
        for source in sorted({s for _, _, s in self.graph.next if wanted is None or s in wanted}):
            frontier, seen = {near.number}, {near.number}
            for depth in range(1, high + 1):
                steps = [(a, b) if outward else (b, a) for a, b, s in self.graph.next if s == source]
                frontier = {b for a, b in steps if a in frontier} - seen
                seen |= frontier
                for event in sorted(frontier) if depth >= low else ():
                    ends = (near.number, event) if outward else (event, near.number)
                    yield Edge(Ref("Event", event), {"hops": depth, "source": source}, ("N", *ends, source))

    def _shares(self, near: Ref, _: Any, options: dict[str, Any], star: tuple[int, int] | None) -> Iterator[Edge]:
        low, high = star or (1, 1)
        frontier, seen = [near.number], {near.number}
        for depth in range(1, high + 1):
            reached: dict[int, dict[str, Any]] = {}
            for before in sorted(frontier):
                for event in self.graph.events:
                    shared = None if event in seen else self._shared(before, event, options)
                    if shared and (event not in reached or shared["weight"] > reached[event]["weight"]):
                        reached[event] = shared
            for event, shared in reached.items() if depth >= low else ():
                yield Edge(Ref("Event", event), {**shared, "hops": depth}, ("H", frozenset((near.number, event))))
            frontier = list(reached)
            seen |= set(reached)

    def _shared(self, a: int, b: int, options: dict[str, Any]) -> dict[str, Any] | None:
        shared = sorted(self.names[a] & self.names[b], key=lambda e: (self.df[e], e))
        weight = Measured(round(sum(1 / math.log(1 + self.df[e]) for e in shared), 9))
        if a == b or not shared or len(shared) < options.get("min", 1) or not at_least(weight, options.get("min_w", 0)):
            return None
        return {"count": len(shared), "weight": weight, "via": tuple(Ref("Entity", e) for e in shared)}


def at_least(value: Measured, least: float) -> bool:
    if abs(value - least) < TOLERANCE:
        raise Unsure
    return value >= least


def words(value: Any) -> list[str] | None:
    return [value] if isinstance(value, str) else value
