"""A file of events, one JSON object a line: in comes the file, out come events to store, and a report for each line that is none.

A line is what the batch operation takes. One without an `ingest_key` gets one that follows from its text, so that importing the file
twice stores nothing twice, and equal lines of one file are still as many events.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from service.memory.event_rows import EventInput
from service.memory.imports.batches import Pending
from service.memory.imports.lines import Line, read_lines
from service.memory.imports.report import Report
from service.memory.text import clean_text

LONGEST_LINE: Final = 8 * 1024 * 1024


def read_event_lines(file: Path, *, max_line: int = LONGEST_LINE) -> Iterator[Pending | Report]:
    """Read the events of `file`. Raises OSError when it cannot be opened."""
    source = clean_text(str(file))
    seen: Counter[str] = Counter()
    for line in read_lines(file, max_line):
        yield (
            _read(source, line, seen) if line.is_whole else Report(source, line.number, "too_long", f"The line has over {max_line} bytes.")
        )


def _read(source: str, line: Line, seen: Counter[str]) -> Pending | Report:
    if not line.raw.strip():
        return Report(source, line.number, "blank_line", "The line is blank.")
    try:
        event = msgspec.json.decode(line.raw, type=EventInput)
    except msgspec.ValidationError as error:
        return Report(source, line.number, "invalid_request", f"{error}.")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Report(source, line.number, "malformed_json", f"{error}.")
    if event.ingest_key is None:
        print_ = hashlib.sha256(msgspec.json.encode(event)).hexdigest()[:32]
        seen[print_] += 1
        event = msgspec.structs.replace(event, ingest_key=f"line:{print_}:{seen[print_]}")
    return Pending(event=event, source=source, line=line.number)
