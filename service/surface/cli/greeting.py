"""What `serve` says when it is ready: one line of JSON for programs, or how to connect for people; with the sample, a first question too.

In: the announcement, the server's services and its data folder. Out: text on standard output; with `--json` exactly one line.
"""

import asyncio
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from service.access.keys import ALL_SCOPES, Caller
from service.app import Announcement, Ready
from service.db.scope import ProjectRef
from service.operations.operation import Services
from service.operations.projects import CreateProject, create_project
from service.operations.reading import MemoryStatus, memory_status
from service.operations.searching import MemoryQuery, QueryMemoryGraph, memory_query, query_memory_graph
from service.sample.load import load_sample
from service.sample.loader import PROJECT as SAMPLE
from service.surface.cli.connection import data_folder

QUESTION = "what fixed the lost counts after a crash?"
GRAPH = (
    "START a = events(entity: $a, k: 200) MATCH (a)-[:PARTICIPATED_IN]-(n {name: $b}) "
    "RETURN DISTINCT a.id, a.timestamp, a.summary ORDER BY a.timestamp LIMIT 200"
)
GRAPH_PARAMS = {"a": "save format", "b": "compaction"}
_SHOWN = 5


def greet(*, data: Path, sample: bool, as_json: bool) -> Ready:
    """What to do when the server is ready; `data` is its folder, absolute."""

    async def ready(announcement: Announcement, services: Services) -> None:
        if as_json:
            print(msgspec.json.encode(announcement).decode(), flush=True)
        console = Console(stderr=as_json, highlight=False)
        if sample and announcement.key:
            await _show_sample(console, announcement, announcement.key, services)
        if not as_json:
            _show_connection(console, announcement, data)

    return ready


async def _show_sample(console: Console, announcement: Announcement, key: str, services: Services) -> None:
    caller = await own_caller(key, services)
    made = await create_project(services, caller, CreateProject(slug=SAMPLE, name="Sample", workspace=announcement.workspace))
    project = await services.scopes.one(caller, made.workspace, made.project)
    with console.status("Importing the sample memory"):
        counts = await load_sample(services.database, project)
    console.print(f"The sample memory is in the project `{SAMPLE}`: {counts.events} events, {counts.pages} pages.")
    await _await_vectors(console, services, caller, project)
    await _ask(console, services, caller, project)
    await _walk(console, services, caller, project)


async def own_caller(key: str, services: Services) -> Caller:
    """The holder of the key that was just made."""
    key_id = key.split("_")[1]
    (row,) = await services.database.control("find_key", key_id)
    return Caller(key_id, row["workspace_id"], row["workspace"], row["role"], frozenset(ALL_SCOPES), None, row["default_project"])


async def _await_vectors(console: Console, services: Services, caller: Caller, project: ProjectRef) -> None:
    """Waits until the worker has been through; without an embedder nothing is due."""
    if services.embedder is None:
        return
    with console.status("Making vectors") as status:
        while True:
            found = await memory_status(services, caller, MemoryStatus(project=project.project))
            if found.embedding.pending == 0:
                return
            status.update(f"Making vectors: {found.embedding.pending} passages left")
            await asyncio.sleep(0.2)


async def _ask(console: Console, services: Services, caller: Caller, project: ProjectRef) -> None:
    started = time.perf_counter()
    answer = await memory_query(services, caller, MemoryQuery(query=QUESTION, limit=_SHOWN, project=project.project))
    took = (time.perf_counter() - started) * 1000
    console.print(f'\n[bold]memory_query[/] "{QUESTION}" [dim]({took:.0f} ms; {", ".join(answer.streams_active)})[/]')
    rows = [(hit.path, hit.title) for hit in answer.hits] + [(hit.id, hit.summary) for hit in answer.raw_hits]
    console.print(_table(("page or event", "what it says"), rows))


async def _walk(console: Console, services: Services, caller: Caller, project: ProjectRef) -> None:
    started = time.perf_counter()
    answer = await query_memory_graph(services, caller, QueryMemoryGraph(query=GRAPH, params=dict(GRAPH_PARAMS), project=project.project))
    took = (time.perf_counter() - started) * 1000
    console.print(f"\n[bold]query_memory_graph[/] where {' and '.join(GRAPH_PARAMS.values())} both appear [dim]({took:.0f} ms)[/]")
    console.print(f"[dim]{escape(GRAPH)}[/]")
    console.print(_table(answer.columns, [[str(cell) for cell in row] for row in answer.rows]))
    for note in answer.notes:
        console.print(f"[dim]{escape(note)}[/]")


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(escape(column), overflow="fold")
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    return table


def _show_connection(console: Console, announcement: Announcement, data: Path) -> None:
    """Lines that can be copied as they stand: no frame around them, no break within."""
    lines = ["", f"[bold]Serving at {announcement.url}[/]   MCP at {announcement.mcp}   Ctrl-C stops it"]
    if announcement.key:
        lines += [
            f"Workspace {announcement.workspace}, project {announcement.project}; this start's key, with all scopes:",
            f"  {announcement.key}",
            "Connect Claude Code:",
            f'  claude mcp add --transport http muniment {announcement.mcp} --header "Authorization: Bearer {announcement.key}"',
            *_elsewhere(data),
        ]
    for line in lines:
        console.print(line, soft_wrap=True)


def _elsewhere(data: Path) -> list[str]:
    """How the other commands are called; they look for a server in the platform's own folder, unless they are told of another."""
    commands = '`muniment query "…"`, `muniment import --markdown DIR`, `muniment connect` for other agents.'
    if data == data_folder(None, {}).absolute():
        return [f"In another terminal: {commands}"]
    return [
        "In another terminal, so that the commands find this data folder (or give each of them --data):",
        f"  export MUNIMENT_DATA={escape(shlex.quote(str(data)))}",
        f"Then {commands}",
    ]
