"""Graph queries on 100,000 events: beside the best SQL by hand and graph databases, over REST and MCP, eight at once, ten times as large.

In: what to measure. Out: tables on the terminal. Whatever is compared is asked in turn, question by question, in one run.
"""

import asyncio
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg

from bench.graph_data import Graph, build
from bench.graph_engines import Engine, engines
from bench.graph_recipes import QUERIES, Asked, ask, plain
from bench.graph_room import Compared, Room
from bench.inside import api_login, find_project, held_mb
from bench.running import Running, running
from bench.timing import percentiles
from service.db.pools import Database
from service.graph.compile import compiled

_BY_INDEX = (7, 12)  # Recipes that search the vector index.


def run(*, questions: int = 40, tenfold: bool = False, index: bool = True, others: bool = True) -> None:
    """Prints the figures; `tenfold` also on ten copies of the graph, without recipes 7 and 12 unless `index`."""
    folder = tempfile.TemporaryDirectory(prefix="muniment-bench-")
    with folder as name, running(Path(name) / "data", MUNIMENT_WORKER_POLL_MS="3600000") as server:
        graph = build(server, server.line["project"])
        asyncio.run(_in_the_room(server, graph, questions, others=others))
        if tenfold:
            server.post(f"/workspaces/{server.line['workspace']}/projects", {"slug": "tenfold"})
            asyncio.run(_tenfold(server, graph, build(server, "tenfold", 10, index=index), questions, index=index))


async def _in_the_room(server: Running, graph: Graph, questions: int, *, others: bool) -> None:
    database, room = await _room(server, graph)
    _compiling()
    print(f"\n{'inside Postgres, ms':24}{'ours p50':>10}{'p95':>8}{'by hand p50':>13}{'p95':>8}{'ratio p50':>11}{'p95':>6}   same answers")
    for recipe in QUERIES:
        _print_compared(recipe, await room.compare([ask(graph, recipe, n) for n in range(questions)]))
    await _over_the_wire(server, graph, room, questions // 2)
    await _eight_at_once(server, graph, room)
    if others:
        await _beside_engines(graph, room, questions // 2)
    await database.close()


async def _room(server: Running, graph: Graph) -> tuple[Database, Room]:
    database = await Database.open(await api_login(server), max_size=8)
    return database, Room(database, *await find_project(server, database, graph.project))


def _compiling() -> None:
    """Recipe 11 as a text that was never seen, and seen."""
    unseen = [_taken(lambda n=n: compiled(f"{QUERIES[11]} // {n}", vectors=True)) for n in range(40)]
    seen = [_taken(lambda: compiled(f"{QUERIES[11]} // 39", vectors=True)) for _ in range(40)]
    print("parse, plan and compile recipe 11, unseen", percentiles(unseen))
    print("                                     seen", percentiles(seen))


def _taken(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _print_compared(recipe: int, found: Sequence[Compared]) -> None:
    ours, hand = (percentiles([getattr(each, name) / 1000 for each in found]) for name in ("ours", "by_hand"))
    ratios = f"{ours.p50 / hand.p50:11.2f}{ours.p95 / hand.p95:6.2f}"
    same = sum(each.same for each in found)
    times = f"{ours.p50:10.2f}{ours.p95:8.2f}{hand.p50:13.2f}{hand.p95:8.2f}"
    print(f"{f'recipe {recipe}':24}{times}{ratios}   {same} of {len(found)}", flush=True)


async def _over_the_wire(server: Running, graph: Graph, room: Room, questions: int) -> None:
    """What a call takes beyond the time inside Postgres: in the room, over REST, over MCP, in turn; the quickest of three tries."""
    print(f"\n{'beyond Postgres, ms':24}{'room p50':>10}{'p95':>8}{'REST p50':>10}{'p95':>8}{'MCP p50':>10}{'p95':>8}")
    for recipe in QUERIES:
        if recipe == 12:
            continue  # Its text would be embedded: another thing's time.
        beyond: list[list[float]] = [[], [], []]
        for asked in (ask(graph, recipe, number) for number in range(questions)):
            inside, *whole = [min(each) for each in zip(*[await _each_way(server, room, asked) for _ in range(4)], strict=True)]
            for values, taken in zip(beyond, whole, strict=True):
                values.append(max(0.0, taken - inside) / 1000)
        print(f"{f'recipe {recipe}':24}" + "".join(f"{each.p50:10.2f}{each.p95:8.2f}" for each in map(percentiles, beyond)), flush=True)


async def _each_way(server: Running, room: Room, asked: Asked) -> tuple[float, float, float, float]:
    inside, whole = await room.timed(asked)
    return inside, whole, _taken(lambda: _rest(server, asked)) * 1000, _taken(lambda: _mcp(server, asked)) * 1000


def _rest(server: Running, asked: Asked) -> None:
    where = {"workspace": server.line["workspace"], "project": server.line["project"]}
    server.post("/graph", {"query": asked.query, "params": asked.params, **where})


def _mcp(server: Running, asked: Asked) -> None:
    arguments = {"query": asked.query, "params": asked.params, "project": server.line["project"]}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "query_memory_graph", "arguments": arguments}}
    headers = {"accept": "application/json, text/event-stream"}
    answer = server.client.post(server.line["mcp"], json=message, headers=headers)
    answer.raise_for_status()
    assert not answer.json()["result"].get("isError"), answer.text


async def _eight_at_once(server: Running, graph: Graph, room: Room) -> None:
    """Recipe 6 by eight callers: how long each waits, and what the backends hold of memory beside what they share."""
    questions = iter([ask(graph, 6, n) for n in range(80)])
    taken: list[float] = []

    async def caller() -> None:
        for asked in questions:
            began = time.perf_counter()
            await room.ours(asked)
            taken.append(time.perf_counter() - began)

    ended = threading.Event()
    peaks: list[float] = []
    watch = threading.Thread(target=_watch, args=(server, ended, peaks))
    watch.start()
    await asyncio.gather(*(caller() for _ in range(8)))
    ended.set()
    watch.join()
    print(f"\neight at once, recipe 6     {percentiles(taken)}; backends hold {max(peaks):.0f} MB at most")


def _watch(server: Running, ended: threading.Event, peaks: list[float]) -> None:
    with psycopg.connect(server.line["database"], autocommit=True) as owner:
        while not ended.wait(0.05):
            rows = owner.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
            peaks.append(sum(held_mb(pid) for (pid,) in rows.fetchall()))


async def _beside_engines(graph: Graph, room: Room, questions: int) -> None:
    with engines(graph) as found:
        if found:
            heads = "".join(f"{head:>12}{'p95':>8}" for head in ("inside p50", "whole p50", "theirs p50", "times p50", "of whole"))
            print(f"\n{'beside others, ms':24}{heads}   same")
        for engine in found:
            for recipe in (5, 6):
                await _beside(engine, [ask(graph, recipe, n) for n in range(questions)], room)


async def _beside(engine: Engine, questions: Sequence[Asked], room: Room) -> None:
    """Ours, what is waited for Postgres and the whole with texts and notes, against the numbers alone of theirs."""
    taken: list[list[float]] = [[], [], []]
    same = 0
    for asked in questions:
        same += plain(asked.recipe, (await room.ours(asked)).rows) == engine.ask(asked)
        tries = [(*await room.timed(asked), _taken(lambda asked=asked: engine.ask(asked)) * 1000) for _ in range(3)]
        for values, each in zip(taken, zip(*tries, strict=True), strict=True):
            values.append(min(each) / 1000)
    inside, whole, theirs = map(percentiles, taken)
    times = "".join(f"{each.p50:12.2f}{each.p95:8.2f}" for each in (inside, whole, theirs))
    times += "".join(f"{theirs.p50 / each.p50:12.1f}{theirs.p95 / each.p95:8.1f}" for each in (inside, whole))
    print(f"{f'recipe {questions[0].recipe}, {engine.name}':24}{times}   {same} of {len(questions)}", flush=True)


async def _tenfold(server: Running, graph: Graph, large: Graph, questions: int, *, index: bool) -> None:
    """The same questions of the graph and of ten copies of it, in turn; a deadline that is passed shows as partial."""
    small_pool, small = await _room(server, graph)
    large_pool, wide = await _room(server, large)
    print(f"\n{'ten times, whole ms':24}{'100,000 p50':>12}{'p95':>8}{'1,000,000 p50':>15}{'p95':>8}{'ratio p50':>11}{'p95':>6}   partial")
    for recipe in QUERIES:
        if recipe in _BY_INDEX and not index:
            continue
        taken: dict[Room, list[float]] = {small: [], wide: []}
        partial = 0
        for asked in (ask(graph, recipe, n) for n in range(questions)):
            partial += (await wide.ours(asked)).partial
            for each in taken:
                taken[each].append(await _best(each, asked))
        few, many = percentiles(taken[small]), percentiles(taken[wide])
        ratios = f"{many.p50 / few.p50:11.2f}{many.p95 / few.p95:6.2f}"
        print(f"{f'recipe {recipe}':24}{few.p50:12.2f}{few.p95:8.2f}{many.p50:15.2f}{many.p95:8.2f}{ratios}   {partial}", flush=True)
    await small_pool.close()
    await large_pool.close()


async def _best(room: Room, asked: Asked) -> float:
    found: list[float] = []
    for _ in range(4):
        began = time.perf_counter()
        await room.ours(asked)
        found.append(time.perf_counter() - began)
    return min(found[1:])


def arguments(parser: Any) -> None:
    """The options of the command."""
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--tenfold", action="store_true", help="ten copies of the graph as well: 1,000,000 events (some minutes)")
    parser.add_argument("--without-index", action="store_true", help="no vector index for the copies, and no recipes 7 and 12 on them")
    parser.add_argument("--alone", action="store_true", help="no other graph databases")
