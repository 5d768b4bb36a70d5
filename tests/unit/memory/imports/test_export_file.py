from collections.abc import Iterator
from pathlib import Path

import msgspec

from service.memory.export_format import FORMAT, KINDS, End, Header
from service.memory.imports.export_file import MOST_LINES, ExportFile, ExportLine, Renumbering, cut_lines
from service.memory.imports.report import Report


def line(number: int, kind: str = "event", **raw: int) -> ExportLine:
    return ExportLine(number, kind, {"line": kind, **raw}, 10)


def test_a_batch_holds_lines_of_one_kind() -> None:
    def lines() -> Iterator[ExportLine | Report]:
        yield from (line(n) for n in range(MOST_LINES + 1))
        yield Report("f", 9, "malformed_json", "")
        yield line(600)
        yield line(601, "page")

    found = [len(each) if isinstance(each, list) else each.code for each in cut_lines(lines())]
    assert found == [MOST_LINES, "malformed_json", 2, 1]


def test_lines_name_what_they_hang_on_by_its_new_number() -> None:
    numbers = Renumbering()
    numbers.note(line(1, id=5), 5, differs=False)
    assert not numbers.moved
    numbers.note(line(2, id=6), 17, differs=True)
    assert numbers.moved
    link = line(3, "next_link", from_id=6, to_id=5)
    assert numbers.renumbered(link) == {"line": "next_link", "from_id": 17, "to_id": 5}
    assert numbers.renumbered(line(4, "resolution", plan_id=5, evidence_id=7)) == "link_lost"
    assert numbers.renumbered(line(5, "event_version", event_id=5)) == {"line": "event_version", "event_id": 5}
    assert numbers.renumbered(line(6, "event_version", event_id=6)) == "left_out"
    assert numbers.renumbered(line(7, "page_version", page_id=5)) == "link_lost"


def test_a_header_of_a_later_version_is_refused(tmp_path: Path) -> None:
    header = Header(FORMAT, 2, "w", "p", dict.fromkeys(KINDS, 0), {})
    file = tmp_path / "later.jsonl"
    file.write_bytes(
        msgspec.json.encode(header) + b"\n" + msgspec.json.encode(line(1).raw) + b"\n" + msgspec.json.encode(End(2, "")) + b"\n"
    )
    export = ExportFile(file)
    (report,) = list(export.lines())
    assert isinstance(report, Report)
    assert (report.code, report.line, export.header) == ("newer_export", 1, None)
