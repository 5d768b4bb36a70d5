"""Snippets: marks around matches, everything else escaped, the densest part shown."""

import html
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.memory.words import analyse_word
from service.search.snippets import Marks, make_snippet, stub_of
from service.search.word_query import read_query


def _words(text: str) -> list[str]:
    return text.split()


ENDINGS = _words(
    "s es ed ied ies ing ingly edly eed sses ly e y al er ic able ible ant ment ization ational ator alism fulness ously iveness ivity "
    "bility bly ency ogy icate ical ative ying"
)
WORDS = _words(
    "use using user's happily sky skies die dying ability able the running runs a news getUserName user_name src/app/main.py main C++ can't "
    "v2.1.0 HTTPServer APIs x=1 -- e-mail <b> naïve café—bar 测试 ①"
)


def snippet(text: str, query: str) -> str:
    return make_snippet(text, Marks.of(read_query(query)))


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("We migrated <b>all</b> & sundry", "migration", "We <mark>migrated</mark> &lt;b&gt;all&lt;/b&gt; &amp; sundry"),
        ("open src/app/main.py", "src/app/main.py", "open <mark>src/app/main.py</mark>"),
        ("open src/app/main.py", "main", "open src/app/<mark>main</mark>.py"),
        ("这是一个测试吗", "测试", "这是一个<mark>测试</mark>吗"),
        ("日本語のテストです", "テスト", "日本語の<mark>テスト</mark>です"),
        ("试验", "试", "<mark>试</mark>验"),
        ("café au lait", "cafe", "<mark>café</mark> au lait"),
        ("ｆｕｌｌ ①", "full", "<mark>ｆｕｌｌ</mark> ①"),
        ("nothing of it", "absent", "nothing of it"),
        ("</mark><mark>", "mark", "&lt;/<mark>mark</mark>&gt;&lt;<mark>mark</mark>&gt;"),
    ],
)
def test_matches_are_marked_and_the_rest_is_escaped(text: str, query: str, expected: str) -> None:
    assert snippet(text, query) == expected


def test_decomposed_text_is_shown_as_it_is() -> None:
    text = unicodedata.normalize("NFD", "un café noir")
    assert snippet(text, "cafe") == text.replace(
        unicodedata.normalize("NFD", "café"), "<mark>" + unicodedata.normalize("NFD", "café") + "</mark>"
    )


def test_the_densest_part_is_shown() -> None:
    text = "alpha " + "filler " * 100 + "beta gamma " + "filler " * 100
    shown = snippet(text, "alpha beta gamma")
    assert "<mark>beta</mark> <mark>gamma</mark>" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) < 340


@given(st.text(max_size=600), st.text(max_size=20))
def test_only_marks_are_markup(text: str, query: str) -> None:
    shown = snippet(text, query)
    bare = re.sub(r"</?mark>", "", shown)
    assert "<" not in bare
    assert ">" not in bare
    assert html.unescape(bare).strip("…").strip() in text


@given(st.text(st.sampled_from("aeiouybdlstvz"), max_size=5), st.lists(st.sampled_from(ENDINGS), max_size=3).map("".join))
@example("d", "ying")
@example("sk", "ies")
@example("", "bility")
def test_a_word_begins_like_its_stem(beginning: str, ending: str) -> None:
    lexeme = analyse_word(beginning + ending)
    assert lexeme is None or (beginning + ending).startswith(stub_of(lexeme))


@given(
    st.lists(st.sampled_from(WORDS), max_size=80), st.sampled_from([" ", "  ", "\n", ", "]), st.lists(st.sampled_from(WORDS), max_size=4)
)
def test_a_text_is_marked_the_same_whatever_else_it_holds(words: list[str], between: str, query: list[str]) -> None:
    """Texts are looked through for what may match; one with a letter that is longer when it is small is read whole."""
    text = between.join(words)[:240]
    whole = snippet(text + " İ", " ".join(query))
    assert snippet(text + " .", " ".join(query)) == f"{whole[:-1]}."
    assert snippet(text + " ☃", " ".join(query)) == f"{whole[:-1]}☃"
