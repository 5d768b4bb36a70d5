"""Judges of what looks like an entity: in comes the spelling that a pattern found, out comes the entity's name, or None when it is none."""

import re
import unicodedata
from itertools import takewhile

from service.memory import word_lists as words
from service.memory.letters import CJK, LETTER

_LONGEST = 400
_MOST_WORDS = 8
_ENDING = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,9})\Z")
_HOST = re.compile(r"\.(?:com|dev|io|net|org)\Z")
_COLOUR = re.compile(r"[0-9a-fA-F]{6}|[0-9a-fA-F]{8}|(?=[a-fA-F]*[0-9]|(.)\1)[0-9a-fA-F]{3}")
_CJK_NEXT = re.compile(rf"[{CJK}]")
_ALPHANUMERIC = re.compile(rf"[{LETTER}{CJK}0-9]")
_SENTENCE_ENDS = ".!?…:;|。！？：；"
_WRAPPERS = " \t\u00a0*_~\"'“”‘’«([{<>`"
_OPENERS = {")": "(", "]": "["}
_HANGUL_FIRST, _HANGUL_LAST = 0xAC00, 0xD7A3


def url(text: str) -> str | None:
    """An address without the punctuation of the sentence around it; one that carries a login or is over 200 characters long is left out."""
    if len(text) > _LONGEST:
        return None
    while text and (text[-1] in ".,;:!?'*_" or (text[-1] in _OPENERS and text.count(text[-1]) > text.count(_OPENERS[text[-1]]))):
        text = text[:-1]
    host = text.partition("://")[2].partition("/")[0]
    return text if host and "@" not in host else None


def path(text: str) -> str | None:
    """A file's path: one with a slash and an ending, one that starts at a known place, or a bare name with a well-known ending."""
    text = text.rstrip(".-~+@")
    if not text or len(text) > _LONGEST:
        return None
    if text[1:3] == ":\\":
        return text.rstrip(",;)")
    folders, slash, last = text.rpartition("/")
    found = _ENDING.search(last)
    ending = found[1].lower() if found else ""
    if not slash:
        bare = text.lower()
        return text if bare not in words.NO_FILES and (ending in words.FILE_ENDINGS or bare == ".env") and last[0] != "@" else None
    if _HOST.search(text.lstrip("/").partition("/")[0]) or ending == "git":
        return None
    top = folders.partition("/")[0] or folders[1:].partition("/")[0]
    rooted = top in {".", "..", "~"} or (text[0] == "/" and bool(folders) and top in words.ROOT_FOLDERS)
    named = bool(ending) or last.lower() in words.FILES_WITHOUT_ENDING or (last[:1] == "." and len(last) > 2)
    return text if last and (named or rooted) else None


def identifier(text: str) -> str | None:
    """A name out of back-ticks: one word with a letter in it, the brackets of an empty call left off."""
    bare = text.removesuffix("()")
    return bare if _ALPHANUMERIC.search(bare) and not bare.isdecimal() and not any(map(str.isspace, bare)) else None


def issue(text: str) -> str | None:
    """`#12`, or a tracker's key; standards such as UTF-8 are no tracker."""
    return None if text.partition("-")[0] in words.NO_TRACKERS else text


def is_hash(text: str) -> bool:
    """Whether hexadecimal digits are a commit and not a word or a number."""
    return len(text) == 40 or (any(map(str.isdigit, text)) and any(map(str.isalpha, text)))


def hashtag(text: str) -> str | None:
    """A hashtag without its sign; colours and preprocessor lines are none."""
    if len(text) > _LONGEST or _COLOUR.fullmatch(text) or text.lower() in words.NO_HASHTAGS:
        return None
    return without_particle(text)


def person(text: str) -> str | None:
    """An @name without its sign; annotations and decorators are none."""
    if len(text) > _LONGEST or text.lower() in words.NO_PERSONS or text.partition(".")[0].lower() in words.DECORATOR_OWNERS:
        return None
    return without_particle(text)


def without_particle(name: str) -> str:
    """Take a particle off the end of a Korean name, where two syllables are left and it agrees with the last of them."""
    name = unicodedata.normalize("NFC", name)
    full = len(name) == 3 and name[0] in words.SURNAMES and name[2] in words.NAME_ENDINGS
    for particle in () if full else words.PARTICLES_BY_LENGTH:
        stem = name.removesuffix(particle)
        if len(stem) < 2 or stem == name or not _HANGUL_FIRST <= ord(stem[-1]) <= _HANGUL_LAST:
            continue
        ends_in_consonant = (ord(stem[-1]) - _HANGUL_FIRST) % 28 != 0
        agreeing = words.PARTICLES_AFTER_CONSONANT if ends_in_consonant else words.PARTICLES_AFTER_VOWEL
        if particle in agreeing or particle in words.PARTICLES_AFTER_ANY:
            return stem
    return name


def proper_name(text: str, start: int, end: int) -> str | None:
    """The name in a run of capitalised words at `text[start:end]`: two or more of them, or one that does not open its sentence."""
    if end - start > _LONGEST:
        return None
    run = text[start:end].replace("\u00a0", " ").split(" ")
    opens = _opens_sentence(text, start)
    while run and (_plain(run[0]) in words.OPENERS or _plain(run[0]) in words.CALENDAR or (opens and _is_gerund(run))):
        run, opens = run[1:], False
    run = list(takewhile(lambda word: _plain(word) not in words.CALENDAR and word != "I", run))
    while run and run[-1] in words.CONNECTORS:
        run.pop()
    if not run or len(run) > _MOST_WORDS:
        return None
    run[-1] = _without_possessive(run[-1])
    if len(run) == 1 and opens and not _CJK_NEXT.match(text, end):
        return None
    return " ".join(run) if any(len(word) > 1 and any(map(str.islower, word)) for word in run) else None


def _plain(word: str) -> str:
    return word.lower().replace("’", "'").rstrip("'-")


def _is_gerund(run: list[str]) -> bool:
    return len(run) > 1 and len(run[0]) > 5 and run[0].endswith("ing")


def _without_possessive(word: str) -> str:
    for ending in ("'s", "’s"):
        word = word.removesuffix(ending)
    return word.rstrip("'’-")


def _opens_sentence(text: str, start: int) -> bool:
    """Whether nothing but marks stands between the end of a sentence, or the beginning of a line, and `start`."""
    before = text[max(0, start - 40) : start].rsplit("\n", 1)[-1].rstrip(_WRAPPERS)
    return not before or before[-1] in _SENTENCE_ENDS or _ALPHANUMERIC.search(before) is None
