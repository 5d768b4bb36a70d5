"""Text that can be stored: NUL and lone surrogates go, everything else stays as it was."""

from hypothesis import given
from hypothesis import strategies as st

from service.memory.text import clean_name, clean_text, cut_words

ANY = st.text(st.characters(codec=None, exclude_categories=()))


def test_nul_and_lone_surrogates_are_replaced() -> None:
    assert clean_text("a\x00b") == "a\ufffdb"
    assert clean_text("a\ud83d") == "a\ufffd"
    assert clean_text("\ude00b\ud83d\ud83d") == "\ufffdb\ufffd\ufffd"
    assert clean_text("\ud83d\ude00") == "😀"


def test_the_six_literal_characters_stay() -> None:
    assert clean_text(r"a\u0000b") == r"a\u0000b"
    assert clean_text(r"a\\u0000b\ud83d") == r"a\\u0000b\ud83d"


def test_content_keeps_its_unicode_form_and_a_name_does_not() -> None:
    assert clean_text("cafe\u0301 \ufeff") == "cafe\u0301 \ufeff"
    assert clean_name(" cafe\u0301\n") == "café"
    assert clean_name("ハ\u309a") == "パ"


@given(ANY)
def test_whatever_comes_can_be_stored(text: str) -> None:
    cleaned = clean_text(text)
    assert "\x00" not in cleaned
    assert cleaned.encode().decode() == cleaned
    assert clean_text(cleaned) == cleaned


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00")))
def test_what_can_be_stored_is_not_touched(text: str) -> None:
    assert clean_text(text) == text


@given(st.text(), st.integers(2, 40))
def test_a_cut_is_marked_and_within_the_limit(text: str, limit: int) -> None:
    cut = cut_words(text, limit)
    assert len(cut) <= limit
    assert cut == text or cut.endswith("…")
