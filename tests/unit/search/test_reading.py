"""What a query's text says is read once and kept within bounds."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.search import reading
from service.search.reading import LONGEST_KEPT, MOST_KEPT, read_text

DAY = date(2026, 11, 30)
TEXTS = [
    "where is the adapter",
    'a "quoted phrase" -excluded',
    "Wo ist der Vertrag mit Anna?",
    "缓存是什么",
    "rare in June",
    "",
    "the",
    "-x1",
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_kept_says_the_same(text: str) -> None:
    kept = read_text(text, DAY)
    assert read_text(text, DAY) is kept
    reading._read_kept.cache_clear()  # pyright: ignore[reportPrivateUsage]
    again = read_text(text, DAY)
    assert again is not kept
    assert again == kept


def test_only_so_many_texts_and_no_long_ones_are_kept() -> None:
    first = read_text("text 0", DAY)
    for number in range(1, MOST_KEPT + 1):
        read_text(f"text {number}", DAY)
    assert read_text("text 0", DAY) is not first
    long = "x" * (LONGEST_KEPT + 1)
    assert read_text(long, DAY) is not read_text(long, DAY)
    assert read_text(long, DAY) == read_text(long, DAY)


@pytest.mark.parametrize("text", TEXTS)
def test_nothing_that_is_kept_can_be_changed(text: str) -> None:
    kept = read_text(text, DAY)
    hash((kept.words, kept.names, kept.to_embed, kept.notes))
    hash(tuple(kept.facts.items()))
    with pytest.raises(TypeError):
        kept.facts["words"] = ()  # type: ignore[index]
    with pytest.raises(AttributeError):
        kept.notes = ()  # type: ignore[misc]


def test_the_text_alone_tells_what_facts_are_asked() -> None:
    read = read_text("Vertrag in June 2026", DAY)
    assert read.facts["words"] == ("2026", "june", "vertrag")
    assert read.facts_forms
    assert read.facts["ranges"] == "{[2026-06-01 00:00+00,2026-07-01 00:00+00)}"
    assert "ranges" not in read_text("where is the adapter", DAY).facts
    assert not read_text("where is the adapter", DAY).facts_forms


@given(st.text(max_size=80))
def test_lists_that_go_as_one_text_come_apart_again(text: str) -> None:
    """Names are lines, words stand between spaces."""
    read = read_text(text, DAY)
    values = {**read.facts, **read.names.values()}
    for name, items in (("names", read.names.names), ("sessions", read.names.spelled), ("page_names", read.names.page_names)):
        assert tuple(values[name].split("\n") if values[name] else ()) == items
    if read.facts_forms:
        assert all(part.isalpha() for name in ("parts", "markers") for part in read.facts[name].split(" ") if part)


def test_what_is_kept_is_of_its_day() -> None:
    read = {day: read_text("Vertrag von gestern", date(2026, 5, day)).facts["ranges"] for day in (1, 2)}
    assert read == {1: "{[2026-04-30 00:00+00,2026-05-01 00:00+00)}", 2: "{[2026-05-01 00:00+00,2026-05-02 00:00+00)}"}
