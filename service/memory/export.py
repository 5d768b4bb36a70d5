"""Exporting a project: all that it holds, in one state, as JSON Lines in an order that is always the same.

In: a project. Out: pieces of the file, a few thousand rows at a time at most in memory, however large the project is.
"""

import hashlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final

import asyncpg
import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.db.transaction import Tx
from service.memory.export_format import FORMAT, KINDS, VERSION, End, Header

PIECE: Final = 64 * 1024
# Fewer of those whose rows may be long: a page has up to megabytes.
ROWS: Final = {"page": 4, "page_version": 4, "event": 100, "event_version": 100}
_NUMBERS: Final = ("events", "entities", "tags", "pages")
_JSON: Final = {"event": ("entities", "tags"), "alias": ("a", "b"), "page": ("entities",)}


async def read_header(database: Database, project: ProjectRef) -> Header:
    """What an export of the project would begin with."""
    async with database.read(project) as tx:
        return await _header(tx)


async def export_project(database: Database, project: ProjectRef) -> AsyncGenerator[bytes]:
    """The file, piece by piece, read from one snapshot. Raises `DatabaseBusy` when many exports are under way."""
    digest, lines = hashlib.sha256(), 0
    async with database.read_long(project) as tx, aclosing(_lines(tx)) as found:
        piece = bytearray()
        async for line in found:
            piece += line
            lines += 1
            if len(piece) >= PIECE:
                digest.update(piece)
                yield bytes(piece)
                piece.clear()
    digest.update(piece)
    yield bytes(piece) + _line(End(lines, digest.hexdigest()))


async def _lines(tx: Tx) -> AsyncGenerator[bytes]:
    yield _line(await _header(tx))
    queries = load("project", "export")
    for kind in KINDS:
        async with aclosing(tx.stream(queries[kind].sql, rows=ROWS.get(kind, 1000))) as rows:
            async for row in rows:
                yield _line({"line": kind, **_fields(kind, row)})


async def _header(tx: Tx) -> Header:
    (row,) = await tx.fetch(load("project", "export")["header"].sql)
    counts, numbers = ({name: row[name] for name in names} for names in (KINDS, _NUMBERS))
    return Header(FORMAT, VERSION, tx.project.workspace, tx.project.project, counts, numbers)


def _fields(kind: str, row: asyncpg.Record) -> Mapping[str, Any]:
    """A row's columns; those that the database wrote as JSON stay as they are."""
    fields: dict[str, Any] = dict(row)
    for name in _JSON.get(kind, ()):
        fields[name] = msgspec.Raw(fields[name].encode())
    return fields


def _line(value: Any) -> bytes:
    return msgspec.json.encode(value) + b"\n"
