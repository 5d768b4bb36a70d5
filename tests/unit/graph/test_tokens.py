"""What the tokenizer makes of text."""

import pytest

from service.graph.rejection import GraphRejection
from service.graph.tokens import tokenize


def values(text: str) -> list[object]:
    return [token.value for token in tokenize(text)[:-1]]


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        (r"'a\\b'", "a\\b"),
        (r"'it\'s'", "it's"),
        (r'"say \"x\""', 'say "x"'),
        (r"'\n\r\t\b\f'", "\n\r\t\b\f"),
        (r"'\u00e9'", "é"),
        (r"'C:\users'", r"C:\users"),
        (r"'\u12'", r"\u12"),
        (r"'50\% \d'", r"50\% \d"),
        (r"'\\u0041'", r"\u0041"),
        (r"'\ud83d\ude00'", "😀"),
        (r"'\ud83d'", "\ufffd"),
        ("'// no comment /* here */'", "// no comment /* here */"),
        ("'zero\u200bwidth'", "zero\u200bwidth"),
    ],
)
def test_strings(literal: str, text: str) -> None:
    assert values(literal) == [text]


@pytest.mark.parametrize(
    ("text", "value"), [("12", 12), ("1.5", 1.5), ("1e3", 1000.0), ("2.5E-1", 0.25), ("9223372036854775807", 2**63 - 1)]
)
def test_numbers(text: str, value: float) -> None:
    assert values(text) == [value]
    assert type(values(text)[0]) is type(value)


def test_a_range_is_not_a_decimal() -> None:
    assert [token.text for token in tokenize("*1..3")] == ["*", "1", "..", "3", ""]


def test_comments_are_skipped_and_offsets_kept() -> None:
    tokens = tokenize("// it's\nSTART /* ' */ a")
    assert [(token.text, token.at) for token in tokens] == [("START", 8), ("a", 22), ("", 23)]


@pytest.mark.parametrize("text", ["a\u00a0b", "\ufeffSTART", "（a）", "a\u2028b", "#é"])
def test_only_ascii_separates(text: str) -> None:
    with pytest.raises(GraphRejection, match="not allowed here"):
        tokenize(text)
