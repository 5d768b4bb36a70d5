"""`query`, `graph`, `sql` and `status`: ask a server, print the answer."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import rich_click as click
from rich.console import Console
from rich.text import Text

from service.errors import Problem
from service.surface.cli.client import Client, Scope, read_answer
from service.surface.cli.connection import Options, find_connection
from service.surface.cli.failure import Failure
from service.surface.cli.options import TextCommand, common, common_to_several, joined_text, json_list, json_object
from service.surface.cli.output import line, marked, moment, print_json, print_notes, progress, stdout, table

_POLL_S: Final = 0.5
_MOST_TEXT: Final = 20  # events that a START takes: closest to a text
_MOST_LISTED: Final = 200  # and newest of a name or a tag
_STREAMS: Final = (("words", "fts_rank"), ("names", "entity_rank"), ("links", "graph_rank"), ("meaning", "vector_rank"))


class Hit(msgspec.Struct, frozen=True):
    """A page or an event that was found."""

    rank: float
    snippet: str = ""
    project: str = ""
    path: str | None = None
    title: str = ""
    updated_at: str | None = None
    id: str = ""
    session: str | None = None
    kind: str = ""
    summary: str = ""
    timestamp: str | None = None
    explain: dict[str, Any] | None = None


class SearchAnswer(msgspec.Struct, frozen=True):
    hits: list[Hit]
    raw_hits: list[Hit]
    notes: list[str] = []


class Rows(msgspec.Struct, frozen=True):
    """What a graph query or a query in SQL answers."""

    columns: list[str]
    rows: list[list[Any]]
    start: "Start | None" = None
    notes: list[str] = []


class Start(msgspec.Struct, frozen=True):
    """How a graph query's START went: whether there were more events than `k`. With `has_more` the answer's own notes count them; of `hub`
    alone they say nothing."""

    kind: str
    returned: int
    has_more: bool = False
    hub: bool = False

    @property
    def notes(self) -> list[str]:
        if not (self.has_more or self.hub):
            return []
        most = _MOST_TEXT if "text" in self.kind else _MOST_LISTED
        more = f"k says how many, as in events(…, k: {most})" if self.returned < most else f"k is at its most, {most}"
        if self.has_more:
            return [more]
        return [f"START took only the {self.returned} newest events, and there are more: {more}"]


class Embedding(msgspec.Struct, frozen=True):
    provider: str | None
    model: str | None
    dim: int | None
    pending: int
    embedded: int
    failed: int


class Source(msgspec.Struct, frozen=True):
    provider: str
    model: str | None = None
    dim: int | None = None

    @property
    def shown(self) -> str:
        return line(f"{self.provider} {self.model} ({self.dim})" if self.model else self.provider)


class Quota(msgspec.Struct, frozen=True):
    kind: str
    limit: int
    used: int | None = None


class Status(msgspec.Struct, frozen=True):
    workspace: str
    project: str
    counts: dict[str, int]
    embedding: Embedding
    newest_event: str | None
    source: Source | None = None
    quota: list[Quota] = []
    notes: list[str] = []


@click.command(cls=TextCommand)
@click.argument("text", nargs=-1, required=True, callback=joined_text)
@click.option("--limit", type=int, metavar="N", help="How many pages and how many events at most, 1 to 100.  [default: 10]")
@click.option("--explain", is_flag=True, help="Say for each hit how each stream ranked it.")
@click.option("--kinds", multiple=True, metavar="KIND", help="Only events of this kind; may be given several times.")
@click.option("--tags", multiple=True, metavar="TAG", help="Only what carries this tag; may be given several times.")
@click.option("--since", metavar="TIME", help="Only from this point in time on (ISO-8601).")
@click.option("--until", metavar="TIME", help="Only up to this point in time, a date's whole day included (ISO-8601).")
@click.option("--as-of", metavar="TIME", help="Only what was stored by then, pages in the version then current (ISO-8601).")
@common_to_several
def query(options: Options, *, text: str, kinds: Sequence[str], tags: Sequence[str], **filters: Any) -> None:
    """Search pages and events for TEXT: words, names or a question; "a phrase", and -word for what must not be there."""
    with Client(find_connection(options)) as client:
        answer = client.search({"query": text, "kinds": kinds or None, "tags": tags or None, **filters}, options.projects)
    if options.as_json:
        print_json(answer)
        return
    print_hits(stdout(), read_answer(answer, SearchAnswer))


def print_hits(console: Console, answer: SearchAnswer) -> None:
    """Pages, then events, each in a few lines; then the notes."""
    for name, hits in (("Pages", answer.hits), ("Events", answer.raw_hits)):
        if hits:
            console.print(Text(name, style="bold underline"))
            for hit in hits:
                _print_hit(console, hit)
    if not answer.hits and not answer.raw_hits:
        console.print("Nothing was found.")
    print_notes(console, answer.notes)


def _print_hit(console: Console, hit: Hit) -> None:
    facts = [
        f"{hit.rank:.4f}",
        hit.path or hit.id,
        moment(hit.updated_at if hit.path else hit.timestamp),
        hit.kind,
        hit.session,
        hit.project,
    ]
    said, snippet = line(hit.title if hit.path else hit.summary), marked(hit.snippet)
    lines = [Text("  ".join(line(fact) for fact in facts if fact))]
    if hit.path or not snippet.plain.startswith(said):  # the snippet of an event often begins with its summary
        lines.append(Text(f"    {said}"))
    if snippet:
        lines.append(Text("    ").append_text(snippet))
    if hit.explain is not None:
        lines.append(Text("    " + "  ".join(_reasons(hit.explain)), style="dim"))
    for each in lines:
        console.print(each, soft_wrap=True)


def _reasons(explain: dict[str, Any]) -> Iterator[str]:
    """How each stream ranked a hit, and what it matched."""
    for name, field in _STREAMS:
        rank = explain.get(field)
        yield f"{name} {'–' if rank is None else rank}"
    if isinstance(explain.get("cosine"), float):
        yield f"cosine {explain['cosine']:.3f}"
    for name in ("matched_entities", "graph_via"):
        if explain.get(name):
            yield f"{name.replace('_', ' ')}: {_cell(explain[name])}"


@click.command()
@click.argument("query")
@click.option("--params", callback=json_object, metavar="JSON", help="Values of the query's $parameters: a JSON object.")
@common
def graph(options: Options, *, query: str, params: msgspec.Raw) -> None:
    """Ask the graph of events, names and tags: START … MATCH … RETURN …"""
    with Client(find_connection(options)) as client:
        _print_rows(client.graph(query, params), as_json=options.as_json)


@click.command()
@click.argument("query")
@click.option("--params", callback=json_list, metavar="JSON", help="Values of $1, $2, … in their order: a JSON list.")
@common
def sql(options: Options, *, query: str, params: msgspec.Raw) -> None:
    """Read the project's views in SQL: one SELECT, or `describe` for the views and their columns."""
    with Client(find_connection(options)) as client:
        _print_rows(client.sql(query, params), as_json=options.as_json)


def _print_rows(answer: bytes, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    console = stdout()
    found = read_answer(answer, Rows)
    console.print(table(found.columns, [[_cell(value) for value in row] for row in found.rows]))
    console.print(f"{len(found.rows)} {'row' if len(found.rows) == 1 else 'rows'}")
    print_notes(console, [*found.notes, *(found.start.notes if found.start else [])])


def _cell(value: Any) -> str:
    """A value of an answer on one line: a node by its id and what it says, the others as they are."""
    if value is None:
        return ""
    if isinstance(value, str):
        return line(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(_cell(each) for each in value)
    if isinstance(value, dict) and "id" in value:
        return line(f"{value['id']} {value.get('summary') or value.get('name') or ''}")
    return line(msgspec.json.encode(value).decode())


@click.command()
@click.option("--wait", is_flag=True, help="Wait until nothing is left to embed.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Give up waiting after so long.")
@common
def status(options: Options, *, wait: bool, timeout: float | None) -> None:
    """Say what a project holds and how far its embedding is.

    `model` and `embedding` are those of the vectors that searches use: passages embedded, pending (still to be) and failed (given up).
    `provider` is what the server is set to; a note says where the two differ, or it does not answer.
    """
    with Client(find_connection(options), patient=wait) as client:
        scope = client.scope()
        answer = _wait(client, scope, timeout) if wait else client.status(scope)
    if options.as_json:
        print_json(answer)
        return
    found = read_answer(answer, Status)
    embedding = found.embedding
    vectors = f"{embedding.embedded} embedded, {embedding.pending} pending, {embedding.failed} failed"
    facts = {
        "workspace": line(found.workspace),
        "project": line(found.project),
        **{name: str(count) for name, count in found.counts.items()},
        "newest event": moment(found.newest_event),
        "model": line(f"{embedding.provider} {embedding.model} ({embedding.dim})") if embedding.provider else "none",
        "embedding": vectors if embedding.provider else "none yet" if found.source and found.source.provider != "none" else "off",
        **({"provider": found.source.shown} if found.source else {}),
        **{line(f"quota of {each.kind}"): f"{'' if each.used is None else f'{each.used} of '}{each.limit}" for each in found.quota},
    }
    console = stdout()
    width = max(map(len, facts))
    for name, fact in facts.items():
        console.print(Text(f"{name:{width}}  {fact}"), soft_wrap=True)
    print_notes(console, found.notes)


def _wait(client: Client, scope: Scope, timeout: float | None) -> bytes:
    """The first status with nothing pending; a `Failure` when it does not come in time."""
    end = None if timeout is None else time.monotonic() + timeout
    with progress(counted=True) as bar:
        task = bar.add_task("embedding", total=None)
        while True:
            answer = client.status(scope)
            now = read_answer(answer, Status).embedding
            bar.update(task, completed=now.embedded + now.failed, total=now.embedded + now.failed + now.pending)
            if now.pending <= 0:
                return answer
            if end is not None and time.monotonic() >= end:
                waiting = "1 passage still waits" if now.pending == 1 else f"{now.pending} passages still wait"
                error = f"{waiting} to be embedded."
                raise Failure(Problem("not_in_time", 504, error, "Is a worker running? `muniment worker` starts one."))
            time.sleep(_POLL_S)
