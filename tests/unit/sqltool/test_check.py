"""The checker on texts alone."""

import re

import pytest

from service.db.queries import read_sql
from service.sqltool.arguments import bind
from service.sqltool.check import check
from service.sqltool.describe import DESCRIPTION
from service.sqltool.parse import LONGEST_TEXT, MOST_TOKENS
from service.sqltool.rejection import SqlRejection
from service.sqltool.rules.allowed_functions import FUNCTIONS
from service.sqltool.views import VIEWS
from tests.unit.docs.test_documented import DOCS
from tests.unit.sqltool.corpus import HARMLESS, REFUSED


def refuse(text: str, *params: object) -> SqlRejection:
    with pytest.raises(SqlRejection) as refusal:
        check(text, params)
    return refusal.value


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_queries_pass(text: str) -> None:
    assert check(text, HARMLESS[text]).text in text


@pytest.mark.parametrize("text", REFUSED)
def test_everything_else_is_refused_by_its_rule(text: str) -> None:
    refusal = refuse(text)
    assert refusal.blocked_by == REFUSED[text], str(refusal)
    assert refusal.status == 400


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 4_900 + "1" + ")" * 4_900,
        "SELECT 1 WHERE " + " OR ".join(["1 = 1"] * 10_000),
        "SELECT '" + "x" * 1_000_000 + "'",
        "SELECT " + "ARRAY[" * 50 + "1" + "]" * 50,
        "SELECT " + "date(" * 300 + "1" + ")" * 300,
        "SELECT " + "NOT " * 5_000 + "true",
        "SELECT 1 FROM " + "(SELECT * FROM " * 2_000 + "pages" + ") x" * 2_000,
        "SELECT " + "CASE WHEN true THEN " * 2_000 + "1" + " END" * 2_000,
        ",".join(["SELECT 1"] * 5_000),
        "SELECT x" + "[1]" * 1_000 + " FROM (SELECT ARRAY[1] AS x) q",
        "SELECT strpos('a', " + "||".join(["title"] * 3_000) + ") FROM pages",
        "SELECT strpos(x, x) FROM (SELECT " + ", ".join(f"c{n}||c{n} AS c{n + 1}" for n in range(800)) + ", c800 AS x, '' AS c0) AS q",
    ],
)
def test_what_is_too_large_is_refused_and_does_not_hang(text: str) -> None:
    assert refuse(text).blocked_by in ("size", "syntax")


def test_limits_are_exact() -> None:
    longest = "SELECT '" + "x" * (LONGEST_TEXT - 9) + "'"
    assert check(longest).text == longest
    assert refuse(longest + " ").blocked_by == "size"
    most = "SELECT " + ",".join("1" * (MOST_TOKENS // 2))
    assert len(check(most).tokens) == MOST_TOKENS
    assert refuse(most + ",1").blocked_by == "size"


def test_a_refusal_points_into_the_text() -> None:
    problem = refuse("SELECT id,\n  pg_sleep(1)\nFROM pages").problem()
    assert problem.code == "sql_rejected"
    assert problem.error.startswith("line 2, column 3: ")
    assert (problem.members["line"], problem.members["column"]) == (2, 3)
    assert problem.members["excerpt"] == "  pg_sleep(1)\n  ^"
    assert problem.members["allowed_functions"] == sorted(FUNCTIONS)


def test_a_refusal_names_what_was_probably_meant() -> None:
    assert refuse("SELECT * FROM event").hint == "Did you mean events?"
    assert refuse("SELECT lowr('x')").hint == "Did you mean lower?"
    for name, hint in (("format", "concat"), ("similarity", "memory_query"), ("group_concat", "string_agg")):
        assert hint in (refuse(f"SELECT {name}(summary) FROM events").hint or ""), name
    assert "describe" in (refuse("SELECT VERSION()").hint or "")
    assert "event_tags" in (refuse("SELECT e.tags FROM events AS e").hint or "")
    assert refuse("SELECT * FROM zzz").problem().members["allowed_tables"] == list(VIEWS)


@pytest.mark.parametrize(
    ("text", "params"), [("SELECT $1", []), ("SELECT $2", ["a"]), ("SELECT 1", ["a"]), ("SELECT $1, $3", ["a", "b", "c"])]
)
def test_parameters_and_values_must_fit(text: str, params: list[object]) -> None:
    assert refuse(text, *params).blocked_by == "params"


def test_a_parameter_is_no_name() -> None:
    for text in ("SELECT 1 AS $1", "SELECT * FROM $1", "SELECT p.$1 FROM pages p", "SELECT 1 $1"):
        assert refuse(text, "pages").blocked_by in ("params", "table", "syntax", "name"), text


def test_values_are_bound_by_number_and_never_written() -> None:
    question = check('SELECT \'$1\', "$1", a$1, $2,$1 FROM (SELECT 1 AS "$1", 2 AS a$1) AS x -- $2', ["it's", [1, None, '"\\']])
    text, values = bind(question, ["it's", [1, None, '"\\']], ["text", "text[]"])
    assert text == 'SELECT \'$1\', "$1", a$1, (($1)[2]::text[]),(($1)[1]::text) FROM (SELECT 1 AS "$1", 2 AS a$1) AS x'
    assert values == ["it's", '{"1",NULL,"\\"\\\\"}']


@pytest.mark.parametrize(
    ("value", "kind"),
    [([1], "int8"), ({"a": 1}, "text"), ("a", "text[]"), ([[1]], "int8[]"), ("\ud83d", "text"), (["\ud83d"], "jsonb"), (1, "regclass")],
)
def test_a_value_that_cannot_be_bound_is_refused(value: object, kind: str) -> None:
    question = check("SELECT $1", [value])
    with pytest.raises(SqlRejection) as refusal:
        bind(question, [value], [kind])
    assert refusal.value.blocked_by == "params"


def test_the_views_are_described_as_they_are() -> None:
    made = re.findall(r"CREATE VIEW (\w+)", read_sql("project", "views.sql"))
    assert sorted(made) == sorted(VIEWS)
    document = (DOCS / "sql.md").read_text(encoding="utf-8")
    for name, columns in VIEWS.items():
        section = document.partition(f"### {name}\n")[2].partition("\n#")[0]
        assert re.findall(r"^\| `(\w+)` \| ([\w ]+) \| (.+) \|$", section, re.MULTILINE) == [(c.name, c.type, c.meaning) for c in columns]
        assert f"{name}({', '.join(column.name for column in columns)})" in DESCRIPTION
    assert [name for name in sorted(FUNCTIONS) if f"`{name}`" not in document] == []
