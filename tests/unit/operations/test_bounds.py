"""Cutting to a number of bytes."""

import msgspec
import pytest

from service.graph.answer import Truncation
from service.operations.bounds import cut_text, say_cut, size_of


class Listed(msgspec.Struct, frozen=True):
    rows: list[int]
    row_count: int
    partial: bool
    truncated: list[Truncation]
    notes: list[str]


@pytest.mark.parametrize("text", ["", "abc", "€" * 100, '"\\\n' * 100, "a" * 50 + "\x1f" * 50])
@pytest.mark.parametrize("room", [-5, 0, 1, 2, 3, 17, 100, 10_000])
def test_the_longest_beginning_that_has_room(text: str, room: int) -> None:
    kept = cut_text(text, room)
    assert text.startswith(kept)
    assert not kept or size_of(kept) <= room
    assert kept == text or size_of(text[: len(kept) + 1]) > room


def test_a_cut_is_said_in_every_way_that_there_is() -> None:
    said = say_cut(Listed([1], 5, False, [], ["before"]), "rows cut")
    assert said == Listed([1], 1, True, [Truncation("answer", "answer_bytes", "rows cut")], ["before", "rows cut"])
