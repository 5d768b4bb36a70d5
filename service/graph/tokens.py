"""The tokenizer of the graph language.

In: the text of a query. Out: tokens with their offsets, the last one of kind `end`. Raises `syntax` rejections.
"""

import re
from typing import Literal

import msgspec

from service.graph.rejection import syntax

MAX_TEXT = 20_000
MAX_NAME = 64
INT64 = 2**63

Kind = Literal["name", "param", "string", "number", "mark", "end"]


class Token(msgspec.Struct, frozen=True):
    """One token: its text as written, and the value of strings and numbers."""

    kind: Kind
    text: str
    at: int
    value: str | int | float | None = None

    @property
    def word(self) -> str:
        """The upper-case name, for comparing with keywords; empty for other kinds."""
        return self.text.upper() if self.kind == "name" else ""


_SKIPPED = re.compile(r"(?:[ \t\r\n\f\v]+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_MARK = re.compile(r"\.\.|<>|<=|>=|==|&&|=~|!=|\|\||[()\[\]{},:.;=<>*+/%^|&!?~@#-]")
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_ESCAPE = re.compile(r"""\\(?:u([0-9A-Fa-f]{4})|([\\'"nrtbf]))""")
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def tokenize(text: str) -> list[Token]:
    """All tokens of `text`, white space and comments left out."""
    if len(text) > MAX_TEXT:
        raise syntax(f"the query has {len(text)} characters; at most {MAX_TEXT} are read", MAX_TEXT, "put long lists into params")
    tokens: list[Token] = []
    at = 0
    while True:
        if skipped := _SKIPPED.match(text, at):
            at = skipped.end()
        if at >= len(text):
            tokens.append(Token("end", "", len(text)))
            return tokens
        token, at = _next(text, at)
        tokens.append(token)


def _next(text: str, at: int) -> tuple[Token, int]:
    first = text[at]
    if found := _NAME.match(text, at):
        return Token("name", _short(found.group(), at), at), found.end()
    if first == "$":
        found = _NAME.match(text, at + 1)
        if not found:
            raise syntax("`$` without a parameter name", at, "write $name with a letter or _ first")
        return Token("param", f"${_short(found.group(), at)}", at), found.end()
    if found := _NUMBER.match(text, at):
        if found.end() < len(text) and _NAME.match(text, found.end()):
            raise syntax(f"a number runs into a word: `{text[at : found.end() + 1]}`", at, "separate them, or quote the text")
        return Token("number", found.group(), at, _number(found.group(), at)), found.end()
    if first in "'\"":
        found = _STRING.match(text, at)
        if not found:
            raise syntax("a string is not closed", at, f"close it with {first}; inside it write \\{first}, or pass the text as a parameter")
        return Token("string", found.group(), at, unescape(found.group()[1:-1])), found.end()
    if text.startswith("/*", at):
        raise syntax("a comment is not closed", at, "close it with */")
    if found := _MARK.match(text, at):
        return Token("mark", found.group(), at), found.end()
    raise _strange(first, at)


def _strange(first: str, at: int) -> Exception:
    if first == "`":
        return syntax("back-ticks are not read", at, "names are letters, digits and _; write them bare")
    return syntax(f"the character U+{ord(first):04X} is not allowed here", at, "use ASCII outside of strings: plain spaces and punctuation")


def _short(name: str, at: int) -> str:
    if len(name) > MAX_NAME:
        raise syntax(f"a name of {len(name)} characters", at, f"names have at most {MAX_NAME} characters")
    return name


def _number(digits: str, at: int) -> int | float:
    if digits.isdigit():
        # Python reads no integer of thousands of digits, not even of zeros.
        digits = digits.lstrip("0") or "0"
        # One more than the largest is let through here: with a minus in front it is the smallest.
        if len(digits) > 19 or int(digits) > INT64:
            raise syntax("the number does not fit into 64 bits", at, "use a smaller number")
        return int(digits)
    value = float(digits)
    if value == float("inf"):
        raise syntax("the number is too large", at, "use a smaller number")
    return value


def unescape(body: str) -> str:
    """A string literal's text: known escapes replaced, any other backslash kept as it is."""

    def replaced(found: re.Match[str]) -> str:
        if found.group(1):
            return chr(int(found.group(1), 16))
        return _PLAIN.get(found.group(2), found.group(2))

    text = _ESCAPE.sub(replaced, body)
    # Two halves of a surrogate pair written as escapes are one character; a half alone is none.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
