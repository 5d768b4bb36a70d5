"""JSON from anywhere."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import MalformedBody
from service.surface.json_body import DEEPEST, parse_json, parse_lines

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (rb'"\ud83d"', "\ufffd"),
        (rb'"\ud83d\ude00"', "\U0001f600"),
        (rb'"a\u0000b"', "a\ufffdb"),
        (rb'"a\\u0000b"', "a\\u0000b"),
        (rb'{"\ud83d": ["\u0000"]}', {"\ufffd": ["\ufffd"]}),
        (b'["' + b"[" * 1000 + b'"]', ["[" * 1000]),
        (b'["\\"' + b"{" * 1000 + b'"]', ['"' + "{" * 1000]),
    ],
)
def test_reads_what_the_database_can_hold(raw: bytes, value: Any) -> None:
    assert parse_json(raw) == value


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"NaN",
        b"Infinity",
        b"\xff",
        b'"\x00"',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"]" * 100,
        b"1" * 5000,
        b'{"\\' * 100,
        b"1 2",
    ],
)
def test_refuses_what_is_no_json(raw: bytes) -> None:
    with pytest.raises(MalformedBody):
        parse_json(raw)


def test_the_depth_has_a_limit() -> None:
    assert parse_json(b"[" * DEEPEST + b"]" * DEEPEST)
    with pytest.raises(MalformedBody, match=str(DEEPEST)):
        parse_json(b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1))


@given(JSON)
def test_agrees_with_the_standard_parser(value: Any) -> None:
    raw = json.dumps(value)
    if "\\u0000" not in raw and not any("\\ud" in part for part in raw.split('"')):
        assert parse_json(raw.encode()) == value


def test_a_bad_line_stands_as_its_text() -> None:
    assert parse_lines(b'{"a": 1}\r\n\n{bad\n"\\ud83d"') == [{"a": 1}, "{bad", "\ufffd"]
