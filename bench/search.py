"""Search at a size: its statements beside each stream's own by hand, what REST and our process add, sixteen callers, ten times as much.

In: how many events and pages. Out: tables on the terminal. Times inside Postgres are what the driver waits for, less what it waits for an
empty statement; of three tries of a question the quickest counts.
"""

import asyncio
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import psutil
import psycopg

from bench import search_by_hand
from bench.corpus import Corpus
from bench.graph_room import Waiting
from bench.growing import grow
from bench.inside import find_project, open_rooms
from bench.running import Running, await_indexes, fill, running
from bench.search_by_hand import Statement
from bench.timing import Times, percentiles
from bench.vectors import store_vectors
from service.db.embedded.payload import find_payload
from service.db.pools import Database
from service.db.scope import ProjectRef, SpaceRef
from service.db.transaction import Tx, bind_schema
from service.embed.indexes import Unindexed
from service.embed.spaces import BackfillLimits
from service.operations.operation import Services
from service.operations.searching import MemoryQuery, memory_query
from service.search.compile import Compiled, compile_neighbours, compile_seeds
from service.search.near import opening
from service.search.parse import SearchSettings
from service.search.stages import Stage
from service.search.streams.graph import Seed, seed_values
from service.surface.cli.greeting import own_caller

CLIENTS = 16
_SIZES = """
SELECT count(*) AS vectors, count(*) FILTER (WHERE kind = 0) AS largest, pg_total_relation_size('{schema}.passage') AS passages,
    pg_relation_size('{schema}.vector_{space}') AS heap, pg_indexes_size('{schema}.vector_{space}') AS indexes
FROM {schema}.vector_{space}
"""


class Captured(msgspec.Struct, frozen=True):
    """What one question made of statements: ours, each stream's by hand, and ours of each of these streams for the same answer."""

    text: str
    ours: list[Statement]
    by_hand: list[Statement]
    streams: list[Statement]


def run(events: int = 100_000, pages: int = 5_000, *, tenfold: bool = False, questions: int = 40) -> None:
    """Prints the figures; `tenfold` also with ten copies of everything."""
    corpus = Corpus(events, pages)
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder:
        data = Path(folder) / "data"
        with running(data, MUNIMENT_WORKER_POLL_MS="3600000") as server:
            print({name: round(value) for name, value in fill(server, corpus).items()}, flush=True)
            print(f"{store_vectors(server)} vectors made up", flush=True)
        with running(data) as server:
            small = _measure(server, corpus, questions)
        if tenfold:
            with running(data, MUNIMENT_WORKER_POLL_MS="3600000") as server:
                grow(server, 10)
                store_vectors(server)
            with running(data) as server:
                large = _measure(server, corpus, questions)
                print(f"ten times as much: REST p50 {large.p50 / small.p50:.2f}, p95 {large.p95 / small.p95:.2f} of the first")


def _measure(server: Running, corpus: Corpus, questions: int) -> Times:
    built_s = await_indexes(server)
    print(f"\nindexes built in {built_s:.0f} s", flush=True)
    asked = corpus.questions(questions)
    rest = asyncio.run(_alone(server, asked, built_s))
    _together(server, asked)
    return rest


async def _alone(server: Running, asked: Sequence[str], built_s: float) -> Times:
    async with open_rooms(server) as services:
        project, space = await find_project(server, services.database, server.line["project"])
        _print_sizes(server, project, space, built_s)
        captured = [await _capture(server, services, project, space, text) for text in asked]
        await _beside_hand(services.database, project, captured)
        rest = await _over_rest(server, services, asked)
        _print_pgbench(server, project, captured)
    return rest


def _print_sizes(server: Running, project: ProjectRef, space: SpaceRef, built_s: float) -> None:
    with psycopg.connect(server.line["database"]) as owner:
        row = owner.execute(_SIZES.format(schema=project.schema, space=space.id)).fetchone()
    assert row is not None
    vectors, largest, passages, heap, indexes = row
    each = f"{indexes / vectors:.0f} bytes of index a vector"
    print(f"{vectors:,} vectors: {heap / 1e6:.0f} MB, their indexes {indexes / 1e6:.0f} MB ({each}); passages {passages / 1e6:.0f} MB")
    memory = Unindexed(project.project_id, space.id, (0,), largest, space.dim, BackfillLimits().index_memory_mb).memory_kb / 1e3
    million = 1e6 / vectors
    print(
        f"a million vectors: {built_s * million:.0f} s of building, {indexes * million / 1e6:,.0f} MB of indexes; "
        f"building these took {memory:.0f} MB of memory at most",
        flush=True,
    )


async def _capture(server: Running, services: Services, project: ProjectRef, space: SpaceRef, text: str) -> Captured:
    """Asks one question and keeps the statements with their values."""
    seen: list[tuple[Compiled, Mapping[str, Any]]] = []
    plain = Stage.ask

    async def kept(self: Stage, statement: Compiled, values: Mapping[str, Any]) -> Any:
        seen.append((statement, {**self.plan.values, **values}))
        return await plain(self, statement, values)

    await _ask(server, services, text)  # the query's vector is kept from now on
    Stage.ask = kept  # type: ignore[method-assign]
    try:
        await _ask(server, services, text)
    finally:
        Stage.ask = plain  # type: ignore[method-assign]

    def ready(statement: Compiled, values: Mapping[str, Any]) -> Statement:
        return Statement(bind_schema(statement.sql, project.schema, space.id), statement.bind(values))

    # Each stream by hand takes the values that ours took; the graph starts from the same events and pages.
    ways: list[tuple[str, Callable[[Mapping[str, Any]], Statement]]] = [
        ("mean_length", search_by_hand.words),
        ("entities", search_by_hand.names),
        ("nearest", partial(search_by_hand.near, table=f"vector_{space.id}")),
    ]
    alone = [(make(values), ready(statement, values)) for name, make in ways for statement, values in seen if name in values]
    last = next(values for _, values in seen if "take" in values)
    seeds, stepped = compile_seeds(), compile_neighbours((), False)
    async with services.database.read(project) as tx:
        first = [Seed(*row) for row in await tx.fetch(seeds.sql, *seeds.bind(last))]
    alone.append((search_by_hand.neighbours(first), ready(stepped, {**last, **seed_values(first)})))
    return Captured(text, [ready(*each) for each in seen], [each for each, _ in alone], [each for _, each in alone])


async def _ask(server: Running, services: Services, text: str) -> None:
    caller = await own_caller(server.line["key"], services)
    await memory_query(services, caller, MemoryQuery(query=text, project=server.line["project"]))


async def _beside_hand(database: Database, project: ProjectRef, captured: Sequence[Captured]) -> None:
    async with database.read(project) as tx:
        empty = min([await _waited(tx, [Statement("SELECT 1", [])]) for _ in range(50)])
    taken: dict[str, list[float]] = {"ours": [], "by hand": []}
    begun = opening(SearchSettings(), None, iterative=database.iterative)
    differing = 0
    for number in range(-1, 3 * len(captured)):
        question = captured[number % len(captured)]
        for name, statements in (("ours", question.ours), ("by hand", question.by_hand)):
            async with database.read(project, opening=begun) as tx:
                tries = [await _waited(tx, statements) for _ in range(3)]
            if number >= 0:
                taken[name].append(min(tries) - empty * len(statements))
        if number < len(captured):
            async with database.read(project, opening=begun) as tx:
                pairs = zip(question.by_hand, question.streams, strict=True)
                differing += sum([_ids(await _rows(tx, hand)) != _ids(await _rows(tx, ours)) for hand, ours in pairs])
    for name, seconds in taken.items():
        print(f"inside Postgres, {name:8}  ", percentiles(seconds))
    print(f"{differing} streams by hand give another answer than ours")
    print(f"ratio p50 {percentiles(taken['ours']).p50 / percentiles(taken['by hand']).p50:.2f}", flush=True)


async def _rows(tx: Tx, statement: Statement) -> list[Any]:
    return await tx.fetch(statement.sql, *statement.arguments)


def _ids(rows: Sequence[Any]) -> dict[bool, list[int]]:
    """Pages and events in their order, whether they come one by one or as lists."""
    found: dict[bool, list[int]] = {}
    for row in rows:
        found.setdefault(row["is_page"], []).extend(map(int, row["ids"].split(",")) if "ids" in row else [row["id"]])
    return found


async def _waited(tx: Tx, statements: Sequence[Statement]) -> float:
    with Waiting() as waited:
        for statement in statements:
            await tx.fetch(statement.sql, *statement.arguments)
    return waited.seconds


async def _over_rest(server: Running, services: Services, asked: Sequence[str]) -> Times:
    """REST beside what the same call waits for Postgres in the room, in turn; and the processor time of the server's own process."""
    where = {"workspace": server.line["workspace"], "project": server.line["project"]}
    process = psutil.Process(server.process.pid)
    whole: list[float] = []
    inside: list[float] = []
    own = calls = 0.0
    for text in [*asked[:5], *asked]:
        body = {"query": text, **where}
        tries: list[tuple[float, float]] = []
        for number in range(4):
            before = sum(process.cpu_times()[:2])
            began = time.perf_counter()
            await asyncio.to_thread(server.post, "/search", body)
            taken = time.perf_counter() - began
            if number:  # the first makes the query's vector
                own, calls = own + sum(process.cpu_times()[:2]) - before, calls + 1
            with Waiting() as waited:
                await _ask(server, services, text)
            tries.append((taken, waited.seconds))
        best = [min(each) for each in zip(*tries[1:], strict=True)]
        whole.append(best[0])
        inside.append(best[1])
    rest, postgres = percentiles(whole[5:]), percentiles(inside[5:])
    print("over REST                  ", rest)
    print("  waited for Postgres      ", postgres)
    print(f"  beyond it p50 {rest.p50 - postgres.p50:.2f} ms; processor time of our process {own / calls * 1000:.2f} ms a call", flush=True)
    return rest


def _together(server: Running, asked: Sequence[str]) -> None:
    """Sixteen callers, each with a connection of its own."""
    where = {"workspace": server.line["workspace"], "project": server.line["project"]}
    headers = dict(server.client.headers)

    def caller(number: int) -> list[float]:
        taken: list[float] = []
        with httpx2.Client(base_url=server.client.base_url, headers=headers, timeout=120) as client:
            for turn in range(20):
                began = time.perf_counter()
                client.post("/search", json={"query": asked[(number * 7 + turn) % len(asked)], **where}).raise_for_status()
                taken.append(time.perf_counter() - began)
        return taken

    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        taken = [seconds for each in pool.map(caller, range(CLIENTS)) for seconds in each]
    times = percentiles(taken)
    rate = len(taken) / (time.perf_counter() - began)
    print(f"{CLIENTS} callers, no error        {times}; p99 {times.p99 / times.p50:.1f} x p50; {rate:.1f} calls/s", flush=True)


def _print_pgbench(server: Running, project: ProjectRef, captured: Sequence[Captured]) -> None:
    """The same statements without us: a script a question, kept plans, as many clients."""
    with tempfile.TemporaryDirectory() as folder, psycopg.connect(server.line["database"]) as owner:
        command = [str(find_payload().program("pgbench")), "-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "1", "-T", "15"]
        for number, question in enumerate(captured):
            file = Path(folder) / f"{number}.sql"
            lines = ["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;", f"SET LOCAL search_path = {project.schema}, ext;"]
            lines += [
                f"SET LOCAL hnsw.ef_search = {SearchSettings().ef_search};",
                *(_write(each, owner) for each in question.ours),
                "COMMIT;",
            ]
            file.write_text("\n".join(lines))
            command += ["-f", str(file)]
        shown = subprocess.run([*command, server.line["database"]], capture_output=True, text=True, check=True).stdout
    rates = [line for line in shown.splitlines() if line.startswith(("tps", "latency average"))]
    print(f"pgbench, {CLIENTS} clients: {'; '.join(rates[:2])}", flush=True)


def _write(statement: Statement, owner: "psycopg.Connection[Any]") -> str:
    """A statement with its arguments as literals, on one line."""
    values = [list(value) if isinstance(value, tuple) else value for value in statement.arguments]
    literals = [psycopg.sql.Literal(value).as_string(owner).replace("\n", "'||chr(10)||'") for value in values]
    sql = " ".join(statement.sql.split())
    return re.sub(r"\$(\d+)", lambda match: literals[int(match[1]) - 1], sql) + ";"


def arguments(parser: Any) -> None:
    """The options of the command."""
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--pages", type=int, default=5_000)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--tenfold", action="store_true", help="ten copies of everything as well (half an hour)")
