"""Wrong queries: what blocks them, what the message says, and what the hint offers."""

import pytest

from service.graph.arguments import fill, read_params
from service.graph.compile import compiled
from service.graph.limits import GraphLimits
from service.graph.rejection import GraphRejection

START = "START a = events(ids: $ids) "
COUNTED = START + "MATCH (a)-[:PARTICIPATED_IN]-(n) "
PARAMS = {"ids": ["evt_1"], "q": "text", "n": 3, "list": [1], "seen": ["evt_2"], "name": "x"}


def rejected(query: str, params: dict[str, object] | None = None, limits: GraphLimits | None = None) -> GraphRejection:
    with pytest.raises(GraphRejection) as caught:
        fill(compiled(query, vectors=True), read_params(PARAMS if params is None else params), limits or GraphLimits())
    rejection = caught.value.located(query)
    assert rejection.members["blocked_by"] == rejection.blocked_by
    assert rejection.problem().status == 400
    return rejection


SYNTAX = [
    ("", "expected START", "go on with START"),
    ("START", "expected a variable", "a variable is a name"),
    ("STRAT a = events(text: $q) RETURN a", "expected START", "did you mean START?"),
    ("START a = events(text: $q) RETRUN a", "expected MATCH or RETURN", "did you mean RETURN?"),
    ("START a = events(text: $q) MTACH (a)", "expected MATCH or RETURN", "did you mean MATCH?"),
    ("START a events(text: $q) RETURN a", "expected `=`", "START a = events"),
    ("START a = events(text $q) RETURN a", "expected `:`", "write key: value"),
    ("START a = events(text: $q RETURN a", "expected `,`", "close with )"),
    ("START a = events(text: foo) RETURN a", "expected a value", "'text'"),
    ("START match = events(text: $q) RETURN match", "the keyword match cannot be a variable", "another name"),
    (START + "RETURN a LIMIT 5 ORDER BY a", "expected the end", None),
    (START + "RETURN a ORDER a", "expected BY", "write ORDER BY"),
    (START + "RETURN a b", "expected ORDER BY, LIMIT or the end", "an alias needs AS"),
    (START + "RETURN a.", "expected a property", "variable.property"),
    (START + "RETURN", "expected what to return but found the end", "return variables"),
    (START + "MATCH (a-[:SHARES]-(b) RETURN b", "expected `)`", "write a node"),
    (START + "MATCH (a)-[:SHARES-(b) RETURN b", "expected `]`", "close the relation"),
    (START + "MATCH (a)-[s SHARES]-(b) RETURN b", "expected `:`", "-[:SHARES]-"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE s.count != 1 RETURN b", "`!=` is not read", "write <>"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE (s.count > 1 RETURN b", "expected `)`", "close the parenthesis"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE s.count CONTAIN 1 RETURN b", "expected a comparison", "did you mean CONTAINS?"),
    (START + "RETURN a LIMIT 9223372036854775808", "does not fit into 64 bits", "smaller"),
    (START + "RETURN a LIMIT 1e999", "too large", "smaller"),
    (START + "RETURN a LIMIT 5x", "runs into a word", "separate"),
    (START + "RETURN `a`", "back-ticks", "bare"),
    (START + "RETURN\u00a0a", "U+00A0", "ASCII"),
    (START + "RETURN a\u200b", "U+200B", "ASCII"),
    ("ＳＴＡＲＴ a = events(text: $q) RETURN a", "U+FF33", "ASCII"),
    ("START a = events(text: 'x) RETURN a", "not closed", "close it with '"),
    ("START a = events(text: $q) /* RETURN a", "a comment is not closed", "*/"),
    ("START a = events(text: $) RETURN a", "`$` without", "$name"),
    (START + "RETURN " + "x" * 65, "65 characters", "at most 64"),
    (START + "MATCH (a) WHERE " + "(" * 65 + "a.id = 1" + ")" * 65 + " RETURN a", "nested more than 64", "AND"),
    ("START a = events(text: $q) RETURN a" + " " * 20_000, "at most 20000", "params"),
    (START + "RETURN a AS", "expected an alias", "AS and a name"),
    (START + "MATCH (a)" + "-[:SHARES]-()" * 21 + " RETURN a", "more than 20 relations", "several queries"),
    (START + "MATCH (a) WHERE " + " OR ".join(["a.id = $x"] * 201) + " RETURN a", "more than 200 comparisons", "as parameters"),
    (START + "RETURN " + ", ".join(["a"] * 101), "more than 100 columns", "several queries"),
    (START + "RETURN a ORDER BY " + ", ".join(["a.id"] * 21), "more than 20 sort keys", "several queries"),
]

GRAMMAR = [
    ("MATCH (a) RETURN a", "MATCH without START", "START a = events"),
    ("CREATE (a) RETURN a", "CREATE is not part of the subset", "save_memory"),
    (START + "CREATE (b) RETURN a", "CREATE", "save_memory"),
    (START + "MERGE (b) RETURN a", "MERGE", "only reads"),
    (START + "SET a.x = 1 RETURN a", "SET", "only reads"),
    (START + "DELETE a", "DELETE", "only reads"),
    (START + "REMOVE a.x RETURN a", "REMOVE", "only reads"),
    (START + "DROP INDEX x", "DROP", "only reads"),
    (START + "WITH a RETURN a", "WITH", "WHERE or relation parameters"),
    (COUNTED + "WITH n, count(a) AS c WHERE c > 1 RETURN n", "WITH", "HAVING in query_memories_with_sql"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE count(b) > 1 RETURN b", "an aggregate", "query_memories_with_sql has HAVING"),
    (START + "UNWIND [1] AS x RETURN a", "UNWIND", "IN"),
    (START + "OPTIONAL MATCH (a)-[:SHARES]-(b) RETURN b", "OPTIONAL", "second query"),
    (START + "CALL { RETURN 1 } RETURN a", "CALL", "no procedures"),
    ("LOAD CSV FROM 'x' AS l RETURN l", "LOAD", "params"),
    (START + "FOREACH (x IN [1] | SET a.y = 1)", "FOREACH", "only reads"),
    ("USE db START a = events(text: $q) RETURN a", "USE", "project"),
    (START + "RETURN a SKIP 5", "SKIP", "LIMIT"),
    (START + "RETURN a UNION START a = events(ids: $ids) RETURN a", "UNION", "one after the other"),
    (START + "RETURN a; RETURN a", "one statement", "second query"),
    ("START a = events(ids: $ids), b = events(ids: $ids) RETURN a", "one START", "MATCH"),
    ("START a = node(1) RETURN a", "starts from events", "START a = events"),
    ("START a = event(ids: $ids) RETURN a", "starts from events", "did you mean events?"),
    ("START a = events(ids: {x: 1}) RETURN a", "map values", "literal"),
    ("START a = events(ids: [[1]]) RETURN a", "list inside a list", "flat"),
    ("START a = events(ids: [x IN $ids | x]) RETURN a", "list comprehensions", "items"),
    ("START a = events(ids: $ids, ids: $ids) RETURN a", "given twice", "once"),
    (START + "WHERE a.id = 'evt_1' RETURN a", "WHERE without MATCH", "after a MATCH"),
    (START + "MATCH p = (a)-[:SHARES]-(b) RETURN b", "path variables", "name the nodes"),
    (START + "MATCH (a)--(b) RETURN b", "exactly one type", "name one relation"),
    (START + "MATCH (a)-[r]-(b) RETURN b", "exactly one type", "-[:SHARES]-"),
    (START + "MATCH (a)-[:SHARES|NEXT]-(b) RETURN b", "exactly one type", "each relation"),
    (START + "MATCH (a)<-[:SHARES]->(b) RETURN b", "one arrow at most", "no arrow"),
    (START + "MATCH (a:Event:Entity)-[:SHARES]-(b) RETURN b", "at most one label", "leave the label out"),
    (START + "MATCH (a)-[:SHARES*]-(b) RETURN b", "bounded by 1 to 3", "*1..3"),
    (START + "MATCH (a)-[:SHARES*2..1]-(b) RETURN b", "bounded by 1 to 3", "*n..m"),
    (START + "MATCH (a)-[:NEXT*1..4]->(b) RETURN b", "bounded by 1 to 3", "*n..m"),
    (START + "MATCH (a)-[:SIMILAR*1..2]-(b) RETURN b", "no variable length", "SHARES and NEXT"),
    (START + "MATCH (a)-[:NEXT]-(b) RETURN b", "NEXT needs its arrow", "-[:NEXT]->"),
    (START + "MATCH (a)-[:RESOLVED_BY]-(b) RETURN b", "RESOLVED_BY needs its arrow", "-[:RESOLVED_BY]->"),
    (START + "MATCH (a)<-[:MEMBER_OF]-(t) RETURN t", "points from Event to Tag", "(a)-[:MEMBER_OF]->(t)"),
    (START + "MATCH (t)-[:MEMBER_OF]->(a) RETURN t", "points from Event to Tag", "(t)<-[:MEMBER_OF]-(a)"),
    (START + "MATCH (a:Entity)-[:SHARES]-(b) RETURN b", "cannot be an Entity too", "another variable"),
    (START + "MATCH (a)-[:CONNECTED]-(b) RETURN b", "joins an Entity and an Entity", "allowed_relations"),
    (START + "MATCH (a)-[:SHARES]-(b:Evnt) RETURN b", "no label Evnt", "did you mean Event?"),
    (START + "MATCH (b)-[:SHARES]-(c) RETURN b", "not connected", "bound variable: a"),
    (START + "MATCH (a)-[:FAR]-(b) RETURN b", "FAR needs both of its ends bound", "SHARES {min: 2}"),
    (START + "MATCH (a)-[s:SHARES]-(b)-[s:SHARES]-(c) RETURN b", "names another relation", "of its own"),
    (START + "MATCH (a)-[b:SHARES]-(b) RETURN b", "names a node", "of its own"),
    (START + "MATCH (a)-[:PARTICIPATED_IN {min: 2}]-(e) RETURN e", "no parameter min", "WHERE"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE 1 < s.count < 3 RETURN b", "chained comparisons", "AND"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE s.count > 1 XOR s.count < 3 RETURN b", "XOR", "AND NOT"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE s.count RETURN b", "bare value", "compare it"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE true RETURN b", "bare value", "compare it"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE b.id NOT IN $seen RETURN b", "NOT IN", "write NOT b.id IN $seen"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE b.id = [1] RETURN b", "comparing with a list", "IN"),
    (START + "MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE n.name STARTS WITH 'x' RETURN n", "STARTS WITH", "CONTAINS"),
    (START + "MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE n.name ENDS WITH 'x' RETURN n", "ENDS WITH", "CONTAINS"),
    (START + "MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE n.name =~ 'x' RETURN n", "regular expressions", "CONTAINS"),
    (START + "MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE n.name IS NULL RETURN n", "IS NULL", "null is never true"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE s.count + 1 > 2 RETURN b", "arithmetic", "pass it as a parameter"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE (a)-[:NEXT]->(b) RETURN b", "patterns in WHERE", "into MATCH"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE NOT (a)-[:NEXT]->(b) RETURN b", "patterns in WHERE", "into MATCH"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE exists(b.id) RETURN b", "exists() is not part", "MATCH"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE b.summary = 'x' RETURN b", "condition on Event.summary", "query_memories_with_sql"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE b.summary CONTAINS 'xy' RETURN b", "condition on Event.summary", "START text"),
    (START + "MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE n.type CONTAINS 'xy' RETURN n", "Entity.name and Tag.name only", "names"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE b = 'evt_1' RETURN b", "compared with nodes only", "b.id = 'evt_42'"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE b IN $seen RETURN b", "compared with nodes only", "b.id IN $ids"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE b.id < a.id RETURN b", "ids have no order", "order_index"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE count(b) > 1 RETURN b", "an aggregate stands only in RETURN", "compare the rows"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE s.via = 1 RETURN b", "a list", "count or weight"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE c.id = 1 RETURN b", "`c` is not bound", None),
    (START + "RETURN *", "RETURN *", "name the variables"),
    (START + "RETURN 1", "a literal", "return variables"),
    (START + "RETURN a.order_index + 1", "arithmetic", "parameter"),
    (START + "RETURN count(count(a))", "nested aggregates", "once"),
    (START + "MATCH (a)-[s:SHARES]-(b) RETURN s", "relation variable `s` is no value", "s.count"),
    (START + "RETURN a AS x, a.id AS x", "given twice", "of its own"),
    (START + "RETURN sum(a.summary)", "sum takes numbers", "count"),
    (START + "RETURN min(a)", "min of a node", "min(x.timestamp)"),
    (START + "RETURN abs(a)", "the function abs", "the functions are"),
    (START + "RETURN cuont(a)", "the function cuont", "did you mean count?"),
    (START + "RETURN count(DISTINCT *)", "DISTINCT *", "count(DISTINCT x)"),
    (START + "RETURN sum(*)", "sum(*)", "sum(x.property)"),
    (START + "RETURN count(1)", "of a literal", "count(*)"),
    (START + "RETURN a.sumary", "no property sumary", "did you mean summary?"),
    (START + "RETURN a ORDER BY 1", "ORDER BY of a literal", "returned column"),
    (START + "MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN DISTINCT n.name ORDER BY a.timestamp", "with DISTINCT", "return a.timestamp too"),
    (START + "MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN n, count(a) ORDER BY n.name", "with aggregates", "return n.name too"),
    (START + "RETURN a ORDER BY count(a)", "with aggregates", "return count(a) too"),
    (
        COUNTED + "RETURN n.name, count(*) ORDER BY count DESC",
        "no returned column has this name",
        "RETURN count(*) AS count … ORDER BY count,",
    ),
    (COUNTED + "RETURN n.name AS name, count(*) AS c ORDER BY count", "`count` is not bound", "did you mean c? returned here: name, c"),
    (COUNTED + "RETURN n.name AS name, count(*) AS c ORDER BY cnt", "`cnt` is not bound", "sort by what is returned here: name, c; AS"),
    (COUNTED + "RETURN n.name AS name, count(*) AS many ORDER BY mnay", "`mnay` is not bound", "did you mean many?"),
    (COUNTED + "RETURN n.name ORDER BY name", "`name` is not bound", "or write ORDER BY n.name"),
    (START + "RETURN a ORDER BY a.summary", "summary is sorted by only where", "return it too"),
    (START + "RETURN CASE WHEN 1 = 1 THEN a END", "CASE", "MATCH and WHERE"),
    (START + "MATCH (a)-[:PARTICIPATED_IN]-(n) RETURN cos(a, n)", "cos takes two events", "cos(a, b)"),
    ("START a = events(text: $q, ids: $ids) RETURN a", "this combination", "ids alone"),
    ("START a = events(k: 5) RETURN a", "this combination", "tag and text"),
    ("START a = events(entities: $name) RETURN a", "no key entities", None),
]

PARAMETERS = [
    ("START a = events(text: $missing) RETURN a", "$missing is missing", "add missing to params"),
    ("START a = events(text: '') RETURN a", "is empty", "pass a text"),
    ("START a = events(text: '  ') RETURN a", "is empty", "pass a text"),
    ("START a = events(text: 5) RETURN a", "is not a text", "pass text"),
    ("START a = events(text: $q, k: 0) RETURN a", "k is 0", "from 1 to 20"),
    ("START a = events(text: $q, k: 1.5) RETURN a", "k is 1.5", "from 1 to 20"),
    ("START a = events(text: $q, k: 'x') RETURN a", "k is 'x'", "from 1 to 20"),
    ("START a = events(text: $q, k: true) RETURN a", "k is true", "from 1 to 20"),
    ("START a = events(ids: 'evt_1') RETURN a", "not a list of ids", "['evt_42']"),
    ("START a = events(ids: [1]) RETURN a", "1 is not an id", "'evt_42'"),
    (f"START a = events(ids: {[f'evt_{i}' for i in range(21)]}) RETURN a", "21 ids", "several calls"),
    (START + "RETURN a LIMIT 0", "LIMIT is 0", "1 to 200"),
    (START + "RETURN a LIMIT -1", "LIMIT is -1", "1 to 200"),
    (START + "RETURN a LIMIT 1.5", "LIMIT is 1.5", "1 to 200"),
    (START + "RETURN a LIMIT $q", "LIMIT is $q", "1 to 200"),
    (START + "MATCH (a)-[:SHARES {min: 0}]-(b) RETURN b", "not an integer from 1", "from 1"),
    (START + "MATCH (a)-[:SHARES {min: 'x'}]-(b) RETURN b", "not an integer from 1", "from 1"),
    (START + "MATCH (a)-[:SHARES {min_w: -1}]-(b) RETURN b", "not a number from 0", "from 0"),
    (START + "MATCH (a)-[:SIMILAR {k: 21}]-(b) RETURN b", "from 1 to 20", "from 1 to 20"),
    (START + "MATCH (a)-[:SIMILAR {min: 2}]-(b) RETURN b", "from -1 to 1", "from -1 to 1"),
    (START + "MATCH (a)-[:NEXT {source: 'thraed'}]->(b) RETURN b", "not one of thread", "did you mean thread?"),
    (START + "MATCH (a)-[:NEXT {source: []}]->(b) RETURN b", "not one of thread", "one of thread"),
    (START + "MATCH (a)-[:MEMBER_OF {kind: 'refer'}]->(t) RETURN t", "not one of contains", "did you mean refers?"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE b.id IN 'evt_1' RETURN b", "IN needs a list", "IN [...]"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE b.id IN $q RETURN b", "$q is not a list", "compare with ="),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE s.count = $list RETURN b", "$list is a list", "IN $list"),
    (START + "MATCH (a)-[s:SHARES]-(b) WHERE b.timestamp > 'soon' RETURN b", "not a timestamp", "ISO 8601"),
    (START + "MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE n.name CONTAINS 'i' RETURN n", "too short", "at least 2 ASCII"),
    (START + "MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE n.name CONTAINS '' RETURN n", "too short", "at least 2 ASCII"),
    (START + "MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE n.name CONTAINS 5 RETURN n", "looks for text", "'part'"),
]
CASES = [(kind, *case) for kind, cases in (("syntax", SYNTAX), ("grammar", GRAMMAR), ("params", PARAMETERS)) for case in cases]


@pytest.mark.parametrize(("blocked_by", "query", "message", "hint"), CASES, ids=[case[1][-60:] for case in CASES])
def test_says_what_is_wrong_and_what_to_do(blocked_by: str, query: str, message: str, hint: str | None) -> None:
    rejection = rejected(query)
    assert (rejection.blocked_by, message in rejection.message) == (blocked_by, True), rejection.message
    if hint is not None:
        assert rejection.hint is not None
        assert hint in rejection.hint
    if blocked_by in ("syntax", "grammar"):
        assert rejection.members["line"] == 1
        assert rejection.members["excerpt"].splitlines()[1].strip() == "^"


@pytest.mark.parametrize(
    ("query", "member", "values"),
    [
        (START + "MATCH (a)-[:SHARE]-(b) RETURN b", "allowed_relations", ["SHARES", "NEXT"]),
        (START + "MATCH (a)-[:CONNECTED]-(b) RETURN b", "allowed_relations", ["SHARES", "PARTICIPATED_IN"]),
        ("START a = events(nmae: 'x') RETURN a", "allowed_start_keys", ["text", "entity", "tag", "ids", "k"]),
        (START + "RETURN foo(a)", "allowed_functions", ["count", "cos"]),
        (COUNTED + "RETURN n.name, count(*) AS c ORDER BY cnt", "allowed_columns", ["n.name", "c"]),
        (START + "RETURN a.nope", "allowed_properties", ["summary", "score"]),
        (START + "MATCH (a)-[s:SHARES]-(b) RETURN s.nope", "allowed_properties", ["count", "weight", "via", "hops"]),
        (START + "MATCH (a)-[:SHARES {minn: 1}]-(b) RETURN b", "allowed_params", ["min", "min_w"]),
        (START + "MATCH (a)-[:NEXT {source: 'x'}]->(b) RETURN b", "allowed_sources", ["thread", "version_up"]),
        (START + "MATCH (a)-[:MEMBER_OF {kind: 'x'}]->(t) RETURN t", "allowed_kinds", ["contains", "refers"]),
    ],
)
def test_lists_what_is_allowed(query: str, member: str, values: list[str]) -> None:
    assert set(values) <= set(rejected(query).members[member])


def test_a_near_miss_of_a_relation_names_it() -> None:
    assert rejected(START + "MATCH (a)-[:SHARE]-(b) RETURN b").hint == "did you mean SHARES?"


def test_points_at_line_and_column() -> None:
    rejection = rejected("START a = events(ids: $ids)\n// it's fine\nRETURN a.sumary")
    assert (rejection.members["line"], rejection.members["column"]) == (3, 8)
    assert rejection.members["excerpt"] == "RETURN a.sumary\n       ^"
    assert rejection.message.startswith("line 3, column 8: ")


@pytest.mark.parametrize(
    "query",
    [
        "START a = events(entity: $name, text: $q) RETURN a",
        "START a = events(tag: $name) MATCH (a)-[:SHARES]-(b) RETURN b",
        START + "RETURN a",
        "START a = events(text: $q) MATCH (a)-[:SHARES]-(b) RETURN b, a.score",
        START + "MATCH (a)-[:PARTICIPATED_IN]-(n) WHERE n.name CONTAINS 'xy' RETURN n",
        START + "MATCH (a)-[:MEMBER_OF]-(t) RETURN t",
    ],
)
def test_the_switch_turns_the_newer_half_off(query: str) -> None:
    rejection = rejected(query, limits=GraphLimits(scoped_match=False))
    assert rejection.message.endswith("is not available on this server (scoped match is off)")
    assert rejection.blocked_by == "grammar"


def test_the_switch_leaves_the_older_half_on() -> None:
    query = compiled("START a = events(text: $q) MATCH (a)-[:MEMBER_OF]->(t) RETURN t", vectors=True)
    assert fill(query, PARAMS, GraphLimits(scoped_match=False)).limit == 20


@pytest.mark.parametrize("params", ["not json", "[1]", '"x"', "null", "[" * 100_000, '{"a":' * 100_000, "\ud800"])
def test_params_as_text_hold_an_object(params: str) -> None:
    with pytest.raises(GraphRejection, match="no JSON object"):
        read_params(params)


def test_params_as_text_are_read() -> None:
    assert read_params('{"n": 9007199254740993}') == {"n": 9007199254740993}
