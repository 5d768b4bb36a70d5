"""The names of pages: what links to a page may say, and which page is named so.

In: a page, or what was given as a path and is none. Out: its names; the path of the one page that a wiki link with this target leads to.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from service.db.queries import load
from service.db.transaction import Tx
from service.errors import NotFound, no_page
from service.memory.page_links import PageLink, resolve_path
from service.memory.scripts import fold_name
from service.memory.text import clean_name

MOST_ALIASES: Final = 50
_MOST_NAMED: Final = 5
_MOST_COMPARED: Final = 500


def names_of(path: str, title: str, aliases: Sequence[str]) -> list[str]:
    """What a link to the page may say: its path, or folded its last segment, its title or an alias."""
    leaf = path.rpartition("/")[2].removesuffix(".md")
    return list(dict.fromkeys([path, *(fold_name(clean_name(name)) for name in (leaf, title, *aliases[:MOST_ALIASES]))]))


async def find_named(tx: Tx, written: str) -> str:
    """The page's path; raises `NotFound`, which names those that may be meant."""
    target = resolve_path("", PageLink(written, None, "wiki"))
    rows = await tx.fetch(load("project", "pages")["pages_named"].sql, list(target.paths), fold_name(target.name), _MOST_NAMED + 1)
    found = [row["path"] for row in rows]
    by_path = [path for path in found if path in target.paths]
    for paths in (by_path, found):
        if len(paths) == 1:
            return paths[0]
    raise _meaning(written, found[:_MOST_NAMED] or await _alike(tx, written))


async def _alike(tx: Tx, written: str) -> list[str]:
    """Paths of the same folder that are written much the same."""
    folder = written.rpartition("/")[0]
    rows = await tx.fetch(load("project", "pages")["list_pages"].sql, f"{folder}/" if folder else "", "", _MOST_COMPARED)
    return get_close_matches(written, [row["path"] for row in rows], 1, 0.8)


def _meaning(written: str, paths: list[str]) -> NotFound:
    error = no_page(written)
    if paths:
        error.hint = f"Did you mean {' or '.join(map(repr, paths))}? {error.hint}"
    return error
