import io
import json
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from rich.console import Console

from service.errors import Problem
from service.surface.cli.output import line, marked, moment, plain, print_json, print_problem, show_rows, table


def rendered(value: object, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(value)
    return "\n".join(row.rstrip() for row in console.file.getvalue().splitlines())  # type: ignore[attr-defined]


def test_no_escape_sequence_of_a_memory_reaches_the_terminal() -> None:
    text = "a\x1b[31mred\x07\r\nb\x9b2J\u202egnp.exe\tc"
    assert plain(text) == "a\ufffd[31mred\ufffd\nb\ufffd2J\ufffdgnp.exe\tc"
    assert line(text) == "a\ufffd[31mred\ufffd b\ufffd2J\ufffdgnp.exe c"
    assert "\x1b" not in marked("<mark>\x1b[0m</mark>").plain


def test_marks_are_bold_and_the_rest_is_unescaped() -> None:
    text = marked("so &lt;mark&gt; <mark>save</mark>\n the <mark>A&amp;B</mark> file [bold]x[/]")
    assert text.plain == "so <mark> save the A&B file [bold]x[/]"
    assert [text.plain[span.start : span.end] for span in text.spans if span.style == "bold"] == ["save", "A&B"]


def test_a_problem_on_stderr_is_error_excerpt_allowed_and_hint(capsys: pytest.CaptureFixture[str]) -> None:
    members = {"blocked_by": "grammar", "excerpt": "START x\n      ^", "allowed_relations": ["SHARES", "NEXT"]}
    print_problem(Problem("graph_rejected", 400, "line 1, column 7: no\nSTART x\n      ^", "write\nSTART a", members), as_json=False)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "error: line 1, column 7: no",
        "  START x",
        "        ^",
        "allowed relations: SHARES, NEXT",
        "hint: write START a",
    ]


def test_a_long_list_of_what_is_allowed_is_left_to_json(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"name{number}" for number in range(100)]
    problem = Problem("sql_rejected", 400, "No.", "Did you mean name1?", {"allowed_functions": names})
    print_problem(problem, as_json=False)
    assert capsys.readouterr().err == "error: No.\nallowed functions: 100, listed with --json\nhint: Did you mean name1?\n"
    print_problem(problem, as_json=True)
    assert json.loads(capsys.readouterr().out)["allowed_functions"] == names


def test_a_problem_as_json_is_the_object_alone(capsys: pytest.CaptureFixture[str]) -> None:
    print_problem(Problem("not_found", 404, "There is none.", None, {"extra": 1}), as_json=True)
    out, err = capsys.readouterr()
    assert json.loads(out) == {"code": "not_found", "status": 404, "error": "There is none.", "hint": None, "extra": 1}
    assert err == ""


def test_an_answer_is_printed_as_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(b'{"n": 12345678901234567890123, "t": "\xed\x95\x9c"}\n')
    assert capsys.readouterr().out == '{"n": 12345678901234567890123, "t": "\ud55c"}\n'
    print_json({"a": msgspec.Raw(b"1.50")})
    assert capsys.readouterr().out == '{"a":1.50}\n'


def test_tables_keep_all_of_a_cell() -> None:
    shown = rendered(table(["name", "[red]n[/]"], [["[bold]x[/] " + "long " * 30, "1"], ["한서윤", ""]]), width=40)
    assert shown.count("long") == 30
    assert "[bold]x[/]" in shown
    assert "[red]n[/]" in shown
    assert "한서윤" in shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("2026-09-01T10:20:30.5+02:00", "2026-09-01 08:20:30Z"),
        ("2026-09-01T10:20:30Z", "2026-09-01 10:20:30Z"),
        (datetime(2026, 9, 1, tzinfo=UTC), "2026-09-01 00:00:00Z"),
        ("not a\ntime", "not a time"),
        (None, ""),
    ],
)
def test_times_are_shown_to_the_second_in_utc(value: datetime | str | None, shown: str) -> None:
    assert moment(value) == shown


def test_rows(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows([{"id": 1, "name": None}, {"id": 2, "name": "b\x1b"}], as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"id": 1, "name": None}, {"id": 2, "name": "b\x1b"}]
    show_rows([{"id": 1, "name": None}, {"id": 2, "name": "b\x1b" + "x" * 300}], as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split() == ["2", "b\ufffd" + "x" * 300]
    made = datetime(2026, 11, 30, 10, 3, 30, 982340, tzinfo=timezone(timedelta(hours=9)))
    show_rows([{"scopes": ["read", "write"], "at": made, "of": 1, "gone": None}], as_json=False)
    assert [cell.strip() for cell in capsys.readouterr().out.splitlines()[-1].split("  ") if cell.strip()] == [
        "read, write",
        "2026-11-30 01:03:30Z",
        "1",
    ]
    show_rows([], as_json=True)
    assert json.loads(capsys.readouterr().out) == []
