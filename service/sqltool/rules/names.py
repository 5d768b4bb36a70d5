"""Names stand alone or behind an alias; words that Postgres reads as a question about its session, and escaped names, are refused."""

from typing import Final

from sqlglot import Token, TokenType, exp

from service.sqltool.parse import Question
from service.sqltool.rejection import SqlRejection
from service.sqltool.rules.place import place

_SESSION_WORDS: Final = frozenset(
    ("current_user", "session_user", "system_user", "user", "current_role", "current_catalog", "current_schema")
)
_QUOTES: Final = ('"', "'")


def folded(name: exp.Identifier) -> str:
    """The name as Postgres reads it: as it is when quoted, else with ASCII letters in lower case."""
    return str(name.this) if name.args.get("quoted") else fold(str(name.this))


def fold(text: str) -> str:
    return "".join(char.lower() if char.isascii() else char for char in text)


def check(question: Question) -> None:
    """Raises `SqlRejection` for a qualified column, a session word or an escaped name."""
    for column in question.tree.find_all(exp.Column):
        if column.args.get("db") or column.args.get("catalog"):
            raise SqlRejection("A column is named with a schema.", blocked_by="name", hint="Write alias.column.", at=place(column))
        if column.args.get("table") and column.name.lower().startswith("pg_"):
            # Behind an alias Postgres takes the name of a function for a call of it on the row.
            raise SqlRejection(f"There is no column {column.name[:80]}.", blocked_by="name", at=place(column))
    before: Token | None = None
    for token in question.tokens:
        if _is_session_word(token, before):
            raise SqlRejection(
                f"{token.text[:40]} asks about the database's session.",
                blocked_by="name",
                hint='A column of this name is written "in quotes".',
                at=token.start,
            )
        if before is not None and _is_escaped(question.text, before, token):
            raise SqlRejection(
                "Text and names with U& escapes are not read here.", blocked_by="name", hint="Give text as params.", at=before.start
            )
        before = token


def _is_session_word(token: Token, before: Token | None) -> bool:
    if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) or fold(token.text) not in _SESSION_WORDS:
        return False
    return before is None or before.token_type not in (TokenType.ALIAS, TokenType.DOT)


def _is_escaped(text: str, before: Token, token: Token) -> bool:
    """U&"name" is one word to Postgres, and three to the parser."""
    return (
        token.token_type is TokenType.AMP
        and fold(before.text) == "u"
        and before.end + 1 == token.start
        and text[token.end + 1 : token.end + 2] in _QUOTES
    )
