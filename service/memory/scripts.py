"""Writing systems: which characters make words, which are written without spaces, how spellings are folded, what says nothing.

In: text. Out: the same text with width, case and accents folded; character classes and stop words for the word analysis.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

# Written without spaces between words: Han, kana, hangul, bopomofo, and Thai, Lao, Burmese, Khmer with their marks.
UNSPACED: Final = (
    r"\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    r"\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff"
    r"\U0001b000-\U0001b16f\U00020000-\U000323af"
    r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ec4\u0ec6-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
)
# Marks that belong to the word they stand in; Python's \w leaves them out.
MARKS: Final = (
    r"\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4"
    r"\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u0816-\u082d\u08d3-\u0902\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"
    r"\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a75\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82"
    r"\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0d57\u0d81-\u0d83\u0dca-\u0df3"
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f18-\u0f84\u0f86-\u0fbc\u102b-\u103e\u1056-\u1059\u135d-\u135f"
    r"\u17b4-\u17d3\u1885\u1886\u18a9\u1920-\u193b\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\u3099\u309a\ufe20-\ufe2f"
)
KATAKANA: Final = re.compile(r"[\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff]+")
HIRAGANA: Final = re.compile(r"[\u3041-\u3096\u309d-\u309f]+")
HANGUL: Final = re.compile(r"[\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb]")

_STOP_WORDS: Final = """
a about above after again against all am an and any are as at be because been before being below between both but by can cannot could
did do does doing down during each few for from further had has have having he her here hers herself him himself his how i if in into is
it its itself just me more most my myself no nor not now of off on once only or other our ours ourselves out over own same she should so
some such than that the their theirs them themselves then there these they this those through to too under until up very was we were
what when where which while who whom why will with would you your yours yourself yourselves
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())

_JOINING: Final = re.compile(rf"[{MARKS}\u1160-\u11ff\uff9e\uff9f]")
_LETTERS: Final = str.maketrans({"ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"})
_PUNCTUATION: Final = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-"})


def normalise(text: str) -> str:
    """Compatibility composition: full-width, half-width and decomposed spellings become one."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def fold_name(text: str) -> str:
    """The form in which names are compared: NFKC and casefold, and NFKC again, since a casefold can undo composition; accents stay."""
    return text.lower() if text.isascii() else normalise(normalise(text).casefold())


@lru_cache(maxsize=1 << 12)
def fold_word(word: str) -> str:
    """One normalised word with case, accents (Latin, Greek, Cyrillic, Hebrew, Arabic) and typographic punctuation folded."""
    if word.isascii():
        return word.lower()
    kept: list[str] = []
    base = ""
    for character in unicodedata.normalize("NFD", word.casefold()):
        if not unicodedata.combining(character):
            base = character
        elif base and (base < "\u0700" or "\u1e00" <= base < "\u2000"):
            continue
        kept.append(character)
    return unicodedata.normalize("NFKC", "".join(kept)).translate(_LETTERS).translate(_PUNCTUATION)


def normalise_with_origins(text: str) -> tuple[str, list[int] | None]:
    """The normalised text and, for each of its characters and its end, where it came from; None when nothing moved."""
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return text, None
    pieces: list[str] = []
    origins: list[int] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and _JOINING.match(text, end):
            end += 1
        piece = unicodedata.normalize("NFKC", text[start:end])
        pieces.append(piece)
        origins.extend([start] * len(piece))
        start = end
    return "".join(pieces), [*origins, len(text)]
