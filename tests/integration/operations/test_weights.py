"""The weights of the streams are the operator's to set; without that they are the measured ones."""

import pytest

from service.operations.searching import search_settings
from service.search.parse import SearchSettings
from service.settings import Settings
from tests.integration.operations.conftest import Desk

FUSION = ("k", "fts_weight", "entity_weight", "graph_weight", "vector_weight", "vector_lead", "beside")


def test_the_measured_weights_stand_where_none_are_set() -> None:
    server, measured = search_settings(Settings()), SearchSettings()
    assert [getattr(server, name) for name in FUSION] == [getattr(measured, name) for name in FUSION]


@pytest.mark.parametrize(
    ("weights", "first"), [({}, "evt_1"), ({"search_vector_weight": 100.0}, "evt_2"), ({"search_fts_weight": 0.0}, "evt_2")]
)
async def test_a_stream_that_weighs_more_decides(desk: Desk, weights: dict[str, float], first: str) -> None:
    await desk.save({"summary": "apples in a cellar"}, vectors=False)
    await desk.save({"summary": "nothing of the kind"}, vectors=False)
    await desk.memory.vectors(desk.project, {"evt_1": (0.0, 0.0, 1.0), "evt_2": (1.0, 0.0, 0.0)})
    found = (await desk.without(**weights).ask("memory_query", query="apples", explain=True)).raw_hits
    assert found[0].id == first
    ranks = found[0].explain.fts_rank, found[0].explain.vector_rank
    assert ranks == ((1, 2) if first == "evt_1" else (None, 1))


async def test_k_is_what_ranks_are_counted_from(desk: Desk) -> None:
    await desk.save({"summary": "apples in a cellar"}, vectors=False)
    (hit,) = (await desk.without(search_k=9.0, embedding=False).ask("memory_query", query="apples")).raw_hits
    assert hit.rank == pytest.approx(1 / 10)
