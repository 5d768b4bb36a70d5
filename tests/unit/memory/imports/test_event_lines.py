from pathlib import Path

from service.memory.imports.batches import Pending
from service.memory.imports.event_lines import read_event_lines
from service.memory.imports.report import Report


def read(tmp_path: Path, text: str | bytes, **more: int) -> list[Pending | Report]:
    file = tmp_path / "events.jsonl"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [*read_event_lines(file, **more)]


def test_each_line_is_an_event_or_a_report(tmp_path: Path) -> None:
    lines = [
        '{"summary": "one", "tags": ["a/b"], "ingest_key": "k"}',
        "",
        "{nope",
        '{"summary": 3}',
        '{"summary": "two", "unknown": 1}',
        "[]",
        '{"summary": "last", "entities": [{"name": "n", "type": "t"}]}',
    ]
    found = read(tmp_path, "\n".join(lines))
    assert [item.line for item in found] == [1, 2, 3, 4, 5, 6, 7]
    assert [item.code if isinstance(item, Report) else "event" for item in found] == [
        "event",
        "blank_line",
        "malformed_json",
        "invalid_request",
        "invalid_request",
        "invalid_request",
        "event",
    ]
    assert isinstance(found[0], Pending)
    assert found[0].event.ingest_key == "k"


def test_keys_follow_from_the_line_and_its_repetition(tmp_path: Path) -> None:
    line = '{"summary": "same"}\n'
    first = [item.event.ingest_key for item in read(tmp_path, line * 2 + '{"summary": "other"}\n') if isinstance(item, Pending)]
    again = [item.event.ingest_key for item in read(tmp_path, '{"summary": "other"}\n' + line * 3) if isinstance(item, Pending)]
    assert len({*first}) == 3
    assert {*first} < {*again}


def test_bad_bytes_and_long_lines_are_reported(tmp_path: Path) -> None:
    found = read(tmp_path, b'{"summary": "\xff"}\n{"summary": "' + b"x" * 200 + b'"}\n{"summary": "ok"}', max_line=100)
    assert [item.code if isinstance(item, Report) else "event" for item in found] == ["malformed_json", "too_long", "event"]
