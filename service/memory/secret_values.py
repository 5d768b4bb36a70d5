"""Whether a value that stands where a secret may stand is one: random enough, and no placeholder, variable, path, slug or code.

In: the value alone. Out: yes or no.
"""

import math
import re
from collections import Counter
from typing import Final

_LEAST_BITS: Final = 20.0
_STAND_IN: Final = re.compile(
    r"\$[A-Za-z_{(]|[<{%\[]|!(?:vault|Ref|secret)\b|ENC\[|sha(?:1|224|256|384|512)[:\-]|https?://|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:\W|T|$)"
)
_STAND_IN_INSIDE: Final = re.compile(r"(?i)\.\.\.|…|\*\*\*|\$\{|\{\{|xxxx|example|changeme|change[_-]me|placeholder|your[_-]|_here\b")
_CALL: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9.:>\-]*+[(\[]")
_ADDRESS: Final = re.compile(r"[A-Za-z0-9_.+\-]++@[A-Za-z0-9\-]++(?:\.[A-Za-z0-9\-]++)++")
_SEPARATORS: Final = re.compile(r"[-_./:|,\\=?>]+")
_SLUG_PART: Final = re.compile(r"(?:[A-Z]?[a-z]+(?:[A-Z][a-z]{2,})*)?[0-9]{0,3}|[A-Z]+|[0-9]{1,8}|[A-Za-z0-9]{1,5}")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_WORDS_AND_DIGITS: Final = re.compile(r"(?:[A-Z]?[a-z]{2,}+|[A-Z]{2,}+)(?:[0-9]{0,3}+(?:[A-Z]?[a-z]{2,}+|[A-Z]{2,}+)){0,8}+[0-9]{0,3}+")
_DIGIT: Final = re.compile(r"[0-9]")
_KEY_BODY: Final = re.compile(r"[A-Za-z0-9+/]{16}")


def is_literal(value: str) -> bool:
    """Whether it is a value itself, rather than a variable, a placeholder or what a redaction left."""
    return _STAND_IN.match(value) is None and not set(value) <= set("*x.…")


def is_secret(value: str) -> bool:
    """Whether it looks random: letters and digits mixed, or letters with both cases and signs, and no name, path, slug or code."""
    value = value.rstrip(")]}>.,")
    if len(value) < 8 or not is_literal(value) or not _is_mixed(value):
        return False
    return not (_STAND_IN_INSIDE.search(value) or _CALL.match(value) or _is_slug(value)) and _bits(value) >= _LEAST_BITS


def is_credential(value: str) -> bool:
    """Whether the value of an Authorization header is more than a word: it needs little chance to be one."""
    return is_literal(value) and (value.endswith("=") or _is_mixed(value))


def is_key_block(block: str) -> bool:
    """Whether there is key material between the lines that begin and end it."""
    return _KEY_BODY.search(block, block.index("-----", 5) + 5) is not None


def _is_mixed(value: str) -> bool:
    has_lower, has_upper = value.upper() != value, value.lower() != value
    if not (has_lower or has_upper):
        return False
    if _DIGIT.search(value):
        return _WORDS_AND_DIGITS.fullmatch(value) is None
    if not (has_lower and has_upper):
        return False
    # Words written together are three letters long or more, in the mean; letters drawn by chance break sooner.
    return not value.isalpha() or (len(value) >= 12 and len(_WORD.findall(value)) * 2.8 > len(value))


def _is_slug(value: str) -> bool:
    parts = _SEPARATORS.split(value)
    return _ADDRESS.fullmatch(value) is not None or (len(parts) > 1 and all(_SLUG_PART.fullmatch(part) for part in parts))


def _bits(value: str) -> float:
    """Shannon's entropy of the characters, times their number."""
    size = len(value)
    return -sum(count * math.log2(count / size) for count in Counter(value).values())
