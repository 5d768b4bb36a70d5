"""A vector is stored only when cosine can rank it."""

import math
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.embed.provider import EmbeddingUnavailable, Failed, Space, checked, vector_text


@pytest.mark.parametrize(
    ("vector", "reason"),
    [
        ([0.0, 0.0], "all_zero"),
        ([1e-30, 0.0], "all_zero"),
        ([math.nan, 1.0], "not_finite"),
        ([math.inf, 1.0], "not_finite"),
        ([-math.inf, math.inf], "not_finite"),
        ([1.0], "wrong_size"),
        ([1.0, 2.0, 3.0], "wrong_size"),
        ([], "wrong_size"),
        (None, "not_numbers"),
        ([None, 1.0], "not_numbers"),
        (["1", 1.0], "not_numbers"),
        (["ab", 1.0], "not_numbers"),
        ({"embedding": [1.0, 2.0]}, "not_numbers"),
        ("ab", "not_numbers"),
        (7, "not_numbers"),
        ([10**400, 1.0], "not_numbers"),
    ],
)
def test_what_cannot_be_ranked_is_refused(vector: object, reason: str) -> None:
    assert checked(vector, 2) == Failed(reason)  # pyright: ignore[reportArgumentType]


@given(st.lists(st.floats(-1e300, 1e300).filter(lambda value: abs(value) > 1e-6), min_size=3, max_size=3))
def test_a_vector_is_brought_to_length_one(values: list[float]) -> None:
    vector = checked(values, 3)
    assert isinstance(vector, array)
    assert math.hypot(*vector) == pytest.approx(1.0, abs=1e-5)


def test_a_failure_is_handed_on() -> None:
    assert checked(Failed("empty_text"), 2) == Failed("empty_text")
    assert Failed("empty_text").lasting
    assert not Failed("all_zero").lasting


def test_the_text_of_a_vector_keeps_what_half_floats_keep() -> None:
    values = array("f", [0.123456789, -1.0, 0.0, 3.0517578e-05])
    text = vector_text(values)
    assert text == "[0.12346,-1,0,3.0518e-05]"
    assert [float(part) for part in text[1:-1].split(",")] == pytest.approx(list(values), rel=5e-5)


def test_the_error_names_provider_and_model_but_not_the_cause() -> None:
    problem = EmbeddingUnavailable(Space("openai", "text-embedding-3-small", 1536), "timeout").problem()
    assert problem.code == "embedding_unavailable"
    assert problem.members == {"provider": "openai", "model": "text-embedding-3-small", "reason": "timeout"}
    assert "openai" in problem.error
