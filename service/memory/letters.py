"""Character classes for patterns, to be written between square brackets: which letters may stand inside one token.

Python's `\\w` takes every script alike, so that a Korean particle would stick to the English word before it. These classes keep the
scripts apart.
"""

# Scripts that have capitals (Latin, Greek, Cyrillic, Armenian), with the combining marks of decomposed spellings.
_CASED_RANGES = (
    *((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2AF), (0x300, 0x373), (0x376, 0x377), (0x386, 0x386)),
    *((0x388, 0x3FF), (0x400, 0x481), (0x48A, 0x52F), (0x531, 0x556), (0x561, 0x587), (0x1E00, 0x1FBC)),
)

LETTER = "".join(f"{chr(first)}-{chr(last)}" for first, last in _CASED_RANGES)
UPPER = "".join(chr(code) for first, last in _CASED_RANGES for code in range(first, last + 1) if chr(code).isupper())

# Syllables and the parts they decompose into.
HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
# Decomposed kana carry their sound marks as U+3099 and U+309A.
HIRAGANA = "\u3041-\u3096\u3099\u309a\u309d\u309e"
HAN_KATAKANA = (
    "\u3005-\u3007\u3099\u309a\u30a1-\u30fa\u30fc-\u30fe\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
CJK = HANGUL + HIRAGANA + HAN_KATAKANA

# A word of one script: a name in Han or Katakana ends where Hiragana, which writes the grammar, begins.
SCRIPT_WORD = rf"(?:[{LETTER}_][{LETTER}0-9_]*+(?:[.\-][{LETTER}0-9_]++)*+|[{HANGUL}]++|[{HAN_KATAKANA}]++|[{HIRAGANA}]++)"
