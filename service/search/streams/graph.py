"""The `graph` stream: what stands one step from the first hits of the others.

In: settings; for several projects the seeds of one of them. Out: the values of the statements that find neighbours and fuse.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from service.search.answer import STREAMS, Stream
from service.search.parse import SearchSettings


class Seed(msgspec.Struct, frozen=True):
    """A hit where the graph stream starts, by its fused score so far; `place` numbers its project."""

    place: int
    is_page: bool
    id: int
    fused: float


def graph_values(settings: SearchSettings) -> dict[str, Any]:
    """What the search for neighbours takes, filters excepted."""
    return {"seeds": settings.seeds, "rare": settings.rare, "stream_size": settings.stream_size}


def fusion_values(settings: SearchSettings, weights: Mapping[Stream, float]) -> dict[str, Any]:
    """What fusing takes, candidates excepted; the weights in the order of the streams."""
    return {"k": settings.k, "weights": [weights[stream] for stream in STREAMS], "graph_weight": weights["graph"]}


def seed_values(seeds: Sequence[Seed]) -> dict[str, Any]:
    """The seeds of one project as arrays."""
    return {
        "seed_pages": [seed.is_page for seed in seeds],
        "seed_ids": [seed.id for seed in seeds],
        "seed_scores": [seed.fused for seed in seeds],
    }
