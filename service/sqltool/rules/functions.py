"""Every call is of a listed function, judged by the words that stand before an opening parenthesis in the text itself."""

import re
from typing import Final

from sqlglot import Token, TokenType, exp

from service.sqltool.instead import instead_of_function
from service.sqltool.parse import Question
from service.sqltool.rejection import SqlRejection, suggestion
from service.sqltool.rules.allowed_functions import FUNCTIONS
from service.sqltool.rules.names import fold

_WORD: Final = re.compile(r"[^\W\d][\w$]*")
# Words of the grammar, and of types with a length, after which a parenthesis calls nothing.
_GRAMMAR_TEXT: Final = """
    all and any array as between bigint bpchar by case char character cross cube decimal distinct else escape except exists fetch
    filter first float from group having ilike in inner intersect interval is isnull join lateral like limit materialized natural
    next not notnull numeric offset on or order over overlaps partition precision recursive rollup row rows select sets similar
    some symmetric then time timestamp timestamptz to union using values varchar varying when where window with within zone
"""
_GRAMMAR: Final = frozenset(_GRAMMAR_TEXT.split())


def check(question: Question) -> None:
    """Raises `SqlRejection` for the first call of an unlisted function."""
    lists = _column_lists(question.tree)
    for before, name, after in zip((None, *question.tokens), question.tokens, question.tokens[1:], strict=False):
        if after.token_type is not TokenType.L_PAREN or not _is_name(name):
            continue
        quoted = name.token_type is TokenType.IDENTIFIER
        word = name.text if quoted else fold(name.text)
        if before is not None and before.token_type is TokenType.DOT:
            raise SqlRejection(
                "A function is named with a schema or as a field.", blocked_by="function", hint="Name the function alone.", at=name.start
            )
        if word in FUNCTIONS or name.start in lists or (word in _GRAMMAR and not quoted):
            continue
        raise SqlRejection(
            f"The function {word[:80]} is not among those that a query may call.",
            blocked_by="function",
            hint=instead_of_function(word) or suggestion(word, FUNCTIONS, "Use one of allowed_functions."),
            at=name.start,
            allowed_functions=sorted(FUNCTIONS),
        )


def _is_name(token: Token) -> bool:
    return token.token_type is TokenType.IDENTIFIER or (
        token.token_type is not TokenType.STRING and _WORD.fullmatch(token.text) is not None
    )


def _column_lists(tree: exp.Expr) -> frozenset[int]:
    """Where names stand that name the columns of a table after them: AS t (a, b)."""
    aliases = (alias for alias in tree.find_all(exp.TableAlias) if alias.args.get("columns") and isinstance(alias.this, exp.Identifier))
    return frozenset(alias.this.meta["start"] for alias in aliases if "start" in alias.this.meta)
