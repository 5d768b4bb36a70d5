"""Long texts are searched window by window, and what is found is what one search finds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.memory import extract, passages, windows
from service.memory.extract import entities_in
from service.memory.passages import elide
from service.memory.redact import redact
from service.memory.secret_patterns import DETECTORS
from service.memory.secret_values import is_literal
from service.memory.windows import matches
from tests.unit.memory.secret_builder import key_block

_FRAGMENTS = st.sampled_from(
    ["commit ", "abcdef1 ", "@alice ", "bob@example.com ", "#12 ", "ABC-123 ", "src/app/main.py ", "https://example.com/a?b=c. ", "`code` ",
     "```\n", "~~~\n", "\n", "\n\n", "  ", "Alice Smith ", "Bank of England ", "I ", "plain words here ", "École Normale ", "서울시는 ",
     "설계.md를 ", "東京タワー ", "ひらがな/カタカナ.md ", "ab", "C:\\x ", "Kim/Lee ", "owner/repo#12 ", "owner/repo@deadbee1 ", ".", "-", "/", "é", ":",
     "merged `abcdef12`, ", "# Heading\n", "x" * 70 + "\n", "AbCd" * 16 + "\n", "a" * 230 + " ", " " * 230, "中文没有空格的文本", "password: ", "://", "(", "'"]
)  # fmt: skip
_TEXTS = st.lists(_FRAGMENTS, max_size=60).map("".join)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows that a short text is longer than."""
    for name, size in (("WINDOW", 40), ("_REACH", 300), ("_LONGEST_WORD", 100)):
        monkeypatch.setattr(windows, name, size)


@pytest.mark.usefixtures("small")
@given(
    st.lists(_TEXTS, min_size=1, max_size=8).map("".join),
    st.sampled_from([r"[a-z]+(?!\w)", r"(?<![a-z])@\S{1,40}", r"^#+ .{1,80}$", r"\d{2,}+"]),
)
def test_windows_find_what_one_search_finds(text: str, pattern: str) -> None:
    compiled = re.compile(pattern, re.MULTILINE)
    assert [found.span() for found in matches(compiled, text)] == [found.span() for found in compiled.finditer(text)]


@given(_TEXTS)
def test_what_is_passed_over_holds_no_entity(text: str) -> None:
    told = entities_in(text)
    with pytest.MonkeyPatch.context() as patch:
        for name, passed in (("_PROSE", "_DULL"), ("_CODE", "_DULL_CODE")):
            whole, dull = getattr(extract, name).pattern, getattr(extract, passed)
            assert whole.startswith(dull + "|")
            patch.setattr(extract, name, re.compile(whole.removeprefix(dull + "|")))
        assert entities_in(text) == told


def test_a_match_longer_than_a_window_is_whole() -> None:
    key = key_block()
    text = "Some words stand here.\n" * 8_000 + key + "\n" + "and others there.\n" * 8_000
    found = redact(text)
    assert found.kinds == {"private_key": 1}
    assert found.text == text.replace(key, "[redacted:private_key]")


@given(st.lists(_TEXTS, max_size=12).map("".join))
def test_long_texts_are_shortened_alike_in_stretches(text: str) -> None:
    whole = elide(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passages, "_STRETCH", 100)
        assert elide(text) == whole


def test_lines_of_base64_without_an_end_are_read_once() -> None:
    """Tried from each of its lines anew, this would take hours."""
    lines = ("QUJD" * 16 + "\n") * 100_000
    assert elide(lines + "and no end") == lines + "and no end"
    assert elide(lines).count("…") == 1


@given(
    st.lists(
        st.sampled_from(["http", "a+b", "://", "u:", "p4ss", "@h", "@", " ", "/", ":", "x" * 40, "redis", "-", '"', "1"]), max_size=30
    ).map("".join)
)
def test_addresses_are_found_by_their_sign(text: str) -> None:
    written = re.compile(
        r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))[A-Za-z][A-Za-z0-9+.\-]{1,30}+://[^\s:/@?#\"'`<>]{0,256}+:(?P<secret>[^\s/\"'`<>]{1,512})@(?=[A-Za-z0-9\[_%.\-])"
    )
    first = next(detector for detector in DETECTORS if detector.kind == "url_password")
    judged = [found.span("secret") for found in written.finditer(text) if is_literal(found["secret"])]
    assert list(first.spans(text)) == judged
