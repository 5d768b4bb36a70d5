"""Points in time as callers write them, and what is planned for a request."""

from datetime import UTC, datetime

import pytest

from service.errors import InvalidRequest, TooLong
from service.search.parse import MAX_QUERY, SearchRequest, read_moment
from service.search.plan import plan_search


def test_a_date_is_its_whole_day_where_time_ends() -> None:
    assert read_moment("since", "2026-01-31") == datetime(2026, 1, 31, tzinfo=UTC)
    assert read_moment("until", "2026-01-31") == datetime(2026, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert read_moment("as_of", "2026-01-31T12:00:00+09:00") == datetime(2026, 1, 31, 3, tzinfo=UTC)


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        read_moment("since", "yesterday")


def test_a_plan_names_the_filters_that_are_asked_for() -> None:
    plain = plan_search(SearchRequest(query="x y"))
    assert plain.filters == ()
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    full = plan_search(SearchRequest(query='x "a plan" -z1', kinds=["note"], tags=["/A/b/"], since=moment, until=moment, as_of=moment))
    assert full.filters == ("kinds", "since", "until", "as_of", "phrases", "excluded", "tags", "unchanged")
    assert full.name_filters == ("kinds", "since", "until", "as_of", "excluded", "tags", "unchanged")
    assert full.values["tags"] == ["a/b"]


@pytest.mark.parametrize(("query", "embedded"), [("the", True), ("!!!", False), ("", False), ("-update", False), ("plain", True)])
def test_only_what_asks_something_is_embedded(query: str, embedded: bool) -> None:
    assert bool(plan_search(SearchRequest(query=query)).to_embed) is embedded


def test_what_cannot_be_stored_cannot_be_asked() -> None:
    plan = plan_search(SearchRequest(query="a\x00b \ud83d c", kinds=["\x00"], tags=["\udc00"]))
    for text in (plan.to_embed, *plan.names.names, *plan.names.spelled, *plan.values["kinds"], *plan.values["tags"]):
        assert "\x00" not in text
        text.encode()


def test_a_query_has_a_longest_length() -> None:
    with pytest.raises(TooLong):
        plan_search(SearchRequest(query="x" * (MAX_QUERY + 1)))
