"""Session transcripts: one event a prompt, reply and result, and a report per bad line."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.memory.imports.report import Report
from service.memory.imports.transcript import EventItem, read_transcript
from tests.unit.memory.imports.transcript_builder import SESSION, Transcript, image, text, thinking, tool, working_session


def read(file: Path, **options: int | bool) -> tuple[list[EventItem], list[Report]]:
    items = list(read_transcript(file, **options))  # pyright: ignore[reportArgumentType]
    return [item for item in items if isinstance(item, EventItem)], [item for item in items if isinstance(item, Report)]


def codes(reports: list[Report]) -> list[tuple[int | None, str]]:
    return [(report.line, report.code) for report in reports if report.code != "left_out"]


def test_a_working_session(tmp_path: Path) -> None:
    events, reports = read(working_session().write(tmp_path))
    assert [(event.kind, event.summary) for event in events] == [
        ("summary", "Fix the cart's rounding"),
        ("user", "Please fix the rounding in src/cart.py, see #12."),
        ("assistant", "I'll look at `round_cents` first."),
        ("tool", "Read src/cart.py: 1 line"),
        ("tool", "Bash pytest -q tests/cart failed: E   assert 3 == 2"),
        ("assistant", "[Task Find callers]"),
        ("agent", "Find all callers of round_cents"),
        ("assistant", "There are two callers."),
        ("tool", "Task Find callers: There are two callers."),
        ("user", "Like this?"),
        ("assistant", "Yes. The fix is in."),
    ]
    assert {event.session for event in events} == {SESSION}
    assert [event.tags for event in events if event.summary.startswith(("Find", "There"))] == [("sub-agent",), ("sub-agent",)]
    assert not any(report.is_fault for report in reports)
    assert [report.code for report in reports] == ["left_out"]
    assert "1 file-history-snapshot, 1 meta, 1 system, 1 thinking" in reports[0].message


def test_the_lines_of_one_reply_are_one_event(tmp_path: Path) -> None:
    events, _ = read(working_session().write(tmp_path))
    reply = events[2]
    assert reply.content == "I'll look at `round_cents` first.\n\n[Read src/cart.py]\n\n[Bash pytest -q tests/cart]"
    assert reply.ingest_key == f"claude:{SESSION}:msg_1"
    assert reply.timestamp == datetime(2026, 3, 1, 10, 0, 5, 123000, tzinfo=UTC)
    assert [(entity.name, entity.type) for entity in reply.entities] == [("round_cents", "identifier"), ("src/cart.py", "file")]


def test_a_reply_goes_on_past_the_result_of_its_own_tool(tmp_path: Path) -> None:
    built = (
        Transcript()
        .user("go")
        .reply("m1", tool("t1", "Bash", command="ls"))
        .result("t1", "a.py")
        .reply("m1", text("done"))
        .reply("m2", text("x"))
    )
    events, _ = read(built.write(tmp_path))
    assert [event.content for event in events] == ["go", "[Bash ls]\n\ndone", "Bash ls:\na.py", "x"]


def test_replies_of_agents_side_by_side_stay_apart(tmp_path: Path) -> None:
    built = Transcript().user("one", isSidechain=True, parentUuid=None).user("two", isSidechain=True, parentUuid=None)
    for part in ("a", "b", "c"):
        built.reply("m1", text(f"1{part}"), isSidechain=True, parentUuid="u-1").reply(
            "m2", text(f"2{part}"), isSidechain=True, parentUuid="u-2"
        )
    events, _ = read(built.write(tmp_path))
    assert [event.content for event in events] == ["one", "two", "1a\n\n1b\n\n1c", "2a\n\n2b\n\n2c"]


def test_replay_gives_the_same_and_a_grown_file_only_more(tmp_path: Path) -> None:
    built = working_session()
    first, _ = read(built.write(tmp_path))
    assert read(built.write(tmp_path))[0] == first
    grown, _ = read(built.reply("msg_4", text("One more.")).write(tmp_path))
    assert grown[: len(first)] == first
    assert len({event.ingest_key for event in grown}) == len(grown) == len(first) + 1


def test_results_are_bounded_and_images_are_a_word(tmp_path: Path) -> None:
    built = (
        Transcript()
        .user([text("see"), image("QUFB" * 50_000)])
        .result("t", [text("x" * 50_000), image()])
        .result("t", "y" * 50_000, error=True)
    )
    events, _ = read(built.write(tmp_path))
    assert events[0].content == "see\n\n[image]"
    assert len(events[1].content) < 1100
    assert len(events[2].content) < 4100
    assert not any("QUFB" in event.content for event in events)


def test_thinking_is_left_out_unless_asked_for(tmp_path: Path) -> None:
    file = Transcript().reply("m1", thinking("hmm"), text("yes")).reply("m2", thinking("only")).write(tmp_path)
    events, reports = read(file)
    assert [event.content for event in events] == ["yes"]
    assert reports[-1].message == "Left out: 1 empty, 2 thinking."
    events, reports = read(file, with_thinking=True)
    assert [event.content for event in events] == ["hmm\n\nyes", "only"]
    assert reports == []


def test_a_summary_has_the_time_of_the_line_before_it_else_after_it(tmp_path: Path) -> None:
    def summary(built: Transcript, words: str) -> Transcript:
        return built.record("summary", summary=words, leafUuid=f"leaf-{words}", uuid=..., timestamp=..., parentUuid=...)

    built = summary(summary(Transcript(), "first"), "second").user("one").user("two")
    events, _ = read(summary(built, "third").write(tmp_path))
    assert [(event.summary, event.timestamp and event.timestamp.second) for event in events] == [
        ("first", 3), ("second", 3), ("one", 3), ("two", 4), ("third", 4)
    ]  # fmt: skip
    alone, _ = read(summary(Transcript(), "alone").write(tmp_path))
    assert [(event.summary, event.timestamp) for event in alone] == [("alone", None)]


@pytest.mark.parametrize(
    "content", ["# Notes\n\nMarkdown, no transcript.\n", '{"summary": "an event"}\n{"summary": "another"}\n', "[1]\n\n3\n"]
)
def test_a_file_of_another_kind_is_one_report(tmp_path: Path, content: str) -> None:
    file = tmp_path / "notes.md"
    file.write_text(content)
    (report,) = read_transcript(file)
    assert isinstance(report, Report)
    assert (report.line, report.code, report.is_loss) == (None, "no_transcript", True)


def test_a_transcript_that_begins_with_bad_lines_is_read_all_the_same(tmp_path: Path) -> None:
    events, reports = read(Transcript().raw(b"{oops}").raw(b"[1]").user("three").raw(b"{oops}").write(tmp_path))
    assert [event.content for event in events] == ["three"]
    assert codes(reports) == [(1, "malformed_json"), (2, "bad_record"), (4, "malformed_json")]


def test_a_file_whose_only_line_is_cut_off_says_so(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_bytes(b'{"type":"user","mess')
    assert codes(read(file)[1]) == [(1, "cut_line")]


def test_long_content_is_whole_and_its_summary_short(tmp_path: Path) -> None:
    events, _ = read(Transcript().user("First. " + "word " * 30_000).user("x" * 2000).write(tmp_path))
    assert len(events[0].content) > 149_000
    assert events[0].summary == "First."
    assert len(events[1].summary) == 500


def test_commands_are_kept_as_typed(tmp_path: Path) -> None:
    typed = "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>src a</command-args>"
    built = (
        Transcript().user(typed).user("<local-command-stdout>noise</local-command-stdout>").user("<system-reminder>x</system-reminder>hi")
    )
    assert [event.content for event in read(built.write(tmp_path))[0]] == ["/review src a", "hi"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_bad_lines_are_reported_and_good_ones_come_out(tmp_path: Path, end: bytes) -> None:
    built = Transcript().user("one").record("hologram", data=1).raw(b"").raw(b'{"type": "user", "message": 3}').raw(b"{oops}").raw(b"[1]")
    built.raw(json.dumps({"type": "user", "message": {"content": "y" * 3000}}).encode()).raw(
        b'{"type":"user","uuid":"z","message":{"content":"bad \xff"}}'
    )
    built.raw(built.lines[0]).user("two", timestamp="2026-02-30").raw(b"[" * 900).user("three")
    file = built.write(tmp_path, end)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes() + b'{"type":"user","mess')
    events, reports = read(file, max_line=2000)
    assert [event.content for event in events] == ["one", "bad \ufffd", "two", "three"]
    assert events[2].timestamp is None
    assert codes(reports) == [
        (2, "unknown_type"), (3, "blank_line"), (4, "bad_record"), (5, "malformed_json"), (6, "bad_record"), (7, "line_too_long"), (8, "invalid_utf8"),
        (9, "duplicate_id"), (10, "invalid_timestamp"), (11, "malformed_json"), (13, "cut_line"),
    ]  # fmt: skip
    assert all(report.message and report.source == str(file) for report in reports)


def test_a_line_of_15_megabytes_is_passed_over(tmp_path: Path) -> None:
    built = Transcript().user("before").user("x" * 15_000_000).user("after")
    events, reports = read(built.write(tmp_path))
    assert [event.content for event in events] == ["before", "after"]
    assert codes(reports) == [(2, "line_too_long")]


def test_nesting_without_end_is_one_bad_line(tmp_path: Path) -> None:
    events, reports = read(Transcript().user("before").raw(b"[" * 200_000).user("after").write(tmp_path))
    assert [event.content for event in events] == ["before", "after"]
    assert codes(reports) == [(2, "malformed_json")]


def test_what_cannot_be_stored_is_replaced(tmp_path: Path) -> None:
    built = Transcript().raw(rb'{"type":"user","uuid":"k\u0000","sessionId":"s\ud83d","message":{"content":"a\u0000b \ud83d \\u0000"}}')
    event = read(built.write(tmp_path))[0][0]
    assert event.content == "a\ufffdb \ufffd \\u0000"
    assert (event.session, event.ingest_key) == ("s\ufffd", "claude:s\ufffd:k\ufffd")


def test_the_same_id_with_other_words_is_another_event(tmp_path: Path) -> None:
    events, _ = read(Transcript().user("one", uuid="same").user("two", uuid="same").user("one", uuid="same").write(tmp_path))
    assert [event.content for event in events] == ["one", "two"]
    assert len({event.ingest_key for event in events}) == 2


def test_records_without_ids_have_stable_keys(tmp_path: Path) -> None:
    file = Transcript().user("one", uuid=..., sessionId=...).user("two", uuid=...).reply("m", text("x"), uuid=...).write(tmp_path)
    events, _ = read(file)
    assert [event.content for event in events] == ["one", "two", "x"]
    assert [event.ingest_key for event in events] == [event.ingest_key for event in read(file)[0]]
    assert {event.session for event in events} == {SESSION}


def test_an_open_reply_does_not_hold_everything_back(tmp_path: Path) -> None:
    built = Transcript().reply("m1", text("start"), isSidechain=True)
    for number in range(600):
        built.user(f"prompt {number}")
    built.reply("m1", text("late"), isSidechain=True)
    events, _ = read(built.write(tmp_path))
    assert [events[0].content, events[-1].content] == ["start", "late"]
    assert len({event.ingest_key for event in events}) == len(events) == 602


def test_an_empty_file_gives_nothing(tmp_path: Path) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_bytes(b"")
    assert list(read_transcript(file)) == []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["text", "tool_use", "tool_result", "image", "thinking"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "input", "id", "name", "message", "role", "tool_use_id"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
RECORDS = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "summary", "system", "new"])},
    optional={
        "message": JSON,
        "uuid": JSON,
        "parentUuid": JSON,
        "sessionId": JSON,
        "timestamp": JSON,
        "isSidechain": JSON,
        "summary": JSON,
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORDS.map(lambda record: json.dumps(record).encode()) | st.binary(max_size=40), max_size=6))
def test_no_line_stops_the_import(tmp_path: Path, lines: list[bytes]) -> None:
    file = tmp_path / "any.jsonl"
    file.write_bytes(b"\n".join([*lines, Transcript().user("the last one").lines[0]]) + b"\n")
    events, _ = read(file)
    assert events[-1].content == "the last one"
    assert Counter(event.ingest_key for event in events).most_common(1)[0][1] == 1
    assert all(len(event.summary) <= 500 and event.content for event in events)


def test_a_line_without_a_session_belongs_to_that_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "renamed.jsonl"
    file.write_bytes(working_session().write(tmp_path).read_bytes())
    events, _ = read(file)
    assert {event.session for event in events} == {SESSION}
