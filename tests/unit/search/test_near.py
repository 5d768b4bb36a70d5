"""What is said when an index gave fewer than asked for."""

from typing import Any

import pytest

from service.search.near import tell_short
from service.search.parse import SearchSettings

SETTINGS = SearchSettings(exact_vectors=1_000)


def rows(events: tuple[int, int] = (0, 0), pages: tuple[int, int] = (0, 0)) -> list[dict[str, Any]]:
    """Events and pages as found, and among how many passages."""
    found = ((False, *events), (True, *pages))
    return [{"is_page": is_page, "number": number, "seen": seen} for is_page, number, seen in found if number]


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (rows((200, 200)), {False: 1_001}),
        (rows((10, 10)), {False: 1_001}),
        (rows((200, 200), (9, 40)), {False: 1_001, True: 40}),
        (rows((200, 200), (9, 40)), None),
        (rows((3, 203)), None),
    ],
)
def test_enough_or_all_there_are_is_no_cut(given: list[dict[str, Any]], left: dict[bool, int] | None) -> None:
    assert tell_short(given, left, 10, 200, SETTINGS) is None


@pytest.mark.parametrize(
    ("given", "left", "said"),
    [
        ([], {False: 1_001}, "0 events"),
        (rows((9, 9)), {False: 1_001}, "9 events"),
        (rows((9, 5_000)), {False: 1_001}, "9 events"),
        (rows((200, 200), (9, 40)), {False: 1_001, True: 41}, "9 pages"),
        (rows((200, 200), (9, 200)), None, "9 pages"),
        (rows((1, 1), (2, 2)), {False: 1_001, True: 1_001}, "1 events and 2 pages"),
    ],
)
def test_fewer_than_asked_for_are_said(given: list[dict[str, Any]], left: dict[bool, int] | None, said: str) -> None:
    cut = tell_short(given, left, 10, 200, SETTINGS)
    assert cut is not None
    assert (cut.where, cut.reason) == ("vector", "row_budget")
    assert f"it gave {said} where 10 were asked for" in cut.detail
