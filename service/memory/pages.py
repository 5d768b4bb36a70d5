"""Writing, reading, listing and deleting pages: Markdown by path, with its 1,000 newest versions.

In: a project and what callers write. Out: the page's version; a change of something that has changed meanwhile is a `VersionConflict`.
"""

import asyncio
import re
from datetime import datetime
from typing import Any, Final

import msgspec

from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef
from service.db.transaction import Tx
from service.errors import InvalidRequest, TooLong, VersionConflict, no_page, no_version
from service.memory.event_rows import passage_row
from service.memory.extract import EntityName
from service.memory.ids import public_id
from service.memory.names import EntityInput, TagInput, clear_entities, clear_tags, read_entities, read_tags, renew_told
from service.memory.page_links import links_in, resolve_path
from service.memory.page_names import MOST_ALIASES, find_named, names_of
from service.memory.passages import split_page
from service.memory.redact import STANDARD, Redactor, Tally
from service.memory.scripts import fold_name
from service.memory.text import clean_name, clean_text, cut_words
from service.memory.turns import take_turn

LARGE: Final = 20_000
LONGEST_PATH: Final = 500
LONGEST_TITLE: Final = 500
_SEGMENT: Final = re.compile(r"[^\x00-\x1f\x7f]+")
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


class PageInput(msgspec.Struct, frozen=True):
    """A page as a caller writes it. None leaves a field as it stands, empty clears it: a title is the first heading then."""

    path: str
    body: str
    title: str | None = None
    expected_version: int | None = None
    entities: list[EntityInput | str] | None = None
    tags: list[TagInput | str] | None = None
    aliases: list[str] | None = None


class StandingPage(msgspec.Struct, frozen=True):
    """A page as a new text finds it; `version` 0: there is none yet."""

    version: int = 0
    title: str = ""
    body: str = ""
    author: str | None = None
    aliases: list[str] = []
    entities: list[EntityName] = []


class SavedPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """`outcome` is created, updated or unchanged: the same text makes no version.

    `redacted` counts the secrets that were taken out of what the caller gave. `replaced_author` wrote the text that was replaced, where
    that is somebody else.
    """

    page_id: str
    path: str
    version: int
    outcome: str
    redacted: int = 0
    replaced_author: str | None = None


class Page(msgspec.Struct, frozen=True):
    """A page in one of its versions. `links` are the pages it names, `backlinks` the paths of those that name it.

    `truncated`: there is more, as `notes` say. `length` is that of the whole body in characters; this piece of it begins at `start`, and
    the next one at `next_start`, which is null at the end.
    """

    page_id: str
    path: str
    title: str
    body: str
    version: int
    current_version: int
    author: str | None
    updated_at: datetime
    entities: list[dict[str, str]]
    tags: list[str]
    aliases: list[str]
    links: list[str]
    backlinks: list[str]
    start: int = 0
    length: int = 0
    next_start: int | None = None
    truncated: bool = False
    notes: list[str] = []


class PageEntry(msgspec.Struct, frozen=True):
    """A page in a list."""

    page_id: str
    path: str
    title: str
    version: int
    updated_at: datetime


def clean_path(path: str) -> str:
    """The spelling under which a page is stored: NFC, no empty segments, no `.` or `..`; raises `InvalidRequest`."""
    segments = [segment.strip() for segment in clean_name(path).replace("\\", "/").split("/")]
    segments = [segment for segment in segments if segment]
    if not segments or any(segment in (".", "..") or not _SEGMENT.fullmatch(segment) for segment in segments):
        raise InvalidRequest("path: not a page's path.", hint="Write a path such as decisions/storage.md.")
    cleaned = "/".join(segments)
    if len(cleaned) > LONGEST_PATH:
        raise TooLong(f"path: at most {LONGEST_PATH} characters.")
    return cleaned


async def write_page(
    database: Database, project: ProjectRef, page: PageInput, author: str | None, redactor: Redactor = STANDARD
) -> SavedPage:
    """Stores a page; raises `VersionConflict`, with the version that stands, when it is not the expected one (0: none yet)."""
    path, tally = clean_path(page.path), Tally(redactor)
    async with take_turn(len(page.body)):
        async with database.read(project) as tx:
            stood = await _standing(tx, path)
        row = await _make_row(page, author, tally, stood)
        async with database.write(project) as tx:
            saved = await _save(tx, row)
            if saved["outcome"] == "moved":  # somebody wrote it meanwhile: made once more, while this transaction keeps others from it
                stood, tally = await _standing(tx, path), Tally(redactor)
                saved = await _save(tx, await _make_row(page, author, tally, stood))
    if saved["outcome"] == "conflict":
        raise _conflict(path, saved["version"])
    others = saved["outcome"] == "updated" and stood.author != author
    replaced = stood.author if others else None
    return SavedPage(public_id("pg", saved["id"]), path, saved["version"], saved["outcome"], tally.count, replaced)


def page_row(page: PageInput, author: str | None, tally: Tally | None = None, stood: StandingPage | None = None) -> dict[str, Any]:
    """The page with its links, names and passages and without secrets, which `tally` counts, as the database's `save_page` takes it.

    What is left out is as in `stood`; without that it is empty.
    """
    tally = tally or Tally(STANDARD)
    path, body = clean_path(page.path), tally.clear(clean_text(page.body))
    tally.require_none("path", path)
    title = _title(page, path, body, tally, stood or StandingPage())
    given = stood.aliases if stood and page.aliases is None else [tally.clear(clean_name(alias)) for alias in page.aliases or ()]
    aliases = list(dict.fromkeys(filter(None, given)))[:MOST_ALIASES]
    tags = None if stood and page.tags is None else read_tags(clear_tags(page.tags or (), tally))
    links: dict[str, None] = {}
    for link in links_in(body):
        target = resolve_path(path, link)
        links |= dict.fromkeys(target.paths)
        if link.kind == "wiki" and target.name:
            links[fold_name(target.name)] = None
    return {
        "path": path,
        "names": names_of(path, title, aliases),
        "aliases": aliases,
        "title": title,
        "body": body,
        "author": author,
        "expected": page.expected_version,
        "read": stood and {"version": stood.version, "aliases": stood.aliases},
        "links": list(links),
        **_entities(page, f"{title}\n{body}", tally, stood),
        "tags": tags and [{"path": t.path, "leaf": t.leaf, "folded": fold_name(t.path)} for t in tags],
        "passages": [passage_row(piece) for piece in split_page(title, body)],
    }


async def read_page(database: Database, project: ProjectRef, path: str, version: int | None = None) -> Page:
    """A page as it is now, or in an earlier version, by its path or as a wiki link names it; raises `NotFound`."""
    cleaned = clean_path(path)
    async with database.read(project) as tx:
        row = await _stored(tx, cleaned, version)
        if row is None:
            row = await _stored(tx, await find_named(tx, cleaned), version)
    if row is None:
        raise no_page(cleaned)
    return Page(
        page_id=public_id("pg", row["id"]),
        path=row["path"],
        title=row["title"],
        body=row["body"],
        version=row["version"],
        current_version=row["current_version"],
        author=row["author"],
        updated_at=row["updated_at"],
        entities=[{"name": name, "type": kind} for name, kind in zip(row["entity_names"], row["entity_types"], strict=True)],
        tags=row["tags"],
        aliases=row["aliases"],
        links=row["links"],
        backlinks=row["backlinks"],
        length=len(row["body"]),
    )


async def _stored(tx: Tx, path: str, version: int | None) -> Any:
    """The row of a page that stands under this path; raises `NotFound` where it has no such version."""
    row = await tx.fetchrow(load("project", "pages")["read_page"].sql, path, version)
    kept = await tx.fetchrow(load("project", "pages")["kept_versions"].sql, path) if row is None and version is not None else None
    if kept is not None and version is not None:
        raise no_version(path, version, kept["earliest"], kept["newest"])
    return row


async def list_pages(database: Database, project: ProjectRef, prefix: str, after: str, limit: int) -> list[PageEntry]:
    """Pages whose path begins with `prefix`, in the order of their paths, those after `after` first."""
    async with database.read(project) as tx:
        rows = await tx.fetch(load("project", "pages")["list_pages"].sql, clean_name(prefix), clean_name(after), limit)
    return [PageEntry(public_id("pg", r["id"]), r["path"], r["title"], r["version"], r["updated_at"]) for r in rows]


async def delete_page(database: Database, project: ProjectRef, path: str, expected_version: int | None) -> str:
    """Deletes a page with all its versions; gives its id; raises `NotFound` or `VersionConflict`."""
    cleaned = clean_path(path)
    async with database.write(project) as tx:
        row = await tx.fetchrow(load("project", "pages")["delete_page"].sql, cleaned, expected_version)
    if row is not None and row["stands"] is not None:
        raise _conflict(cleaned, row["stands"])
    if row is None or row["id"] is None:
        raise no_page(cleaned)
    return public_id("pg", row["id"])


def _conflict(path: str, version: int) -> VersionConflict:
    if version == 0:
        return VersionConflict(f"There is no page {path!r} yet.", hint="Leave expected_version out, or give 0.", current_version=0)
    return VersionConflict(
        f"The page {path!r} is at version {version} now.",
        hint=f"Read it again, merge, and write with expected_version {version}.",
        current_version=version,
    )


async def _make_row(page: PageInput, author: str | None, tally: Tally, stood: StandingPage) -> dict[str, Any]:
    """A large page takes a second to read: other calls go on meanwhile."""
    if len(page.body) + len(stood.body) > LARGE:
        return await asyncio.to_thread(page_row, page, author, tally, stood)
    return page_row(page, author, tally, stood)


async def _save(tx: Tx, row: dict[str, Any]) -> Any:
    (saved,) = await tx.fetch(load("project", "pages")["save_page"].sql, msgspec.json.encode(row).decode())
    return saved


async def _standing(tx: Tx, path: str) -> StandingPage:
    row = await tx.fetchrow(load("project", "pages")["standing_page"].sql, path)
    if row is None:
        return StandingPage()
    entities = [EntityName(*each) for each in zip(row["names"], row["types"], strict=True)]
    return StandingPage(row["version"], row["title"], row["body"], row["author"], row["aliases"], entities)


def _entities(page: PageInput, text: str, tally: Tally, stood: StandingPage | None) -> dict[str, Any]:
    """The names to be there. Without names given, those that only the earlier text told make room for those that the new one tells."""
    if stood and stood.version and page.entities is None:
        named, dropped = renew_told(stood.entities, f"{stood.title}\n{stood.body}", text)
    else:
        named, dropped = read_entities(clear_entities(page.entities or (), tally), text), None
    # Where a path begins is the page's folder: it is a link, and no name that another page could share.
    given = {each if isinstance(each, str) else each.name for each in page.entities or ()}
    named = [each for each in named if each.name in given or not each.name.startswith(("./", "../"))]
    return {
        "entities": [{"name": e.name, "type": e.type, "folded": fold_name(e.name)} for e in named],
        "dropped": dropped and [{"name": e.name, "type": e.type} for e in dropped],
    }


def _told_title(path: str, body: str) -> str:
    heading = _HEADING.search(body[:10_000])
    return cut_words(clean_name(heading[1]) if heading else path.rpartition("/")[2].removesuffix(".md"), LONGEST_TITLE)


def _title(page: PageInput, path: str, body: str, tally: Tally, stood: StandingPage) -> str:
    """As given; a title that is left out and was not the text's own stays."""
    if page.title is None and stood.version and stood.title != _told_title(path, stood.body):
        return stood.title
    title = clean_name(page.title) if page.title else ""
    if not title:
        return _told_title(path, body)
    if len(title) > LONGEST_TITLE:
        raise TooLong(f"title: at most {LONGEST_TITLE} characters, not {len(title)}.")
    return cut_words(tally.clear(title), LONGEST_TITLE)
