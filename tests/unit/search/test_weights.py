"""Vectors lead where the text matches are beside the point, and only there."""

from datetime import UTC, datetime
from typing import TypeAlias

import msgspec
import pytest

from service.search.answer import Found, Stream
from service.search.candidates import Candidates, pack
from service.search.parse import SearchRequest, SearchSettings
from service.search.plan import plan_search
from service.search.weights import is_beside, set_weights, weigh_streams

Lists: TypeAlias = dict[Stream, list[Candidates]]
SETTINGS = SearchSettings(vector_weight=0.2, vector_lead=50.0, beside=0.5)


def listed(*scores: float, place: int = 1, is_page: bool = False, first: int = 1) -> list[Candidates]:
    return pack([Found(place, is_page, number, None, score) for number, score in enumerate(scores, first)])


FAR: Lists = {"fts": listed(1.0, 1.0, first=3), "entity": [], "graph": [], "vector": listed(0.8, 0.7, 0.3, 0.2)}
NEAR: Lists = {**FAR, "fts": listed(1.0, 1.0)}


def weigh(found: Lists, query: str = "night mode", *, whole: float = 2.0, as_of: datetime | None = None) -> float:
    request = SearchRequest(query=query, as_of=as_of)
    plan = plan_search(request)
    weights = weigh_streams(plan, found, whole, SETTINGS)
    assert {**weights, "vector": 0.2} == set_weights(plan, SETTINGS)
    return weights["vector"]


def test_vectors_lead_where_what_the_words_found_is_far_away() -> None:
    assert weigh(FAR) == pytest.approx(10.0)
    assert weigh(NEAR) == 0.2


def test_vectors_lead_where_words_found_nothing() -> None:
    assert weigh({**FAR, "fts": []}) == pytest.approx(10.0)
    assert weigh({**FAR, "fts": [], "vector": []}) == 0.2


@pytest.mark.parametrize(("held", "leads"), [(0.0, True), (1.59, True), (1.61, False)])
def test_a_text_that_holds_nearly_the_whole_query_is_what_was_asked_for(held: float, leads: bool) -> None:
    (texts,) = FAR["fts"]
    assert (weigh({**FAR, "fts": [msgspec.structs.replace(texts, held=held)]}) > 1) is leads


def test_what_the_query_names_and_when_it_was_is_no_matter_of_vectors() -> None:
    named = pack([Found(1, False, 9, None, 1.0, itself=True)])
    assert weigh({**FAR, "entity": named}) == 0.2
    assert weigh(FAR, "dinner in June 2026") == 0.2
    assert weigh(FAR, as_of=datetime(2026, 6, 1, tzinfo=UTC)) == 0.2
    assert weigh(FAR, whole=0.0) == 0.2


def test_each_text_match_counts_by_its_score() -> None:
    near_first, far_first = listed(9.0, 1.0, first=2), listed(1.0, 9.0, first=2)
    vectors = listed(0.8, 0.8, 0.0)
    assert not is_beside(near_first, vectors, 0.5)
    assert is_beside(far_first, vectors, 0.5)


def test_a_match_beyond_the_nearest_is_as_near_as_their_last() -> None:
    assert not is_beside(listed(1.0, first=7), listed(0.8, 0.5), 0.5)
    assert is_beside(listed(1.0, first=7), listed(0.8, 0.3), 0.5)


def test_pages_and_events_of_each_project_have_their_own_nearest() -> None:
    vectors = [*listed(0.8, 0.1), *listed(0.1, is_page=True), *listed(0.7, place=2)]
    assert not is_beside(listed(1.0), vectors, 0.5)
    assert is_beside(listed(1.0, is_page=True), vectors, 0.5)
    assert not is_beside(listed(1.0, place=2), vectors, 0.5)
    assert not is_beside(listed(1.0, place=3), vectors, 0.5)  # of which no vector is known


def test_nothing_that_is_near_is_no_evidence() -> None:
    assert not is_beside([], listed(-0.1, -0.2), 0.5)
