"""JSON as clients send it: in come bytes, out come values that the database can hold.

Lone surrogates and NUL become U+FFFD, in keys too. What is no JSON, or nested deeper than 64, is a `MalformedBody`.
"""

import json
import re
from typing import Any, Final, NoReturn

import msgspec

from service.errors import MalformedBody
from service.memory.text import clean_text

DEEPEST: Final = 64
_STRINGS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NOT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")


def parse_json(raw: bytes) -> Any:
    """The value; raises `MalformedBody`."""
    require_shallow(raw)
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _parse_leniently(raw, str(error))
    return clean_value(value) if b"\\u0000" in raw else value


def parse_lines(raw: bytes) -> list[Any]:
    """The value of each line that is not blank; a line that is no JSON stands as its text, so that it fails alone."""
    return [_parse_line(line) for line in raw.splitlines() if line.strip()]


def require_shallow(raw: bytes) -> None:
    """Raises `MalformedBody` for nesting that a parser would have to recurse into too deeply. Linear in the length, no recursion."""
    if raw.count(b"[") + raw.count(b"{") <= DEEPEST:
        return
    brackets = _STRINGS.sub(b"", raw).translate(None, _NOT_BRACKETS)
    for _ in range(DEEPEST):
        if not brackets:
            return
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    if brackets:
        raise MalformedBody(f"The body is nested deeper than {DEEPEST} levels, or its brackets do not match.")


def clean_value(value: Any) -> Any:
    """The value with every text in it made storable; nested at most as deep as `parse_json` lets through."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_value(item) for item in value]
    if isinstance(value, dict):
        return {clean_value(name): clean_value(item) for name, item in value.items()}
    return value


def _parse_leniently(raw: bytes, reason: str) -> Any:
    """The standard parser takes lone surrogates, which msgspec refuses with the rest of the body."""
    try:
        return clean_value(json.loads(raw.decode(), parse_constant=_refuse))
    except (ValueError, RecursionError) as error:
        raise MalformedBody(f"The body is no JSON: {reason}.") from error


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _parse_line(line: bytes) -> Any:
    try:
        return parse_json(line)
    except MalformedBody:
        return line.decode(errors="replace")
