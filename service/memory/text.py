"""Text that Postgres can hold: in comes any Python string, out comes one without NUL and without lone surrogates.

Content keeps its spelling; only names are brought to NFC, since names are matched by equality.
"""

import re
import unicodedata

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Replace NUL and every lone surrogate by U+FFFD; a surrogate pair becomes the character it means; nothing else changes."""
    if ("\x00" not in text) if text.isascii() else (_UNSTORABLE.search(text) is None):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", "\ufffd")


def clean_name(text: str) -> str:
    """Bring a name to the one spelling under which it is stored and found: NFC, without white space around it."""
    text = clean_text(text)
    return text.strip() if text.isascii() else unicodedata.normalize("NFC", text).strip()


def cut_words(text: str, limit: int) -> str:
    """Shorten `text` to at most `limit` characters, at a space where one is near, marking the cut with an ellipsis."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    space = kept.rfind(" ", limit // 2)
    return (kept[:space] if space > 0 else kept).rstrip() + "…"
