"""Secrets that only their name gives away: `password=…`, `"api_key": "…"`, `--token …`, `密码：…`.

In: any text. Out: where each value begins and ends that stands behind such a name and looks random.
"""

import re
from collections.abc import Iterator
from typing import Final

from service.memory.secret_values import is_secret
from service.memory.windows import matches

_FOREIGN: Final = ("密码", "密碼", "口令", "密钥", "金鑰", "パスワード", "暗証番号", "비밀번호", "암호")
ASSIGNMENT_HINTS: Final = ("pass", "pwd", "secret", "token", "credential", "key", *_FOREIGN)

# Read on the lower-case text: with literals alone the search skips what cannot begin a name.
_NAME: Final = re.compile(
    r"(?:password|passwd|passwort|passphrase|passcode|pwd|pass|secret|token|credentials|credential"
    r"|api[_\-. ]?key|app[_\-. ]?key|access[_\-. ]?key|auth[_\-. ]?key|account[_\-. ]?key|private[_\-. ]?key|encryption[_\-. ]?key"
    rf"|signing[_\-. ]?key|master[_\-. ]?key|shared[_\-. ]?key|{'|'.join(_FOREIGN)})"
)
_SET: Final = re.compile(
    r"[0-9]{0,2}+(?:\\{0,3}+[\"'`*\]]{1,3}+)?(?:[ \t]{0,3}+:[ \t]{0,3}+(?i:str|string|secret))?[ \t]{0,4}+"
    r"(?::=|=>|==?|[:：＝>]|(?<=[ \t])is(?=[ \t])|は|是|는|은)[ \t]{0,4}+(?:\*{2}[ \t]{0,4}+)?"
)
_OPTION: Final = re.compile(r"--(?:[a-z]{1,20}-){0,3}\Z")
_BLANK: Final = re.compile(r"[ \t]{1,3}+")
# How a value is opened, and a character of it. What was judged by its first 128 characters may go on behind them.
_VALUES: Final = tuple(
    (re.compile(rf"{opened}(?P<secret>{one}{{8,128}}+)"), re.compile(rf"{one}*+"))
    for opened, one in (
        (r"\\{0,3}+\"", r"(?:[^\"\\\s]|\\[^\"\s])"),
        (r"\\{0,3}+'", r"(?:[^'\\\s]|\\[^'\s])"),
        (r"\\{0,3}+`", r"[^`\\\s]"),
        (r"(?![\"'`\\])", r"(?:[!#-%()*+\--:=-\[\]-_a-~]|&(?![A-Za-z_][A-Za-z0-9_]{0,30}+=))"),
    )
)


def assigned_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Where the values are, in order; a value that was refused may still hold another name and its value."""
    done = 0
    for name in matches(_NAME, _fold(text)):
        if name.start() < done:
            continue
        found = _value(text, name.start(), name.end())
        if found is not None:
            yield found
            done = found[1]


def _fold(text: str) -> str:
    """Lower case, each character in its place."""
    # The one character whose small letter is two.
    return text.replace("\u0130", "\u0131").lower()


def _value(text: str, start: int, end: int) -> tuple[int, int] | None:
    gap = _SET.match(text, end) or (_OPTION.search(text, max(0, start - 70), start) and _BLANK.match(text, end))
    if not gap:
        return None
    for opening, rest in _VALUES:
        value = opening.match(text, gap.end())
        if value is not None and is_secret(value["secret"]):
            behind = rest.match(text, value.end())
            return value.start("secret"), behind.end() if behind else value.end()
    return None
