"""Static SQL: named and described queries from `sql/`, loaded once.

In: `sql/<area>/queries/<topic>.sql`, where each query begins with `-- name: …` and a description in comment lines.
Out: `Queries`, a mapping from name to `Query`. A file that Postgres's grammar (as sqlglot reads it) rejects fails at load.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
import sqlglot

_PACKAGE = Path(__file__).resolve().parent.parent
SQL_ROOT = next(path for path in (_PACKAGE / "_sql", _PACKAGE.parent / "sql") if path.is_dir())
_NAME = re.compile(r"^-- name: (\w+)[ \t]*$", re.MULTILINE)


class Query(msgspec.Struct, frozen=True):
    """One statement. `sql` names a project's tables as `m_0.event`, its current vectors as `m_0.vector_0`."""

    name: str
    sql: str
    description: str


Queries = Mapping[str, Query]


@cache
def load(area: str, topic: str) -> Queries:
    """The queries of one file, by name; raises ValueError for one without description or with a name used twice."""
    path = SQL_ROOT / area / "queries" / f"{topic}.sql"
    parts = _NAME.split(path.read_text(encoding="utf-8"))
    queries: dict[str, Query] = {}
    for name, block in zip(parts[1::2], parts[2::2], strict=True):
        query = _read(name, block)
        if name in queries or not query.description:
            raise ValueError(f"{path}: query {name} is doubled or has no description")
        queries[name] = query
    return queries


def _read(name: str, block: str) -> Query:
    lines = block.strip().splitlines()
    head = 0
    while head < len(lines) and lines[head].startswith("--"):
        head += 1
    description = " ".join(line.removeprefix("--").strip() for line in lines[:head])
    sql = "\n".join(lines[head:]).strip().rstrip(";")
    sqlglot.parse_one(sql, dialect="postgres")
    return Query(name=name, sql=sql, description=description)


def read_sql(*parts: str) -> str:
    """The text of one file below `sql/`."""
    return SQL_ROOT.joinpath(*parts).read_text(encoding="utf-8")
