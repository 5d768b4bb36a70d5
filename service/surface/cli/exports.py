"""`export`: writes a project to a file or to stdout; and the sender of such a file for `import --export`.

An export ends with a line that says so: without it, what was written is thrown away or reported.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
import rich_click as click

from service.memory.imports.export_file import ExportFile, ExportLine, Renumbering, cut_lines
from service.memory.imports.report import Report
from service.surface.cli.client import Client, Scope, read_answer
from service.surface.cli.connection import Options, find_connection
from service.surface.cli.failure import REFUSED, Failure, unreachable
from service.surface.cli.options import common
from service.surface.cli.output import print_json

_OWN_FAULT: Final = frozenset({400, 409, 413, 422})
_END: Final = b'{"line":"end",'
_REASONS: Final = {
    "link_lost": "What this line belongs to was not stored.",
    "left_out": "What this line belongs to is here with another text, which stands.",
}


class _Result(msgspec.Struct, frozen=True):
    id: int | None = None
    known: bool = False
    differs: bool = False
    error: str | None = None
    code: str | None = None
    hint: str | None = None


class _Results(msgspec.Struct, frozen=True):
    results: list[_Result]


class ExportSender:
    """Sends a file's lines in their order; gives reports, and counts what became of the lines of each kind."""

    def __init__(self, client: Client, scope: Scope) -> None:
        self._client = client
        self._scope = scope
        self._numbers = Renumbering()
        self.counts: dict[str, dict[str, int]] = {}

    def send(self, file: Path) -> Iterator[Report]:
        """Raises `Failure` for what ends an import."""
        export = ExportFile(file)
        for batch in cut_lines(export.lines()):
            if isinstance(batch, Report):
                yield batch
            else:
                yield from self._send(export.source, batch)
        if export.header is not None:
            numbers = {} if self._numbers.moved else export.header.numbers
            self._client.import_lines(self._scope, [{"line": "finish", "numbers": numbers}])

    def _send(self, source: str, batch: Sequence[ExportLine]) -> Iterator[Report]:
        lines: list[ExportLine] = []
        sent: list[dict[str, Any]] = []
        for line in batch:
            found = self._numbers.renumbered(line)
            if isinstance(found, str):
                self._count(line, "left_out" if found == "left_out" else "failed")
                yield Report(source, line.number, found, _REASONS[found])
            else:
                lines.append(line)
                sent.append(found)
        yield from self._post(source, lines, sent)

    def _post(self, source: str, lines: Sequence[ExportLine], sent: list[dict[str, Any]]) -> Iterator[Report]:
        if not lines:
            return
        try:
            results = read_answer(self._client.import_lines(self._scope, sent), _Results).results
        except Failure as failure:
            if failure.exit_code != REFUSED or failure.problem.status not in _OWN_FAULT:
                raise
            if len(lines) > 1:  # too much at once: the halves tell
                middle = len(lines) // 2
                yield from self._post(source, lines[:middle], sent[:middle])
                yield from self._post(source, lines[middle:], sent[middle:])
                return
            results = [_Result(error=failure.problem.error, code=failure.problem.code, hint=failure.problem.hint)]
        for line, result in zip(lines, results, strict=True):
            if result.error is not None:
                self._count(line, "failed")
                yield Report(source, line.number, result.code or "error", f"{result.error} {result.hint or ''}".strip())
                continue
            self._count(line, "known" if result.known else "stored")
            if result.id is not None:
                self._numbers.note(line, result.id, differs=result.differs)

    def _count(self, line: ExportLine, what: str) -> None:
        counts = self.counts.setdefault(line.kind, dict.fromkeys(("stored", "known", "failed"), 0))
        counts[what] = counts.get(what, 0) + 1


@click.command("export")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to this file and not to stdout.")
@common
def export_memory(options: Options, *, out: Path | None) -> None:
    """Write all that a project holds, as JSON Lines; `muniment import --export` reads them."""
    with Client(find_connection(options)) as client:
        scope = client.scope()
        if out is None:
            _copy(client, scope, sys.stdout.buffer)
            return
        fresh = out.with_name(out.name + ".part")
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                size = _copy(client, scope, file)
            fresh.replace(out)
        finally:
            fresh.unlink(missing_ok=True)
    if options.as_json:
        print_json({"file": str(out), "bytes": size})


def _copy(client: Client, scope: Scope, file: BinaryIO) -> int:
    """Writes the export to `file`; a `Failure` when it has no end."""
    size, tail = 0, b""
    for piece in client.export(scope):
        file.write(piece)
        size += len(piece)
        tail = (tail + piece)[-200:]
    file.flush()
    if not tail.endswith(b"\n") or not tail[:-1].rpartition(b"\n")[2].startswith(_END):
        raise unreachable("The server did not send the whole export.", "Try again; the server's log says what went wrong.")
    return size
