"""Names are not injectable: whatever a query names or asks for, Postgres's own grammar reads the same statement."""

from collections.abc import Iterator

import pglast
import pytest
from pglast import ast
from pglast.visitors import Visitor

from service.graph.arguments import fill
from service.graph.compile import compiled
from service.graph.limits import GraphLimits
from service.graph.slots import Runtime, Statement

HOSTILE = [
    "'); DROP TABLE m_0.event; --",
    "' OR '1'='1",
    "\\'; COMMIT; --",
    '"; DROP SCHEMA m_0 CASCADE; --',
    "$1",
    "$$; SELECT pg_sleep(10); $$",
    "m_0.event",
    "vector_0",
    "/* */",
    "%_\\",
    "\u2019; DROP TABLE event",
    "a\nb\tc",
    "E'\\x27'",
    "x" * 900,
]
NAMES = ["drop_table", "select_1", "s", "f", "x", "w", "k", "g", "o", "far", "near", "rank", "total", "pos", "v0", "v1", "c0", "m_0", "vector_0", "r0_count", "pg_catalog", "U", "__proto__", "n0"]  # fmt: skip
FUNCTIONS = {"unnest", "count", "sum", "min", "max", "avg", "array_agg", "row_number", "position", "ln", "floor"}
SHAPE = (
    "START {a} = events(entity: {value}) MATCH ({a})-[{s}:SHARES {{min: 2, min_w: 0.1}}]-({b}), ({b})-[:PARTICIPATED_IN]-({n} {{name: {value}}}) "
    "WHERE {n}.type = {value} OR {n}.name CONTAINS {value} OR {n}.name IN [{value}, {value}] OR {b}.id = {value} OR {s}.count > 1 "
    "RETURN {b} AS {alias}, {s}.count, {s}.via, cos({a}, {b}) ORDER BY {alias}, {n}.name LIMIT 5"
)
GROUPED = (
    "START {a} = events(tag: {value}) MATCH ({a})-[{s}:MEMBER_OF]->({b} {{name: {value}}}) MATCH ({a})-[:NEXT*1..2]->({n}) "
    "WHERE NOT {s}.kind = {value} RETURN {s}.kind AS {alias}, count(DISTINCT {n}), collect({b}.name) ORDER BY {alias}"
)
PLAIN = {"a": "a", "b": "b", "n": "n", "s": "r", "alias": "z"}


def statements(text: str) -> Iterator[Statement]:
    query = compiled(text, vectors=True)
    yield from (clause.statement for clause in query.clauses)
    yield query.last


def literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t") + "'"


class Words(Visitor):
    """Every constant, function and table in a statement."""

    def __init__(self) -> None:
        super().__init__()
        self.constants: set[str] = set()
        self.functions: set[str] = set()
        self.tables: set[str] = set()

    def visit_A_Const(self, _: object, node: ast.A_Const) -> None:  # noqa: N802
        if isinstance(node.val, ast.String):
            self.constants.add(node.val.sval)

    def visit_FuncCall(self, _: object, node: ast.FuncCall) -> None:  # noqa: N802
        self.functions.add(node.funcname[-1].sval)

    def visit_RangeVar(self, _: object, node: ast.RangeVar) -> None:  # noqa: N802
        self.tables |= {f"{node.schemaname}.{node.relname}"} if node.schemaname else set()


@pytest.mark.parametrize("shape", [SHAPE, GROUPED])
@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: value[:20])
def test_a_hostile_value_is_bound(shape: str, value: str) -> None:
    harmless = [statement.sql for statement in statements(shape.format(value="'xy'", **PLAIN))]
    hostile = list(statements(shape.format(value=literal(value), **PLAIN)))
    assert [statement.sql for statement in hostile] == harmless
    arguments = fill(compiled(shape.format(value=literal(value), **PLAIN), vectors=True), {}, GraphLimits())
    bound = [arguments.bound[slot] for statement in hostile for slot in statement.slots if not isinstance(slot, Runtime)]
    assert any(value in (one if isinstance(one, list) else [one]) for one in bound)


@pytest.mark.parametrize("shape", [SHAPE, GROUPED])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", list(PLAIN))
def test_a_variable_s_name_is_nowhere_in_the_statement(shape: str, name: str, place: str) -> None:
    plain = [statement.sql for statement in statements(shape.format(value="$v", **PLAIN))]
    assert [statement.sql for statement in statements(shape.format(value="$v", **{**PLAIN, place: name}))] == plain


@pytest.mark.parametrize("shape", [SHAPE, GROUPED])
def test_statements_hold_nothing_but_their_own_words(shape: str) -> None:
    for statement in statements(shape.format(value="$v", **PLAIN)):
        (parsed,) = pglast.parse_sql(statement.sql)
        assert isinstance(parsed.stmt, ast.SelectStmt)
        words = Words()
        words(parsed)
        assert words.constants <= {"NaN"}
        assert words.functions <= FUNCTIONS
        assert words.tables <= {
            f"m_0.{table}" for table in ("event", "entity", "tag", "participation", "membership", "next_link", "vector_0")
        }


def test_a_parameter_named_like_sql_is_only_a_key() -> None:
    (statement,) = statements("START a = events(ids: $ids) MATCH (a {id: $drop_table}) WHERE a.id = $select RETURN a")
    assert "drop_table" not in statement.sql
    assert (
        fill(compiled("START a = events(ids: $ids) RETURN a LIMIT $limit", vectors=True), {"ids": [], "limit": 2}, GraphLimits()).limit == 2
    )
