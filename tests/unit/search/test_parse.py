"""Arguments as callers write them."""

from datetime import UTC, datetime

import pytest

from service.errors import InvalidRequest, TooLong
from service.search.parse import MAX_QUERY, SearchRequest, parse_arguments
from service.search.plan import plan_search


@pytest.mark.parametrize("alias", ["q", "search", "query"])
def test_aliases_of_the_query(alias: str) -> None:
    assert parse_arguments({alias: "x"}).query == "x"


@pytest.mark.parametrize("alias", ["n", "top_k", "limit"])
def test_aliases_of_the_limit(alias: str) -> None:
    assert parse_arguments({"query": "x", alias: 3}).limit == 3


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": 1},
        {"query": "x", "q": "y"},
        {"query": "x", "min_score": 0.3},
        {"query": "x", "limit": "many"},
        {"query": "x", "limit": 1.5},
        {"query": "x", "since": "yesterday"},
        {"query": "x", "since": True},
        {"query": "x", "until": []},
        {"query": "x", "scopes": [{"project": "a"}], "project": "b"},
        {"query": "x", "scopes": [{"project": "a"}], "global": True},
        {"query": "x", "scopes": [{"projects": "a"}]},
        {"query": "x", "scopes": []},
        {"query": "x", "scopes": [{"project": "a"}] * 26},
        {"query": "x", "global": True, "project": "b"},
    ],
)
def test_what_cannot_be_read_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        parse_arguments(arguments)


def test_a_date_is_its_whole_day_where_time_ends() -> None:
    request = parse_arguments({"query": "x", "since": "2026-01-31", "until": "2026-01-31", "as_of": "2026-01-31T12:00:00+09:00"})
    assert request.since == datetime(2026, 1, 31, tzinfo=UTC)
    assert request.until == datetime(2026, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert request.as_of == datetime(2026, 1, 31, 3, tzinfo=UTC)


def test_every_argument_is_read() -> None:
    request = parse_arguments({"query": "x", "global": True, "explain": True, "rerank": False, "kinds": ["note"], "tags": ["a/b"]})
    assert (request.everything, request.explain, request.rerank, request.kinds, request.tags) == (True, True, False, ["note"], ["a/b"])


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
