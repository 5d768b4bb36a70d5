"""A project's graph as plain lists, and random ones: hubs, missing times and vectors, aliases, revoked links, names of many kinds."""

import struct
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

DIM = 4
SOURCES = ("thread", "chunk_order", "file_name", "folder_name", "topic_segment", "user_manual", "version_up")
KINDS = ("contains", "refers")
NAMES = (
    "kafka", "Kafka", "ＫＡＦＫＡ", "50% off", "50 off", "a_b", "axb", "a\\b", "O'Brien", 'say "hi"', "格式", "save 格式", "한글", "İst",
    "ΣΊΣΥΦΟΣ", "straße", "ﬁle", "Zoë", "привет", "ترحيب", "x; DROP TABLE event", "$1", "m_0.event", "😀", "evt_1",
)  # fmt: skip
TYPES = ("tool", "person", "Tool", "")
TAGS = ("auth", "area/auth", "area/db", "area/db/auth", "x", "O'x/50%", "格式")


@dataclass
class Graph:
    """Numbers count from 1; `times`, `entities` and `tags` are in the order of their numbers."""

    times: list[datetime | None]
    entities: list[tuple[str, str]]
    tags: list[str]
    participation: list[tuple[int, int]] = field(default_factory=list)
    membership: list[tuple[int, int, str]] = field(default_factory=list)
    next: list[tuple[int, int, str]] = field(default_factory=list)
    resolution: list[tuple[int, int, datetime, bool]] = field(default_factory=list)
    alias: list[tuple[int, int, float]] = field(default_factory=list)
    vectors: dict[int, tuple[float, ...]] = field(default_factory=dict)

    @property
    def events(self) -> range:
        return range(1, len(self.times) + 1)


def stored(values: list[float]) -> tuple[float, ...]:
    """A vector as a halfvec keeps it."""
    return struct.unpack(f"{DIM}e", struct.pack(f"{DIM}e", *values))


def random_vector(rng: Random) -> tuple[float, ...]:
    return stored([rng.choice((-1, 1)) * rng.uniform(0.05, 1) for _ in range(DIM)])


def random_graph(rng: Random) -> Graph:
    """A small project of one of a few shapes."""
    count = rng.choice((2, 5, 7, 9, 12, 26))
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    times = [rng.choice((None, moment + timedelta(hours=rng.randrange(0, 60, 12)))) if rng.random() < 0.8 else moment for _ in range(count)]
    entities = _entities(rng)
    tags = [f"area{i}/same" for i in range(21)] if rng.random() < 0.08 else rng.sample(TAGS, rng.randint(3, len(TAGS)))
    graph = Graph(times, entities, tags)
    _link(rng, graph)
    known = rng.choice((0.0, 0.7, 0.8, 0.9, 1.0, 1.0))
    for event in graph.events:
        if rng.random() < known:
            same = rng.random() < 0.3 and graph.vectors
            graph.vectors[event] = rng.choice(list(graph.vectors.values())) if same else random_vector(rng)
    return graph


def _entities(rng: Random) -> list[tuple[str, str]]:
    if rng.random() < 0.08:
        return [("many", f"type {i}") for i in range(22)]
    pairs = [(name, kind) for name in rng.sample(NAMES, rng.randint(4, 9)) for kind in rng.sample(TYPES, rng.choice((1, 1, 2)))]
    rng.shuffle(pairs)
    return pairs


def _link(rng: Random, graph: Graph) -> None:
    count, names = len(graph.times), len(graph.entities)
    hub = rng.randint(1, names) if rng.random() < 0.4 else None
    pairs = {(rng.randint(1, count), rng.randint(1, names)) for _ in range(rng.randint(count, 4 * count))}
    pairs |= {(event, hub) for event in graph.events if hub and rng.random() < 0.8}
    pairs |= {(rng.choice(graph.events), entity) for entity in range(1, names + 1) if names > 20}
    graph.participation = sorted(pairs)
    tags = len(graph.tags)
    memberships = {(rng.randint(1, count), rng.randint(1, tags), rng.choice(KINDS)) for _ in range(rng.randint(0, 3 * count))}
    memberships |= {(rng.choice(graph.events), tag, "contains") for tag in range(1, tags + 1) if tags > 20}
    graph.membership = sorted(memberships)
    sources = rng.sample(SOURCES, 2)
    graph.next = sorted({(*_two(rng, count), rng.choice(sources)) for _ in range(rng.randint(0, 3 * count))})
    asserted = datetime(2026, 5, 1, tzinfo=UTC)
    links = {_two(rng, count): (asserted + timedelta(days=rng.randint(0, 2)), rng.random() < 0.4) for _ in range(rng.randint(0, 2 * count))}
    graph.resolution = [(plan, evidence, at, revoked) for (plan, evidence), (at, revoked) in sorted(links.items())]
    if names > 1:
        aliases = {tuple(sorted(_two(rng, names))): rng.choice((0.3, 0.9, 1.0)) for _ in range(rng.randint(0, names))}
        graph.alias = [(a, b, confidence) for (a, b), confidence in sorted(aliases.items())]


def _two(rng: Random, count: int) -> tuple[int, int]:
    first, second = rng.sample(range(1, count + 1), 2)
    return first, second
