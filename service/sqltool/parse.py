"""The text of a free SQL query, read into tokens and a syntax tree.

In: the text. Out: `Question`; raises `SqlRejection` for what cannot be read, is too large, or is more than one query. No I/O.
The tree is for checking alone: what runs is the text itself.
"""

import logging
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from sqlglot import Token, TokenType, exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ParseError, TokenError

from service.sqltool.rejection import SqlRejection

LONGEST_TEXT: Final = 65_536
MOST_TOKENS: Final = 10_000
MOST_BRACKETS: Final = 250  # the parser takes the square of their number
_STEPS_PER_TOKEN: Final = 20
_PLAIN_SPACE: Final = frozenset(" \t\n\r\f")
_ONE_STATEMENT: Final = "Send one query: SELECT, WITH … SELECT, or VALUES."
_FIRST: Final = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.TABLE, TokenType.L_PAREN)

_STRANGE: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")
# The parser takes `$1,$` for a quote in dollars. It reads a parameter as a word of the same length instead.
_PARAMETER: Final = re.compile(r"(?<![\w$])\$(?=[0-9])")

# Its warnings quote the text they warn about; what people ask does not go into the log.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


class Question(msgspec.Struct, frozen=True):
    """One query: its text as it will run, without what ends a statement, and what the parser read in it."""

    text: str
    tokens: tuple[Token, ...]
    tree: exp.Expr
    parameters: Mapping[int, Token]
    """The word of each parameter by where it stands."""


class _TooDeep(Exception):
    """The parser goes back and forth too long."""


class _Parser(Postgres.Parser):
    """Counts its steps: the parser tries nested types again and again, so that a short text could keep it busy for hours."""

    steps_left = 0

    def _advance(self, times: Any = 1) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise _TooDeep
        super()._advance(times)

    def offset(self) -> int | None:
        """Where it stands in the text."""
        return self._curr.start if self._curr else None


def parse(text: str) -> Question:
    """Reads one query."""
    if len(text) > LONGEST_TEXT:
        raise SqlRejection(
            f"The query is {len(text)} characters long; at most {LONGEST_TEXT} are read.",
            blocked_by="size",
            hint="Give long values and lists as params: WHERE id = ANY($1).",
        )
    masked = _PARAMETER.sub("p", text)
    tokens = _end(_tokenize(masked))
    _check_spaces(masked, tokens)
    _check_statement(tokens)
    end = tokens[-1].end + 1
    parameters = {token.start: token for token in tokens if token.token_type is TokenType.VAR and text[token.start] == "$"}
    return Question(text=text[:end], tokens=tuple(tokens), tree=_read(tokens, masked[:end]), parameters=parameters)


def _tokenize(text: str) -> list[Token]:
    if strange := _STRANGE.search(text):
        raise SqlRejection(
            "A control character stands in the query.", blocked_by="syntax", hint="Give such text as a parameter.", at=strange.start()
        )
    try:
        tokens = Postgres().tokenize(text)
    except TokenError as error:
        raise SqlRejection("A quote or comment is not closed.", blocked_by="syntax", hint="Give text as params: $1, $2, …") from error
    if sum(token.token_type is TokenType.L_BRACKET for token in tokens) > MOST_BRACKETS:
        raise SqlRejection(f"More than {MOST_BRACKETS} brackets.", blocked_by="size", hint="Give lists as params: WHERE id = ANY($1).")
    if len(tokens) > MOST_TOKENS:
        raise SqlRejection(
            f"The query has {len(tokens)} words and signs; at most {MOST_TOKENS} are read.",
            blocked_by="size",
            hint="Give lists as params: WHERE id = ANY($1).",
        )
    return tokens


def _end(tokens: list[Token]) -> list[Token]:
    """The tokens without semicolons at the end."""
    count = len(tokens)
    while count and tokens[count - 1].token_type is TokenType.SEMICOLON:
        count -= 1
    return tokens[:count]


def _check_spaces(text: str, tokens: list[Token]) -> None:
    """Postgres takes a space outside of ASCII for a letter, the parser for a space: such a text would be two texts."""
    end = 0
    for token in tokens:
        for at in range(end, token.start):
            if text[at].isspace() and text[at] not in _PLAIN_SPACE:
                raise SqlRejection("A space outside of ASCII stands between words.", blocked_by="syntax", hint="Use plain spaces.", at=at)
        end = token.end + 1


def _check_statement(tokens: list[Token]) -> None:
    if not tokens:
        raise SqlRejection("There is no query.", blocked_by="statement", hint=_ONE_STATEMENT)
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            raise SqlRejection("This is more than one statement.", blocked_by="statement", hint=_ONE_STATEMENT, at=token.start)
    if tokens[0].token_type not in _FIRST:
        raise SqlRejection(
            f"{tokens[0].text[:40].upper()} is no query that reads.", blocked_by="statement", hint=_ONE_STATEMENT, at=tokens[0].start
        )


def _read(tokens: list[Token], text: str) -> exp.Expr:
    parser = _Parser(dialect=Postgres())
    parser.steps_left = _STEPS_PER_TOKEN * len(tokens) + 1_000
    try:
        trees = parser.parse(tokens, text)
    except ParseError as error:
        raise SqlRejection("The query cannot be read here.", blocked_by="syntax", at=parser.offset() or len(text)) from error
    except (RecursionError, _TooDeep) as error:
        raise SqlRejection("The query is nested too deeply.", blocked_by="size", hint="Split it, or use WITH.") from error
    if len(trees) != 1 or trees[0] is None:
        raise SqlRejection("This is more than one statement.", blocked_by="statement", hint=_ONE_STATEMENT)
    return trees[0]
