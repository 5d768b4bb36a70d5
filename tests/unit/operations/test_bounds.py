"""Cutting to a number of bytes."""

import msgspec
import pytest

from service.graph.answer import Truncation
from service.operations import CATALOGUE
from service.operations.bounds import cut_text, say_cut, size_of
from service.operations.operation import Operation

READING = [
    each for each in CATALOGUE if each.lines is None and (each.scope == "read" or {route.method for route in each.routes} == {"GET"})
]
# Lists with a bound of their own: what was named in the request, what one page or one workspace may have, what is said of the answer itself.
SHORT = {
    "truncated",
    "notes",
    "missing",
    "next_ids",
    "columns",
    "entities",
    "tags",
    "aliases",
    "scopes",
    "quota",
    "plan",
    "streams_active",
    "spaces",
}


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


@pytest.mark.parametrize("operation", READING, ids=lambda operation: operation.name)
def test_every_list_of_an_answer_can_end_earlier(operation: Operation) -> None:
    lists = {field.name for field in msgspec.structs.fields(operation.answer) if "list" in str(field.type) or "tuple" in str(field.type)}
    assert lists - SHORT <= set(operation.lists)
    assert set(operation.lists) <= lists
    if "next_cursor" in operation.answer.__struct_fields__:
        assert {"limit", "cursor"} <= set(operation.request.__struct_fields__)
