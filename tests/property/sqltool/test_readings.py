"""Two parsers, one reading: what the checker accepts, Postgres's own parser must read with the same tables and the same, listed, functions."""

import re
from itertools import pairwise
from typing import Any

import pglast
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st
from pglast.visitors import Visitor
from sqlglot import TokenType, exp

from service.sqltool.check import check
from service.sqltool.parse import Question
from service.sqltool.rejection import SqlRejection
from service.sqltool.rules.allowed_functions import FUNCTIONS
from service.sqltool.rules.names import fold, folded
from service.sqltool.views import VIEWS
from tests.unit.sqltool.corpus import HARMLESS, REFUSED

# What Postgres's grammar itself makes of ILIKE, AT TIME ZONE, SUBSTRING … FROM and the like.
_GRAMMAR_CALLS = {"like_escape", "similar_to_escape", "timezone", "overlaps"}
_TYPES = {
    "text", "varchar", "bpchar", "int2", "int4", "int8", "numeric", "float4", "float8", "bool", "date", "time", "timetz", "timestamp",
    "timestamptz", "interval", "uuid", "json", "jsonb", "jsonpath", "tsvector", "tsquery",
}  # fmt: skip


class _Reading(Visitor):
    """What one statement names."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: set[str] = set()
        self.qualified: list[Any] = []
        self.functions: set[str] = set()
        self.types: set[str] = set()
        self.session: list[Any] = []
        self.kinds: set[str] = set()

    def visit(self, ancestors: Any, node: Any) -> None:
        self.kinds.add(type(node).__name__)

    def visit_RangeVar(self, ancestors: Any, node: Any) -> None:  # noqa: N802
        self.tables.add(node.relname)
        if node.schemaname or node.catalogname:
            self.qualified.append(node)

    def visit_FuncCall(self, ancestors: Any, node: Any) -> None:  # noqa: N802
        names = [part.sval for part in node.funcname]
        if len(names) > 1 and names[0] != "pg_catalog":
            self.qualified.append(node)
        self.functions.add(names[-1])

    def visit_TypeName(self, ancestors: Any, node: Any) -> None:  # noqa: N802
        names = [part.sval for part in node.names]
        if len(names) > 1 and names[0] != "pg_catalog":
            self.qualified.append(node)
        self.types.add(names[-1])

    def visit_SQLValueFunction(self, ancestors: Any, node: Any) -> None:  # noqa: N802
        if not re.search("DATE|TIME", node.op.name):
            self.session.append(node)


def compare(text: str, question: Question) -> bool:
    """Whether Postgres can read the accepted text; fails when it reads in it what the checker did not."""
    try:
        statements = pglast.parse_sql(question.text)
    except pglast.parser.ParseError:
        return False
    assert len(statements) == 1, text
    statement = statements[0].stmt
    assert type(statement).__name__ == "SelectStmt", text
    reading = _Reading()
    reading(statement)
    tables = [table.this for table in question.tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    assert reading.tables == {folded(name) for name in tables}, text
    assert reading.tables <= {*VIEWS, *(folded(cte.args["alias"].this) for cte in question.tree.find_all(exp.CTE))}, text
    assert reading.functions <= FUNCTIONS | _GRAMMAR_CALLS, text
    assert reading.functions <= _called(question) | _GRAMMAR_CALLS, text
    assert reading.types <= _TYPES, text
    assert not reading.qualified, text
    assert not reading.session, text
    kinds = {kind for kind in reading.kinds if kind.endswith("Stmt")} - {"SelectStmt", "RawStmt"}
    assert not kinds, text
    assert not reading.kinds & {"IntoClause", "LockingClause", "RangeTableSample", "XmlExpr", "JsonFuncExpr", "JsonTable", "ColumnDef"}, (
        text
    )
    _same_tokens(text, question)
    return True


def _called(question: Question) -> set[str]:
    """What the checker takes for calls: words before a parenthesis. The grammar's TRIM is one of three functions."""
    words = {
        token.text if token.token_type is TokenType.IDENTIFIER else fold(token.text)
        for token, after in pairwise(question.tokens)
        if after.token_type is TokenType.L_PAREN
    }
    return words | ({"btrim", "ltrim", "rtrim"} if "trim" in words else set())


def _same_tokens(text: str, question: Question) -> None:
    """Quotes begin and end at the same places, so that nothing is text to one reader and code to the other."""
    octets = question.text.encode()
    starts = {len(octets[: token.start].decode()) for token in pglast.parser.scan(question.text) if token.name in ("SCONST", "USCONST")}
    ours = {token.start for token in question.tokens if token.token_type.name in ("STRING", "BYTE_STRING", "HEREDOC_STRING", "RAW_STRING")}
    assert starts == ours, text


_WORDS_TEXT = """
    SELECT FROM WHERE pages events e p id title summary , , , ( ) ( ) * 1 2 'a' 'b''c' "x" "pages" AS AS x JOIN LEFT ON USING AND OR NOT IN
    = < > || :: text int regclass date count lower pg_sleep pg_class other . . $1 $2 E'a\\'b' $$a$$ $x$b$x$ -- /* */ ; \n UNION ALL EXCEPT
    WITH q RECURSIVE VALUES TABLE LATERAL ROWS ARRAY [ ] CASE WHEN THEN ELSE END GROUP BY ORDER LIMIT OFFSET OVER FILTER INTO FOR UPDATE
    EXISTS ANY user current_user interval '1_day' extract year -> ->> @> ? @@ <=> ~ !~* % ^ & | # U&"pages" U&'x' B'1' X'1' N'x' \\ ` { }
    IS NULL DISTINCT BETWEEN LIKE ILIKE ESCAPE COLLATE CAST coalesce nullif NATURAL CROSS ONLY TABLESAMPLE WINDOW PARTITION ROW TRUE
    $1,$2 1e5 1.5 .5 0x1F 1_000 a$1 $a$ $1,$ '\\' ' " '' é № \u00a0 \u2003 \r
"""
_WORDS = st.sampled_from(_WORDS_TEXT.split(" "))
_TEXTS = st.sampled_from([*HARMLESS, *REFUSED])


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A text of the corpus with words put in, taken out and doubled."""
    pieces = re.split(r"(\s+|[(),;.])", draw(_TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(pieces)))
        match draw(st.sampled_from(("put", "take", "glue", "splice"))):
            case "put":
                pieces.insert(at, " " + draw(_WORDS).strip(" ") + " ")
            case "glue":
                pieces.insert(at, draw(_WORDS).strip(" "))
            case "take":
                del pieces[at : at + draw(st.integers(1, 3))]
            case _:
                pieces[at:at] = re.split(r"(\s+|[(),;.])", draw(_TEXTS))[: draw(st.integers(1, 8))]
    return "".join(pieces)


def _accepted(text: str) -> Question | None:
    params = [None] * max((int(number) for number in re.findall(r"\$(\d{1,2})(?!\d)", text)), default=0)
    try:
        return check(text, params)
    except SqlRejection:
        return None


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(mutated(), st.lists(_WORDS, max_size=14).map(" ".join).map("SELECT ".__add__)))
@example("SELECT $1,$1, pg_sleep(1), $1,$1")
@example("SELECT lower('a') -- \r, pg_sleep(1)")
def test_what_is_accepted_is_read_alike(text: str) -> None:
    question = _accepted(text)
    if question is None:
        event("refused")
    elif compare(text, question):
        event("accepted, and read alike")
    else:
        event("accepted, and refused by Postgres")


def test_the_harmless_corpus_is_read_alike() -> None:
    for text, params in HARMLESS.items():
        assert compare(text, check(text, params)), text
