"""What is said when the index gave fewer than the filters leave."""

import pytest

from service.search.candidates import Candidates
from service.search.near import tell_cut
from service.search.parse import SearchSettings

SETTINGS = SearchSettings(exact_vectors=1_000, stream_size=400)


def found(events: int = 0, pages: int = 0) -> list[Candidates]:
    return [Candidates(1, is_page, count, "", "", "") for is_page, count in ((False, events), (True, pages)) if count]


@pytest.mark.parametrize(
    ("given", "left"),
    [(found(400), {False: 1_001}), (found(400, 80), {False: 900, True: 101}), (found(100, 50), {False: 990, True: 11})],
)
def test_enough_is_no_cut(given: list[Candidates], left: dict[bool, int]) -> None:
    assert tell_cut(given, left, SETTINGS) is None


@pytest.mark.parametrize(("given", "left"), [([], {False: 1_001}), (found(79), {False: 1_001}), (found(400), {False: 501, True: 500})])
def test_far_fewer_than_are_left_is_said(given: list[Candidates], left: dict[bool, int]) -> None:
    cut = tell_cut(given, left, SETTINGS)
    assert cut is not None
    assert (cut.where, cut.reason) == ("vector", "row_budget")
    assert "More than 1000 passages pass the filters" in cut.detail
    assert f"{sum(each.count for each in given if not each.is_page)} events" in cut.detail
