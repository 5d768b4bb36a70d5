import json
from pathlib import Path

import pytest

from service.memory.imports.batches import Pending
from service.memory.imports.markdown import PageItem
from service.memory.imports.report import Report
from service.sample.loader import read_sample
from service.surface.cli.sources import read_sources


def test_pages_come_first_then_transcripts_then_events(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.md").write_text("# A\n\nbody")
    record = {"type": "user", "uuid": "u1", "sessionId": "s" * 250, "timestamp": "2026-01-02T03:04:05Z", "message": {"content": "hello"}}
    longer = {**record, "uuid": "u2", "message": {"content": "# Title\n\nand more"}}
    (tmp_path / "t.jsonl").write_text(json.dumps(record) + "\n" + json.dumps(longer) + "\n")
    (tmp_path / "e.jsonl").write_text('{"summary": "one"}\n')
    items = [*read_sources([tmp_path / "pages"], [tmp_path / "t.jsonl"], [tmp_path / "e.jsonl"])]
    page, turn, long_turn, event = items
    assert isinstance(page, PageItem)
    assert isinstance(turn, Pending)
    assert isinstance(event, Pending)
    assert (page.path, event.event.summary, event.line) == ("a.md", "one", 1)
    assert (turn.event.summary, turn.event.kind, turn.event.timestamp) == ("hello", "user", "2026-01-02T03:04:05+00:00")
    assert turn.event.content is None  # the summary says it all
    assert isinstance(long_turn, Pending)
    assert (long_turn.event.summary, long_turn.event.content) == ("Title", "# Title\n\nand more")
    assert len(turn.event.ingest_key or "") <= 200


def test_a_file_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    items = [*read_sources([tmp_path / "no"], [tmp_path / "no.jsonl"], [tmp_path])]
    assert [item.code if isinstance(item, Report) else "" for item in items] == ["not_a_folder", "unreadable", "unreadable"]
    assert all(item.is_fault for item in items if isinstance(item, Report))


@pytest.mark.parametrize("kind", ["events", "pages", "aliases"])
def test_the_sample_has_all_of_its_kinds(kind: str) -> None:
    assert len(getattr(read_sample(), kind)) > 5
