"""Whatever text comes, it is compiled to SQL that Postgres's grammar reads, or rejected with a hint."""

import pglast
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.graph.arguments import fill
from service.graph.compile import compiled
from service.graph.describe import RECIPES
from service.graph.limits import GraphLimits
from service.graph.rejection import GraphRejection

WORDS = [
    "START",
    "MATCH",
    "WHERE",
    "RETURN",
    "DISTINCT",
    "ORDER",
    "BY",
    "LIMIT",
    "AS",
    "AND",
    "OR",
    "NOT",
    "IN",
    "CONTAINS",
    "XOR",
    "DESC",
    "WITH",
    "CREATE",
    "null",
    "true",
    "a",
    "b",
    "n",
    "s",
    "events",
    "event",
    "text",
    "entity",
    "tag",
    "ids",
    "k",
    "Event",
    "Entity",
    "Tag",
    "SHARES",
    "SIMILAR",
    "FAR",
    "NEXT",
    "MEMBER_OF",
    "PARTICIPATED_IN",
    "CONNECTED",
    "min",
    "cos",
    "count",
    "collect",
    "sum",
    "score",
    "id",
    "name",
    "summary",
    "via",
    "hops",
    "$q",
    "$ids",
    "$x",
    "'x'",
    '"y"',
    "'\\u00'",
    "1",
    "-1",
    "0",
    "2.5",
    "1e5",
    "99999999999999999999",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    ".",
    "..",
    "*",
    "-",
    ">",
    "<",
    "->",
    "<-",
    "<>",
    "=",
    "<=",
    ">=",
    "=~",
    "!=",
    "+",
    "/",
    ";",
    "|",
    "&",
    "//",
    "/*",
    "*/",
    "`",
    "$",
    "'",
    "é",
    "\u200b",
    "\xa0",
    "\x00",
    "�",
]
PARAMS = {"q": "x", "ids": ["evt_1"], "x": None, "name": "n", "a": "n", "b": "n", "part": "nn", "tag": "t", "seen": []}


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A recipe with a few words put in, taken out or exchanged."""
    _, recipe = draw(st.sampled_from(RECIPES))
    parts = recipe.replace("(", " ( ").replace(")", " ) ").replace("[", " [ ").replace("]", " ] ").split(" ")
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(parts) - 1))
        parts[place : place + draw(st.integers(0, 2))] = draw(st.lists(st.sampled_from(WORDS), max_size=2))
        parts = parts or ["START"]
    return " ".join(parts)


@settings(max_examples=600, database=None, deadline=None, derandomize=True)
@given(st.one_of(mutated(), st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join), st.text(max_size=60)))
@example("START a = events(ids: $ids) MATCH (a)-[:SHARES]-(a) RETURN a")
@example("START a = events(ids: $ids) MATCH (a)-[:PARTICIPATED_IN]-(e), (a)-[:PARTICIPATED_IN]-(e) RETURN e, e, count(*)")
@example("START a = events(ids: $ids) MATCH (a) WHERE a = a AND a <> a AND NOT a.id = a.id RETURN a.score, count(a.score)")
def test_is_compiled_or_rejected(text: str) -> None:
    try:
        query = compiled(text, vectors=True)
        fill(query, PARAMS, GraphLimits())
    except GraphRejection as rejection:
        problem = rejection.located(text).problem()
        assert problem.members["blocked_by"] in ("syntax", "grammar", "params")
        assert problem.hint
        return
    for statement in (*(clause.statement for clause in query.clauses), query.last):
        assert len(pglast.parse_sql(statement.sql)) == 1
        assert "m_0." in statement.sql or "UNNEST" in statement.sql
