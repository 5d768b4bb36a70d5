"""Entities that can be told from the text alone: in comes any text, out come names with types, in the order of their first appearance.

One pass over the text with one pattern. Its alternatives are possessive or bounded and begin only where a token begins, so that the time is
linear whatever the text. What an alternative found is judged in `entity_kinds.py`. Fenced code gives only files, addresses and references
with an owner: its annotations, colours and class names are no people.
"""

import re
from collections.abc import Callable, Iterable, Iterator

import msgspec

from service.memory import entity_kinds as kinds
from service.memory.fences import stretches
from service.memory.letters import CJK, LETTER, SCRIPT_WORD, UPPER
from service.memory.text import clean_name
from service.memory.windows import matches
from service.memory.word_lists import CONNECTORS

_LONGEST_NAME = 200
_FILE_CHAR = rf"{LETTER}0-9_.@+~\-"
_BARE_CHAR = rf"{LETTER}0-9_@+~\-"
_FILE_START = rf"(?<![{_FILE_CHAR}/])"
# A segment that begins in CJK ends behind its ending, so that a particle written onto it (`설계.md를`) stays outside.
_SEGMENT = rf"(?:[{CJK}][{CJK}{LETTER}0-9_\-]*+(?:\.[A-Za-z0-9]++)*+|[{_FILE_CHAR}]++)"
_HEX = r"[0-9a-fA-F]{7,40}+(?![0-9A-Za-z_])"
_KEY = r"[A-Z][A-Z0-9]{1,9}+-[0-9]{1,7}+(?![0-9A-Za-z_\-])"
_WORD = rf"[{UPPER}][{LETTER}0-9_'’\-]*+"
_NEXT_WORD = rf"(?!{_KEY}|[{_BARE_CHAR}]*+[./][^\s.]){_WORD}"

_URL = r"(?P<url>https?://[!#-;=?-\[\]_a-z~]++)"
_TICKS = r"(?P<ticks>``++|`[^`\n]{1,200}`(?!`))"
_COMMIT = (
    r"(?P<commit>(?<![A-Za-z0-9_])(?i:commit(?:s|ted)?|sha1?|rev|revisions?|revert(?:s|ed)?|merged?|cherry-pick(?:ed)?|fixed in)"
    rf"[:=]? ?[`(\[]?(?<=[ :=`(\[]){_HEX}`?(?:(?:, ?|\.{{2,3}}| and | & )`?{_HEX}`?){{0,20}})"
)
_MAIL = rf"(?P<mail>(?<![{LETTER}0-9_.+\-])[{LETTER}0-9_.+\-]{{1,64}}+@[A-Za-z0-9.\-]++)"
_SLUG = (
    rf"(?P<slug>{_FILE_START}[A-Za-z0-9][A-Za-z0-9\-]{{0,38}}+/[A-Za-z0-9_.\-]{{1,100}}+"
    rf"(?:#[0-9]{{1,9}}+(?![0-9A-Za-z_])|@{_HEX}))"
)
_FILE = (
    rf"(?P<file>{_FILE_START}(?:[{_FILE_CHAR}]*+(?:/{_SEGMENT})++|[{_BARE_CHAR}]*+(?:\.[{_BARE_CHAR}]++)++)"
    rf"|(?<![{CJK}{_FILE_CHAR}/])[{CJK}]++(?:/{_SEGMENT})++"
    r"|(?<![A-Za-z0-9])[A-Za-z]:\\[^\s\"'`<>|*?:]{1,190}+)"
)
_ISSUE = rf"(?P<issue>(?<![A-Za-z0-9_&#/])#[0-9]{{1,9}}+(?![0-9A-Za-z_])|(?<![A-Za-z0-9_\-]){_KEY})"
_HASHTAG = rf"(?P<hashtag>(?<![A-Za-z0-9_&#/])#{SCRIPT_WORD}(?![(/]))"
_PERSON = rf"(?P<person>(?<![A-Za-z0-9_@.+/\-])@{SCRIPT_WORD}(?![(/@]))"
_NAME = rf"(?P<name>(?<![{LETTER}0-9_]){_WORD}(?:[ \u00a0](?:(?:{'|'.join(CONNECTORS)}) ){{0,2}}+{_NEXT_WORD})*+)"

# Most of a text: what no alternative begins with, and words in small letters that no sign of one follows. Taken first and many at a time.
_SIGNS = r"\s,;:()\"'=<>{}\[\]|*!?$%^&\\"
_COMMIT_WORDS = r"(?:commit|sha|rev|merge|cherry-pick|fixed in)"
_DULL = rf"(?:[{_SIGNS}]++|(?!{_COMMIT_WORDS})[a-z0-9_]++(?![{LETTER}0-9_.@+~\-/#&\\:])){{1,100}}+"
_DULL_CODE = _DULL.replace(rf"(?!{_COMMIT_WORDS})", "")

_PROSE = re.compile("|".join((_DULL, _URL, _TICKS, _COMMIT, _MAIL, _SLUG, _FILE, _ISSUE, _HASHTAG, _PERSON, _NAME)))
_NO_FILE = re.compile("|".join((_ISSUE, _HASHTAG, _PERSON, _NAME)))
_CODE = re.compile("|".join((_DULL_CODE, _URL, _MAIL, _SLUG, _FILE)))
_HASH = re.compile(r"[0-9a-fA-F]{7,40}")


class EntityName(msgspec.Struct, frozen=True):
    """What an entity is called, and its type: `file`, `identifier`, `url`, `issue`, `commit`, `hashtag`, `person` or `name`."""

    name: str
    type: str


def entities_in(text: str, limit: int = 50) -> list[EntityName]:
    """Name the first `limit` different things that the text itself gives away, without any model; names are NFC, up to 200 characters."""
    found: dict[EntityName, None] = {}
    for entity in _mentions(text):
        if len(found) >= limit:
            break
        name = clean_name(entity.name) if len(entity.name) <= 2 * _LONGEST_NAME else ""
        if 0 < len(name) <= _LONGEST_NAME:
            found[EntityName(name, entity.type)] = None
    return list(found)


def _mentions(text: str) -> Iterator[EntityName]:
    """Every mention in order, repetitions included."""
    for part in stretches(text):
        yield from _scan(_CODE if part.is_code else _PROSE, text, part.start, part.end)


def _scan(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[EntityName]:
    for found in matches(pattern, text, start, end):
        kind = found.lastgroup or ""
        if kind in _JUDGES:
            name = _JUDGES[kind](found)
            if name is not None:
                yield EntityName(name, kind)
            elif kind == "file" and pattern is _PROSE:
                # `Kim/Lee` and `v2.Alice` look like paths and are none: what else stands there is read without that meaning.
                yield from _scan(_NO_FILE, text, found.start(), found.end())
        elif kind in _READERS:
            yield from _READERS[kind](found[0])


def _in_ticks(span: str) -> Iterable[EntityName]:
    inner = span.strip("`").strip()
    if _HASH.fullmatch(inner) and kinds.is_hash(inner):
        return (EntityName(inner.lower(), "commit"),)
    if _URL_ONLY.fullmatch(inner) or " " in inner or "\t" in inner:
        return _scan(_CODE, inner, 0, len(inner))
    if kinds.path(inner) is not None:
        return (EntityName(inner, "file"),)
    return (EntityName(name, "identifier") for name in (kinds.identifier(inner),) if name)


def _commits(span: str) -> Iterable[EntityName]:
    return (EntityName(digits.lower(), "commit") for digits in _HASH.findall(span) if kinds.is_hash(digits))


def _slug(span: str) -> Iterable[EntityName]:
    commit = span.partition("@")[2]
    return (EntityName(commit.lower(), "commit"),) if commit else (EntityName(span, "issue"),)


_URL_ONLY = re.compile(_URL)
_JUDGES: dict[str, Callable[[re.Match[str]], str | None]] = {
    "url": lambda found: kinds.url(found[0]),
    "file": lambda found: kinds.path(found[0]),
    "issue": lambda found: kinds.issue(found[0]),
    "hashtag": lambda found: kinds.hashtag(found[0][1:]),
    "person": lambda found: kinds.person(found[0][1:]),
    "name": lambda found: kinds.proper_name(found.string, found.start(), found.end()),
}
_READERS: dict[str, Callable[[str], Iterable[EntityName]]] = {"ticks": _in_ticks, "commit": _commits, "slug": _slug}
