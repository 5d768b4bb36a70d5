"""`import`: reads folders, transcripts and files of events, sends what they hold, and says what became of it, line by line.

Sending again stores nothing twice: events carry ingest keys, and a page that says the same makes no version.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
import rich_click as click
from rich.progress import Progress, TaskID

from service.access.keys import FIRST_KEY
from service.memory.imports.batches import Pending, cut_batches, linked
from service.memory.imports.markdown import PageItem
from service.memory.imports.report import Report
from service.memory.links import AliasInput
from service.sample.loader import PROJECT as SAMPLE
from service.sample.loader import read_sample
from service.surface.cli.client import Client, Scope, read_answer
from service.surface.cli.connection import Options, find_connection
from service.surface.cli.exports import ExportSender
from service.surface.cli.failure import REFUSED, Failure
from service.surface.cli.options import common
from service.surface.cli.output import line, plain, print_json, progress, stdout
from service.surface.cli.sources import read_sources

Item: TypeAlias = Pending | PageItem | Report

# Refusals of one page or event; any other ends the import, since it would meet the next one too.
_OWN_FAULT: Final = frozenset({400, 409, 413, 422})


class Tally(msgspec.Struct):
    """What became of pages and events so far."""

    pages: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(("created", "changed", "unchanged", "failed"), 0))
    events: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(("stored", "known", "failed"), 0))
    aliases: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(("stored", "known", "failed"), 0))
    export: dict[str, dict[str, int]] = msgspec.field(default_factory=dict[str, dict[str, int]])
    redacted: int = 0
    reports: list[Report] = msgspec.field(default_factory=list[Report])

    @property
    def has_faults(self) -> bool:
        return any(report.is_fault for report in self.reports)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was there to import, not even something that was there already."""
        return not self.export and not any((*self.pages.values(), *self.events.values()))


class _Line(msgspec.Struct, frozen=True):
    """What became of one event of a batch."""

    id: str | None = None
    known: bool = False
    redacted: int = 0
    error: str | None = None
    code: str = ""
    hint: str | None = None


class _Results(msgspec.Struct, frozen=True):
    results: list[_Line]


class _Outcome(msgspec.Struct, frozen=True):
    outcome: Literal["created", "updated", "unchanged"]
    redacted: int = 0
    version: int = 0
    replaced_author: str | None = None


class _Linked(msgspec.Struct, frozen=True):
    outcome: str


class Sender:
    """Sends items in their order to one project, and counts."""

    def __init__(self, client: Client, scope: Scope, bar: Progress, task: TaskID, tally: Tally) -> None:
        self.tally = tally
        self._client = client
        self._scope = scope
        self._bar = bar
        self._task = task
        self._ids: dict[str, str] = {}
        self._key_names: dict[str, str] | None = None

    def send(self, items: Iterable[Item], counts: dict[str, int]) -> None:
        """Sends all; `counts` is where what could not even be read counts as failed. Raises `Failure` for what ends an import."""
        for batch in cut_batches(self._events_of(items, counts)):
            self._send_batch(batch)

    def send_exports(self, files: Iterable[Path]) -> None:
        """Sends files of `muniment export`, each line with the numbers that the project gave."""
        for file in files:
            exported = ExportSender(self._client, self._scope)
            for report in exported.send(file):
                self.tally.reports.append(report)
            for kind, counts in exported.counts.items():
                total = self.tally.export.setdefault(kind, {})
                for what, count in counts.items():
                    total[what] = total.get(what, 0) + count

    def send_aliases(self, aliases: Sequence[AliasInput]) -> None:
        """Sends names that mean one thing; their events must be there. A name alone may be that of several entities."""
        ids = self._client.find_entities(self._scope, [end.name for alias in aliases for end in (alias.a, alias.b)])
        for alias in aliases:
            start, end = (ids.get((each.name, each.type or ""), each.name) for each in (alias.a, alias.b))
            link = {"relation": "SAME_AS", "from": start, "to": end, "confidence": alias.confidence}
            try:
                outcome = read_answer(self._client.link(self._scope, link), _Linked).outcome
                self.tally.aliases["known" if outcome == "unchanged" else "stored"] += 1
            except Failure as failure:
                self._judge(failure)
                self.tally.aliases["failed"] += 1
                self._report(alias.a.name, None, failure.problem.code, failure.problem.error, failure.problem.hint)

    def _events_of(self, items: Iterable[Item], counts: dict[str, int]) -> Iterator[Pending]:
        """The events among the items; pages are sent and reports kept on the way."""
        for item in items:
            if isinstance(item, Report):
                self.tally.reports.append(item)
                counts["failed"] += item.is_loss
            elif isinstance(item, PageItem):
                self._send_page(item)
            else:
                yield item

    def _send_page(self, page: PageItem) -> None:
        body = {"title": page.title, "body": page.body, "tags": [{"name": tag} for tag in page.tags], "aliases": page.aliases}
        try:
            written = read_answer(self._client.write_page(self._scope, page.path, body), _Outcome)
            self.tally.pages["changed" if written.outcome == "updated" else written.outcome] += 1
            self.tally.redacted += written.redacted
            if written.replaced_author is not None:
                self.tally.reports.append(_replaced(page.path, written.version - 1, self._author(written.replaced_author)))
        except Failure as failure:
            self._judge(failure)
            self.tally.pages["failed"] += 1
            self._report(page.path, None, failure.problem.code, failure.problem.error, failure.problem.hint)
        self._bar.advance(self._task)

    def _author(self, author: str) -> str:
        """An author with the name of their key, where this key may know it: each start of a server makes a new one."""
        if self._key_names is None:
            try:
                self._key_names = self._client.key_names(self._scope.workspace)
            except Failure as failure:
                if failure.problem.status not in (403, 404):
                    raise
                self._key_names = {}
        name = self._key_names.get(author)
        return f"{author} (the key of another start of this server)" if name == FIRST_KEY else f"{author} ({name})" if name else author

    def _send_batch(self, batch: Sequence[Pending]) -> None:
        events = [linked(item, self._ids) for item in batch]
        try:
            results = read_answer(self._client.save_events(self._scope, events), _Results).results
        except Failure as failure:
            self._judge(failure)
            if len(batch) > 1:  # too much at once, or one that spoils the whole: the halves tell
                middle = len(batch) // 2
                self._send_batch(batch[:middle])
                self._send_batch(batch[middle:])
                return
            results = [_Line(error=failure.problem.error, code=failure.problem.code, hint=failure.problem.hint)]
        for item, result in zip(batch, results, strict=True):
            self._take(item, result)
        self._bar.advance(self._task, len(batch))

    def _take(self, item: Pending, result: _Line) -> None:
        if result.id is None:
            self.tally.events["failed"] += 1
            self._report(item.source, item.line, result.code, result.error or "", result.hint)
            return
        self.tally.events["known" if result.known else "stored"] += 1
        self.tally.redacted += result.redacted
        if item.event.ingest_key is not None:
            self._ids[item.event.ingest_key] = result.id
        for key in item.named_keys:
            if key not in self._ids:
                self._report(
                    item.source, item.line, "link_lost", f"{result.id} was stored without its link to {key!r}, which is not there."
                )

    def _judge(self, failure: Failure) -> None:
        if failure.exit_code != REFUSED or failure.problem.status not in _OWN_FAULT:
            raise failure

    def _report(self, source: str, number: int | None, code: str, message: str, hint: str | None = None) -> None:
        self.tally.reports.append(Report(source, number, code, f"{message} {hint}" if hint else message))


def _replaced(path: str, version: int, author: str) -> Report:
    return Report(path, None, "replaced", f"Version {version}, by {author}, made room for the file's text; it stays readable.")


_FILE: Final[Any] = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("import")
@click.option(
    "--markdown",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="A folder of Markdown pages; may be given several times.",
)
@click.option("--transcript", multiple=True, type=_FILE, metavar="FILE", help="A Claude Code session (JSONL); may be given several times.")
@click.option("--events", multiple=True, type=_FILE, metavar="FILE", help="Events, one JSON object a line; may be given several times.")
@click.option("--export", multiple=True, type=_FILE, metavar="FILE", help="A file of `muniment export`; needs a key with the scope admin.")
@click.option("--sample", is_flag=True, help="The sample memory that comes with Muniment; without --project into the project `sample`.")
@common
def import_memory(
    options: Options,
    *,
    markdown: Sequence[Path],
    transcript: Sequence[Path],
    events: Sequence[Path],
    export: Sequence[Path],
    sample: bool,
) -> int:
    """Import pages and events. Doing it twice is the same as doing it once.

    The exit code is 1 when something could not be taken as it is, and when there was nothing to import at all.
    """
    if not (markdown or transcript or events or export or sample):
        raise click.UsageError(
            "Nothing to import: give --markdown, --transcript, --events, --export or --sample.", click.get_current_context()
        )
    with Client(find_connection(options), patient=True) as client, progress(counted=False) as bar:
        tally, task = Tally(), bar.add_task("importing", total=None)
        try:
            if markdown or transcript or events or export:
                sender = Sender(client, client.scope(), bar, task, tally)
                sender.send_exports(export)
                sender.send(read_sources(markdown, (), ()), tally.pages)
                sender.send(read_sources((), transcript, events), tally.events)
            if sample:
                _send_sample(Sender(client, _sample_scope(client, options), bar, task, tally))
        except Failure:
            bar.stop()
            if not options.as_json:
                _print(tally)
            raise
    if options.as_json:
        print_json(tally)
    else:
        _print(tally)
    if tally.is_empty:
        click.echo("Nothing was imported: there is no page and no event in what was given.", err=True)
    return REFUSED if tally.has_faults or tally.is_empty else 0


def _sample_scope(client: Client, options: Options) -> Scope:
    """The project that is named, else `sample`, so that the invented memory does not mix with one's own."""
    if options.project or os.environ.get("MUNIMENT_PROJECT"):
        return client.scope()
    workspace = client.connection.workspace or client.readable().workspace
    try:
        client.make_project(workspace, SAMPLE)
    except Failure as failure:
        if failure.problem.code != "forbidden":  # who may not make it may still write to the one that stands
            raise
    return Scope(workspace, SAMPLE)


def _send_sample(sender: Sender) -> None:
    sample = read_sample()
    sender.send(sample.pages, sender.tally.pages)
    sender.send(sample.events, sender.tally.events)
    sender.send_aliases(sample.aliases)


def _print(tally: Tally) -> None:
    console = stdout()
    for report in tally.reports:
        place = line(report.source) if report.line is None else f"{line(report.source)}:{report.line}"
        console.print(f"{place} {report.code} {line(plain(report.message))}", soft_wrap=True)
    for name, counts in (("pages", tally.pages), ("events", tally.events), ("aliases", tally.aliases), *tally.export.items()):
        if any(counts.values()):
            console.print(f"{name}: " + ", ".join(f"{count} {_WORDS.get(what, what)}" for what, count in counts.items()), soft_wrap=True)
    if tally.redacted:
        console.print(f"secrets: {tally.redacted} taken out, each replaced by [redacted:…]", soft_wrap=True)


_WORDS: Final = {"created": "stored", "known": "already there"}
