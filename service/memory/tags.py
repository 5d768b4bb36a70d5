"""Looking up tags: by a piece of their path with how much each is used, or by name.

In: a project and texts. Out: `TagList`, or the numbers of the tags that a name means.
"""

from typing import Final

import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.db.transaction import Tx
from service.errors import NotFound
from service.memory.cursors import seal, unknown_cursor, unseal
from service.memory.ids import number_of, public_id
from service.memory.names import pattern_of
from service.memory.scripts import fold_name
from service.memory.text import clean_name, clean_text

_MOST: Final = 2**63 - 1


class TagEntry(msgspec.Struct, frozen=True):
    """A tag with its exact numbers: of events contained in it, of events that refer to it, of pages."""

    id: str
    name: str
    contains: int
    refers: int
    pages: int


class TagList(msgspec.Struct, frozen=True):
    """Tags, the most used first; `total` counts all that match, `next_cursor` is null on the last answer."""

    tags: list[TagEntry]
    total: int
    next_cursor: str | None
    project: str


async def list_tags(database: Database, project: ProjectRef, piece: str, cursor: str, limit: int) -> TagList:
    """Tags whose path contains `piece`, whatever its case and width; every tag when it is empty."""
    pattern = pattern_of(fold_name(clean_text(piece)).strip())
    uses, path = _position(cursor)
    queries = load("project", "tags")
    async with database.read(project) as tx:
        total = await tx.fetchval(queries["count_tags"].sql, pattern)
        rows = await tx.fetch(queries["list_tags"].sql, pattern, uses, path, limit + 1)
    found = [TagEntry(public_id("tag", row["id"]), row["path"], row["contains"], row["refers"], row["pages"]) for row in rows[:limit]]
    more = seal(f"{rows[limit - 1]['uses']} {rows[limit - 1]['path']}") if len(rows) > limit else None
    return TagList(found, total, more, project.name)


async def find_tags(tx: Tx, text: str) -> list[int]:
    """The numbers of the tags that an id, a full path or a last segment means; raises `NotFound`."""
    name = clean_name(text)
    rows = await tx.fetch(load("project", "tags")["named_tags"].sql, number_of("tag", text), name)
    if not rows:
        raise NotFound(f"tag: there is no tag {name[:80]!r}.", hint="list_tags shows which tags there are.")
    return [row["id"] for row in rows]


def _position(cursor: str) -> tuple[int, str]:
    if not cursor:
        return _MOST, ""
    uses, _, path = unseal(cursor).partition(" ")
    if not (uses.isascii() and uses.isdecimal() and len(uses) < 19):
        raise unknown_cursor()
    return int(uses), path
