"""How given values are bound: of the column's type, or equal to nothing."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from service.graph.ast import Constant, Listing, Param
from service.graph.rejection import GraphRejection
from service.graph.values import Equals, Found, Members, Ordered, Verdict, clean, number_of

X = Param(name="x", at=0)


@pytest.mark.parametrize(
    ("text", "number"),
    [("evt_42", 42), ("evt_042", None), ("evt_0", None), ("evt_", None), ("ent_42", None), ("evt_42 ", None), ("evt_٤", None), (42, None), (None, None)],
)  # fmt: skip
def test_ids(text: object, number: int | None) -> None:
    assert number_of(text, "Event") == number


def test_ids_beyond_the_largest_are_none() -> None:
    assert number_of(f"evt_{2**63 - 1}", "Event") == 2**63 - 1
    assert number_of(f"evt_{2**63}", "Event") is None


@pytest.mark.parametrize(
    ("kind", "value", "bound"),
    [
        ("text", "a", ["a"]),
        ("text", 1, []),
        ("text", None, [None]),
        ("id", "evt_7", [7]),
        ("id", "ent_7", []),
        ("integer", 1.0, [Decimal(1)]),
        ("integer", 2**60 + 1, [Decimal(2**60 + 1)]),
        ("integer", -(10**500), [Decimal(-(10**30))]),
        ("float", 1, [1.0]),
        ("float", 10**400, [1e308]),
        ("time", "2026-01-01", [datetime(2026, 1, 1, tzinfo=UTC)]),
        ("time", "2026-01-01T01:00:00+01:00", [datetime(2026, 1, 1, tzinfo=UTC)]),
    ],
)
def test_equality_binds_the_column_s_type(kind: Any, value: object, bound: list[object]) -> None:
    assert Equals(X, kind).bind({"x": value}) == bound


@pytest.mark.parametrize("kind", ["integer", "float", "time"])
def test_an_unlike_value_stands_for_nothing_stored(kind: Any) -> None:
    (stand_in,) = Equals(X, kind).bind({"x": True})  # type: ignore[misc]
    assert stand_in != stand_in or stand_in.year == 9999


def test_lists_keep_nulls_and_lose_what_is_unlike() -> None:
    assert Members(X, "text").bind({"x": ["a", 1, None, True]}) == ["a", None]
    assert Members(X, "text").bind({"x": None}) is None
    given = Listing(items=(Constant(value="b", at=0), X), at=0)
    assert Members(given, "text").bind({"x": "c"}) == ["b", "c"]


@pytest.mark.parametrize(
    ("kind", "value", "bound"), [("text", 1, None), ("integer", "1", None), ("integer", True, None), ("float", 2, 2.0)]
)
def test_an_order_with_an_unlike_value_is_null(kind: Any, value: object, bound: object) -> None:
    assert Ordered(X, kind).bind({"x": value}) == bound


@pytest.mark.parametrize(
    ("op", "left", "right", "verdict"),
    [
        ("=", 1, 1.0, True), ("=", "1", 1, False), ("<>", "1", 1, True), ("<", "a", 1, None), ("<", 1, 2, True), ("=", None, 1, None),
        ("=", True, 1, False), ("=", "é", "e\u0301", True), (">=", "b", "a", True), ("<", True, 2, None),
    ],
)  # fmt: skip
def test_two_given_values_are_compared_here(op: Any, left: Any, right: Any, verdict: bool | None) -> None:
    assert Verdict(op, Constant(value=left, at=0), X).bind({"x": right}) is verdict


@pytest.mark.parametrize(
    ("value", "values", "verdict"), [(1, [1.0], True), (1, [], False), (None, [], False), (1, [None], None), (1, ["1"], False)]
)
def test_a_given_value_in_a_given_list(value: Any, values: list[Any], verdict: bool | None) -> None:
    assert Found(Constant(value=value, at=0), X).bind({"x": values}) is verdict


@pytest.mark.parametrize("value", [{"a": 1}, [[1]], float("inf"), float("nan"), [float("inf")]])
def test_only_scalars_and_flat_lists_are_bound(value: object) -> None:
    with pytest.raises(GraphRejection) as caught:
        Members(X, "text").bind({"x": value})
    assert caught.value.blocked_by == "params"


def test_text_that_postgres_cannot_hold_is_replaced() -> None:
    assert clean("a\x00b\ud800") == "a\ufffdb\ufffd"
    assert clean("e\u0301") == "é"
