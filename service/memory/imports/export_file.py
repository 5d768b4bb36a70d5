"""An export's file on its way in: in come its lines, out come batches to send and, for whatever is damaged, reports.

Numbers in the file are those of where it was made. `Renumbering` puts those of the project in their place, as they are answered.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from service.memory.export_format import FORMAT, KINDS, VERSION, End, Header
from service.memory.imports.lines import read_lines
from service.memory.imports.report import Report
from service.memory.text import clean_text

LONGEST_LINE: Final = 64 * 1024 * 1024
MOST_LINES: Final = 500
MOST_BYTES: Final = 2 * 1024 * 1024
_NAMES: Final = {
    "event_version": {"event_id": "event"},
    "next_link": {"from_id": "event", "to_id": "event"},
    "resolution": {"plan_id": "event", "evidence_id": "event"},
    "page_version": {"page_id": "page"},
}
_HISTORIES: Final = frozenset({"event_version", "page_version"})


class ExportLine(msgspec.Struct, frozen=True):
    """A line to send: where it stands, what it is, and as it stands."""

    number: int
    kind: str
    raw: dict[str, Any]
    size: int


class ExportFile:
    """One file. After `lines` has been read to its end, `header` is what it began with."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.source = clean_text(str(file))
        self.header: Header | None = None

    def lines(self) -> Iterator[ExportLine | Report]:
        """The lines between header and end; what is damaged or missing is reported. Raises OSError."""
        digest, count, end = hashlib.sha256(), 0, None
        seen = dict.fromkeys(KINDS, 0)
        for line in read_lines(self._file, LONGEST_LINE):
            found = self._read(line.number, line.raw, whole=line.is_whole)
            if isinstance(found, End):
                end = found
                continue
            digest.update(line.raw + b"\n")
            count += 1
            if isinstance(found, Header):
                self.header = found
            else:
                if isinstance(found, ExportLine):
                    seen[found.kind] += 1
                yield found
            if self.header is None:
                return
        yield from self._verdict(seen, end, End(count, digest.hexdigest()))

    def _verdict(self, seen: dict[str, int], end: End | None, read: End) -> Iterator[Report]:
        counts = self.header.counts if self.header else {}
        missing = {kind: counts[kind] - seen[kind] for kind in KINDS if counts.get(kind, 0) > seen[kind]}
        if missing:
            shown = ", ".join(f"{count} {kind}" for kind, count in missing.items())
            yield Report(self.source, None, "lines_missing", f"Lines that the header counts are not there: {shown}.")
        if end is None:
            yield Report(self.source, None, "cut_off", "The file has no end: it was cut off. Import it again when it is whole.")
        elif end != read:
            yield Report(self.source, None, "checksum", "The file is not as it was written: its checksum differs.")

    def _read(self, number: int, raw: bytes, *, whole: bool) -> ExportLine | Header | End | Report:
        if not whole:
            return Report(self.source, number, "too_long", f"The line has over {LONGEST_LINE} bytes.")
        try:
            value: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, Any])
            kind = value.get("line")
            if number == 1:
                return self._header(value)
            if kind == "end":
                return msgspec.convert(value, End)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            code = "no_export" if number == 1 else "malformed_json"
            return Report(self.source, number, code, f"{error}.")
        if kind not in KINDS:
            return Report(self.source, number, "unknown_line", "This is no line of an export.")
        return ExportLine(number, kind, value, len(raw))

    def _header(self, value: dict[str, Any]) -> Header | Report:
        if value.get("format") != FORMAT:
            return Report(self.source, 1, "no_export", "The file does not begin as an export of Muniment does.")
        header = msgspec.convert(value, Header)
        if header.version > VERSION:
            return Report(self.source, 1, "newer_export", f"The export is of version {header.version}; this version reads {VERSION}.")
        return header


def cut_lines(lines: Iterator[ExportLine | Report]) -> Iterator[list[ExportLine] | Report]:
    """Batches of lines of one kind, so that what a line names was answered before it is sent; reports in their places."""
    batch: list[ExportLine] = []
    size = 0
    for line in lines:
        if isinstance(line, Report):
            yield line
            continue
        if batch and (line.kind != batch[0].kind or len(batch) >= MOST_LINES or size + line.size > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += line.size
    if batch:
        yield batch


class Renumbering:
    """Which number of the file is which of the project, as far as lines were answered."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[int, int]] = {"event": {}, "page": {}}
        self._differing: dict[str, set[int]] = {"event": set(), "page": set()}
        self.moved = False

    def note(self, line: ExportLine, number: int, *, differs: bool) -> None:
        """A line was stored, or found, under this number."""
        before = line.raw.get("id")
        if not isinstance(before, int):
            return
        self.moved = self.moved or before != number
        if line.kind in self._numbers:
            self._numbers[line.kind][before] = number
            if differs:
                self._differing[line.kind].add(before)

    def renumbered(self, line: ExportLine) -> dict[str, Any] | str:
        """The line as it is to be sent; or why it is not: `link_lost` or `left_out`."""
        named = _NAMES.get(line.kind, {})
        changed: dict[str, int] = {}
        for field, kind in named.items():
            before = line.raw.get(field)
            number = self._numbers[kind].get(before) if isinstance(before, int) else None
            if number is None:
                return "link_lost"
            if line.kind in _HISTORIES and before in self._differing[kind]:
                return "left_out"
            changed[field] = number
        return {**line.raw, **changed}
