"""Free SQL as callers use it: answers, errors that teach, limits."""

import asyncio
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import NotFound, QueryTooSlow
from service.sqltool.answer import MOST_ROWS, SqlAnswer
from service.sqltool.rejection import SqlRejection
from service.sqltool.run import SqlLimits, run_query
from service.sqltool.views import VIEWS
from service.tenants.owner import owner_connection
from tests.conftest import Memory, Projects
from tests.unit.sqltool.corpus import HARMLESS

LIMITS = SqlLimits(statement_ms=5_000, most_bytes=100_000)


class Asked:
    """One project with a little in it, and a way to ask it."""

    def __init__(self, database: Database, project: ProjectRef) -> None:
        self.database = database
        self.project = project

    async def __call__(self, sql: str, *params: Any, limits: SqlLimits = LIMITS) -> SqlAnswer:
        return await run_query(self.database, self.project, sql, params, limits=limits)

    async def refused(self, sql: str, *params: Any) -> SqlRejection:
        with pytest.raises(SqlRejection) as refusal:
            await self(sql, *params)
        return refusal.value


@pytest_asyncio.fixture
async def ask(database: Database, project: ProjectRef, memory: Memory) -> Asked:
    await memory.save(
        project,
        [
            {"summary": "Plan the release", "timestamp": "2026-01-01T23:30:00-02:00", "tags": ["work/release"], "session": "s1"},
            {"summary": "Release 1.0 is out", "content": "All 50% of it", "entities": [("Kafka", "tool")], "tags": ["work/release"]},
            {"summary": "Kafka fell over", "entities": [("Kafka", "tool"), ("Ada", "person")], "kind": "incident"},
        ],
    )
    await memory.page(project, "notes/a.md", "A", "Read [[b]] first.")
    await memory.page(project, "notes/b.md", "B", "Nothing here.")
    return Asked(database, project)


async def test_rows_come_in_the_order_of_the_columns(ask: Asked) -> None:
    answer = await ask("SELECT id, public_id, kind AS id, timestamp FROM events ORDER BY events.id LIMIT 2")
    assert answer.columns == ["id", "public_id", "id", "timestamp"]
    assert answer.rows == [[1, "evt_1", "note", "2026-01-02T01:30:00+00:00"], [2, "evt_2", "note", None]]
    assert (answer.row_count, answer.truncated, answer.notes) == (2, False, [])


async def test_counts_over_joins_are_exact(ask: Asked) -> None:
    answer = await ask(
        "SELECT n.name, count(*) FROM event_entities x JOIN entities n ON n.id = x.entity_id WHERE n.name = $1 GROUP BY 1", "Kafka"
    )
    assert answer.rows == [["Kafka", 2]]
    assert (await ask("SELECT path, count(*) FROM event_tags m JOIN tags t ON t.id = m.tag_id GROUP BY path")).rows == [["work/release", 2]]
    assert (await ask("SELECT count(*) FROM events WHERE content LIKE $1", "%50%%")).rows == [[1]]


async def test_links_between_pages_are_those_that_read_page_shows(ask: Asked) -> None:
    answer = await ask("SELECT a.path, b.path FROM page_links l JOIN pages a ON a.id = l.from_page_id JOIN pages b ON b.id = l.to_page_id")
    assert answer.rows == [["notes/a.md", "notes/b.md"]]


@pytest.mark.parametrize("text", HARMLESS)
async def test_harmless_queries_run(ask: Asked, text: str) -> None:
    answer = await ask(text, *HARMLESS[text])
    assert answer.columns
    assert msgspec.json.encode(answer)


async def test_parameters_take_the_type_of_their_place(ask: Asked) -> None:
    text = "SELECT $1::bigint + 1, $2::text, $3 AND true, $4::int[], $5::jsonb -> 'a', $6::date + 1, $7::text, cardinality($8::text[])"
    answer = await ask(text, 2**60, 'it\'s \\ "quoted"', True, [1, None], {"a": [1, "x"]}, "2026-02-28", None, ["a,b", "c}", None, ""])
    assert answer.rows == [[2**60 + 1, 'it\'s \\ "quoted"', True, [1, None], [1, "x"], "2026-03-01", None, 4]]
    assert (await ask("SELECT id FROM events WHERE id = ANY($1) LIMIT $2", [3, 2, 99], 5)).row_count == 2
    assert (await ask("SELECT date_trunc($1, now()) = date_trunc($1, now())", "day")).rows == [[True]]


async def test_numbers_are_exact_as_far_as_json_goes(ask: Asked) -> None:
    text = "SELECT 9223372036854775807, 12345678901234567890123, 0.5, 'NaN'::float8, 'infinity'::float8, 1e400 + 0.5"
    answer = await ask(text)
    assert answer.rows[0][:5] == [9223372036854775807, 12345678901234567890123, 0.5, "NaN", "Infinity"]
    assert str(answer.rows[0][5]).startswith("10000")
    assert msgspec.json.encode(answer)


@pytest.mark.parametrize(
    ("text", "params", "state", "says", "hint"),
    [
        ("SELECT idd FROM events", [], "42703", 'column "idd"', "events.id"),
        ("SELECT tags FROM events", [], "42703", 'column "tags"', "JOIN event_tags AS et ON et.event_id = events.id"),
        ("SELECT xmin FROM events", [], "42703", "xmin", "describe"),
        ("SELECT 1 / 0", [], "22012", "division by zero", None),
        ("SELECT lower(id) FROM events", [], "42883", "lower(bigint)", "type casts"),
        ("SELECT id FROM events WHERE id = 'evt_1'", [], "22P02", "evt_1", "public_id"),
        ("SELECT id FROM events WHERE id = $1", ["evt_1"], "22P02", "evt_1", "public_id"),
        ("SELECT summary <=> summary FROM events", [], "42883", "<=>", "search_memory"),
        ("SELECT summary ~ '(' FROM events", [], "2201B", "regular expression", None),
        ("SELECT (SELECT id FROM events)", [], "21000", "more than one row", None),
        ("SELECT id, count(*) FROM events", [], "42803", "GROUP BY", None),
        ("SELECT * FROM (SELECT 1 UNION SELECT 'a') x", [], "22P02", "integer", None),
        ("SELECT current_date + $1", ["2026-13-45"], "42725", "not unique", "type casts"),
        ("SELECT $1::date", ["2026-13-45"], "22008", "out of range", None),
    ],
)
async def test_errors_of_postgres_teach(ask: Asked, text: str, params: list[Any], state: str, says: str, hint: str | None) -> None:
    problem = (await ask.refused(text, *params)).problem()
    assert (problem.code, problem.status, problem.members["blocked_by"]) == ("sql_rejected", 400, "database")
    assert problem.members["sqlstate"] == state, problem
    assert says in problem.error
    assert hint is None or hint in (problem.hint or "")
    shown = msgspec.json.encode(problem).decode()
    assert ask.project.schema not in shown
    assert "read_rows" not in shown


async def test_an_error_points_into_the_text_that_was_sent(ask: Asked) -> None:
    problem = (await ask.refused("SELECT id,\n   nothing\nFROM events WHERE id = $1;", 1)).problem()
    assert (problem.members["line"], problem.members["column"]) == (2, 4)
    assert problem.members["excerpt"] == "   nothing\n   ^"


async def test_a_query_without_columns_is_refused(ask: Asked) -> None:
    assert (await ask.refused("SELECT FROM events")).blocked_by == "statement"


async def test_describe_lists_the_columns_that_there_are(ask: Asked) -> None:
    every = await ask("describe")
    assert every.columns == ["view", "column", "type", "meaning"]
    for view in VIEWS:
        one = await ask(f"DESCRIBE {view.upper()} ;")
        assert [row[1] for row in one.rows] == (await ask(f"SELECT * FROM {view} LIMIT 0")).columns
    assert every.row_count == sum(len(columns) for columns in VIEWS.values())
    assert (await ask.refused("describe event")).hint == "Did you mean events?"


async def test_types_are_those_that_are_described(ask: Asked) -> None:
    async with ask.database.read(ask.project) as tx:
        for view, columns in VIEWS.items():
            rows = await tx.fetch(
                "SELECT a.attname, format_type(a.atttypid, a.atttypmod) AS kind FROM pg_attribute a WHERE a.attrelid = $1::text::regclass "
                "AND a.attnum > 0 ORDER BY a.attnum",
                f"{ask.project.schema}.{view}",
            )
            kinds = [(row["attname"], row["kind"].replace("timestamp with time zone", "timestamptz")) for row in rows]
            assert kinds == [(column.name, column.type) for column in columns], view


async def test_rows_are_cut_and_said(ask: Asked) -> None:
    answer = await ask("SELECT g FROM generate_series(1, 1000000) AS g ORDER BY g", limits=SqlLimits(most_bytes=10**7))
    assert (answer.row_count, answer.truncated) == (MOST_ROWS, True)
    assert "10000" in answer.notes[0]
    assert answer.rows[-1] == [MOST_ROWS]
    exact = await ask("SELECT g FROM generate_series(1, 10000) AS g", limits=SqlLimits(most_bytes=10**7))
    assert (exact.row_count, exact.truncated, exact.notes) == (MOST_ROWS, False, [])


async def test_bytes_are_cut_and_said(ask: Asked) -> None:
    text = "SELECT string_agg(md5(g::text), '') FROM generate_series(1, 1000) AS g, generate_series(1, 50) AS row GROUP BY row"
    answer = await ask(text)
    assert (answer.row_count, answer.truncated) == (3, True)
    assert "100000 bytes" in answer.notes[0]
    alone = await ask("SELECT string_agg(g::text, '') FROM generate_series(1, 100000) AS g")
    assert (alone.row_count, alone.truncated) == (0, True)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b, generate_series(1, 100000) c",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
        "SELECT count(*) FROM events a, events b, events c, events d, events e, events f, events g, events h, events i, events j, events k, "
        "events l, events m, events n, events o, events p, events q, events r, events s WHERE a.id + s.id > 0",
    ],
)
async def test_what_is_cheap_to_write_and_huge_to_run_is_stopped(ask: Asked, text: str) -> None:
    with pytest.raises(QueryTooSlow):
        await ask(text, limits=SqlLimits(statement_ms=300))
    assert (await ask("SELECT 1")).rows == [[1]]


async def test_an_endless_query_gives_its_first_rows(ask: Asked) -> None:
    answer = await ask(
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r", limits=SqlLimits(most_bytes=10**7)
    )
    assert (answer.row_count, answer.truncated) == (MOST_ROWS, True)


async def test_deep_chains_are_answered_or_refused(ask: Asked) -> None:
    assert (await ask("SELECT " + " + ".join(["1"] * 1_000))).rows == [[1_000]]
    assert (await ask(" UNION ALL ".join(["SELECT 1"] * 500))).row_count == 500


async def test_nothing_of_another_project_is_seen(ask: Asked, projects: Projects, memory: Memory) -> None:
    other = projects.make(ask.project.workspace)
    await memory.save(other, [{"summary": "xylocarpus"}])
    assert (await ask("SELECT id FROM events WHERE summary = $1", "xylocarpus")).rows == []
    texts = await asyncio.gather(
        *(run_query(ask.database, project, "SELECT summary FROM events", [], limits=LIMITS) for project in (other, ask.project) * 10)
    )
    assert {answer.row_count for answer in texts[::2]} == {1}
    assert {answer.row_count for answer in texts[1::2]} == {3}


async def test_a_project_that_is_gone_is_not_found(server: Any, ask: Asked) -> None:
    with owner_connection(server.owner_url) as owner:
        owner.execute(f"DROP SCHEMA {ask.project.schema} CASCADE")
        owner.execute("DELETE FROM control.project WHERE id = $1", (ask.project.project_id,))
    with pytest.raises(NotFound):
        await ask("SELECT id FROM events")
