"""Texts in pieces that fit a model, and one vector from those of the pieces."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.embed.pieces import estimate_tokens, fit, mean
from service.embed.provider import Failed, checked


@given(st.text(min_size=1).filter(str.strip), st.integers(1, 60))
def test_pieces_hold_the_text_and_fit(text: str, tokens: int) -> None:
    pieces = fit(text, tokens)
    assert all(piece.strip() for piece in pieces)
    assert all(estimate_tokens(piece) <= tokens or len(piece) == 1 for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_words_stay_whole() -> None:
    assert {word for piece in fit("alpha beta gamma delta " * 50, 40) for word in piece.split()} == {"alpha", "beta", "gamma", "delta"}


@pytest.mark.parametrize(("text", "at_least"), [("word " * 100, 120), ("测" * 100, 100), ("👩" * 100, 150), ("é" * 100, 90)])
def test_tokens_are_not_underrated(text: str, at_least: int) -> None:
    assert estimate_tokens(text) >= at_least


def test_a_longer_piece_weighs_more() -> None:
    vectors = [checked([1.0, 0.0], 2), checked([0.0, 1.0], 2)]
    merged = mean(["aaa", "a"], vectors, 2)
    assert not isinstance(merged, Failed)
    assert merged[0] / merged[1] == pytest.approx(3.0)
    assert math.hypot(*merged) == pytest.approx(1.0)


def test_a_piece_without_vector_fails_the_text() -> None:
    assert mean(["a", "b"], [checked([1.0], 1), Failed("refused")], 1) == Failed("refused")


def test_pieces_that_cancel_each_other_out_have_no_vector() -> None:
    assert mean(["a", "b"], [checked([1.0], 1), checked([-1.0], 1)], 1) == Failed("all_zero")
