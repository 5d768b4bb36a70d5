"""The conversion's complaints in words that a caller of any language reads: in comes msgspec's text, out comes ours."""

import re
from typing import Final

_AT: Final = re.compile(r"(?P<what>.*?)(?: - at `(?:key in )?\$\.?(?P<where>.*)`)?", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>[^`]*)`")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<name>[^`]*)`")
_TYPES: Final = re.compile(r"`([^`]*)`")
_WORDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
    "datetime": "a point in time",
}


def describe_error(text: str) -> str:
    """`Expected `int`, got `str` - at `$.limit`` becomes `limit: expected a whole number, got text.`"""
    match = _AT.fullmatch(text)
    what, where = (match["what"], match["where"] or "") if match else (text, "")
    if missing := _MISSING.fullmatch(what):
        return f"{_join(where, missing['name'])}: must be given."
    if unknown := _UNKNOWN.fullmatch(what):
        return f"{_join(where, unknown['name'])}: there is no such field."
    if is_choice(what):
        what = f"{what.removeprefix('Invalid enum value').strip()} is none of the values that are allowed"
    worded = _TYPES.sub(lambda found: " or ".join(_WORDS.get(part, part) for part in found[1].split(" | ")), what)
    worded = worded[:1].lower() + worded[1:]
    return f"{where}: {worded}." if where else f"{worded}."


def is_choice(text: str) -> bool:
    """Whether the complaint is of a value that is none of few."""
    return text.startswith("Invalid enum value")


def place_of(text: str) -> str:
    """The place that a complaint names; empty for the whole."""
    match = _AT.fullmatch(text)
    return (match["where"] or "") if match else ""


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
