"""Front matter: what is read, what stays text, what is refused."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.memory.front_matter import FrontMatter, front_matter


def test_known_keys() -> None:
    page = front_matter(
        "---\nTitle: Cafe\u0301\ntags: [a, '#b/c', a]\naliases: one, two words\ndate: 2026-01-01T09:00:00+09:00\nx: y\n---\n# Body\n"
    )
    assert page == FrontMatter("# Body\n", "Café", ("a", "b/c"), ("one", "two words"), datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("written", ["2024", "1.10", "yes", "2026-01-01", "0x1F"])
def test_scalars_stay_as_written(written: str) -> None:
    assert front_matter(f"---\ntitle: {written}\n---\n").title == written


def test_lists_as_titles_become_text_and_empty_ones_none() -> None:
    assert front_matter("---\ntitle: [a, b]\n---\n").title == '["a", "b"]'
    assert front_matter("---\ntitle:\n---\n").title is None
    assert front_matter("---\ntitle: ~\n---\n").title is None


@pytest.mark.parametrize(
    ("written", "tags"), [("'a b #c'", ("a", "b", "c")), ("a, b c", ("a", "b", "c")), ("[x, 1.10]", ("x", "1.10")), ("{a: b}", ())]
)
def test_tags_in_every_notation(written: str, tags: tuple[str, ...]) -> None:
    assert front_matter(f"---\ntags: {written}\n---\n").tags == tags


@pytest.mark.parametrize(
    "block",
    ["title: a: b", "title: {{title}}", "a: &a [x]\nb: *a", "a: " + "[" * 100, '"\\UFFFFFFFF": x', "a: \x01", "? [a]\n: b", "- \"open", "x: " + "a" * 70_000],
)  # fmt: skip
def test_yaml_that_is_not_read_stays_in_the_body_and_is_told(block: str) -> None:
    text = f"---\n{block}\n---\nbody"
    page = front_matter(text)
    assert page.body == text
    assert page.problem is not None
    assert (page.title, page.tags) == (None, ())


@pytest.mark.parametrize(
    ("block", "line", "reason"),
    [
        ("x: y\ntitle: a: b", 3, "mapping values are not allowed here"),
        ("x: y\ntitle: [unclosed", 3, "got the end)"),
        ('x: y\nq: "open\nz: 1', 3, "found unexpected end of stream"),
        ("a: \x01", 1, "special characters are not allowed"),
        ('"\\UFFFFFFFF": x', 1, "an escape that stands for no character"),
    ],
)
def test_the_problem_names_the_line_of_the_page_and_the_reason(block: str, line: int, reason: str) -> None:
    page = front_matter(f"---\n{block}\n---\nbody")
    assert page.problem_line == line
    assert reason in (page.problem or "")
    assert "unicode string" not in (page.problem or "")
    assert "\n" not in (page.problem or "")


def test_a_bomb_is_refused_before_it_grows() -> None:
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))
    assert "anchors" in (front_matter(f"---\nl0: &l0 x\n{levels}\n---\n").problem or "")


@pytest.mark.parametrize("text", ["no front matter", "---\ntitle: never closed", "---\njust a ruled line\n---\nx", " ---\na: b\n---\n", ""])
def test_what_is_no_front_matter_is_body(text: str) -> None:
    assert front_matter(text) == FrontMatter(text)


def test_a_byte_order_mark_and_windows_line_ends() -> None:
    assert front_matter("\ufeff---\r\ntitle: x\r\n---\r\nb\r\n") == FrontMatter("b\r\n", "x")
    assert front_matter("\ufeffbody") == FrontMatter("body")


def test_a_day_that_no_calendar_has_is_told_and_the_rest_is_read() -> None:
    page = front_matter("---\ntitle: x\ndate: 2026-02-30\n---\nb")
    assert (page.title, page.timestamp, page.body) == ("x", None, "b")
    assert "2026-02-30" in (page.problem or "")


@given(st.text(st.sampled_from("a:-[]{}&*!?|>'\"\\ \n#~%@,0\ud800"), max_size=120))
def test_no_block_breaks_it(block: str) -> None:
    page = front_matter(f"---\n{block}\n---\nend")
    assert page.body.endswith("end")
