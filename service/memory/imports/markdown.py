"""A folder of Markdown as pages: in comes the folder, out come its pages in the order of their paths, and a report for whatever is none.

The same folder gives the same pages each time. Read are `.md`, `.markdown` and `.mdx`. Symbolic links are not followed: what they point at
within the folder is read at its own place, and what lies outside was not asked for.
"""

import os
import re
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from service.memory.extract import EntityName, entities_in
from service.memory.fences import stretches
from service.memory.front_matter import front_matter
from service.memory.imports.report import Report
from service.memory.text import clean_name, clean_text, cut_words

LARGEST_FILE = 5 * 1024 * 1024
_LONGEST_TITLE = 300
_LONGEST_HEADING = 1000
_ENDINGS = (".md", ".markdown", ".mdx")
_BINARY_HEAD = 8192
_HEADING = re.compile(r"^ {0,3}#[ \t]++(?P<atx>[^\n]*\S)|^ {0,3}(?P<setext>[^\s#>|\-*+][^\n]*)\n {0,3}=++[ \t]*$", re.MULTILINE)


class PageItem(msgspec.Struct, frozen=True):
    """A page to write: `path` is relative to the folder, with slashes, in NFC, with its ending; `body` has neither front matter nor CRs."""

    path: str
    title: str
    body: str
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    timestamp: datetime | None = None
    entities: tuple[EntityName, ...] = ()


def read_folder(root: Path, *, max_bytes: int = LARGEST_FILE) -> Iterator[PageItem | Report]:
    """Read every Markdown file below `root`; hidden, linked, huge, binary and unreadable ones are reported and left out.

    Bytes that are no UTF-8 become U+FFFD and are reported. Of two paths that differ only in their Unicode form the second is reported.
    """
    if not root.is_dir():
        yield Report(str(root), None, "not_a_folder", "There is no such folder.")
        return
    seen: set[str] = set()
    others = 0
    for file in _walk(root, root):
        if isinstance(file, Report):
            yield file
        elif not file.name.lower().endswith(_ENDINGS):
            others += 1
        else:
            yield from _read_page(root, file, max_bytes, seen)
    if others:
        what = "1 file with another ending was" if others == 1 else f"{others} files with other endings were"
        yield Report(str(root), None, "ignored_files", f"{what} left alone.")


def _walk(root: Path, folder: Path) -> Iterator[Path | Report]:
    """Every regular file below `folder`, by name, folders among them; what is not walked into is reported."""
    pending = [folder]
    while pending:
        entry = pending.pop()
        source = _relative(root, entry)
        try:
            mode = entry.lstat().st_mode if entry != root else entry.stat().st_mode
            if entry != root and entry.name.startswith("."):
                yield Report(source, None, "hidden", "Hidden files and folders are not read.")
            elif stat.S_ISLNK(mode):
                yield Report(source, None, "symlink", "Symbolic links are not followed.")
            elif stat.S_ISDIR(mode):
                pending += sorted(entry.iterdir(), key=_order, reverse=True)
            elif stat.S_ISREG(mode):
                yield entry
            elif entry.name.lower().endswith(_ENDINGS):
                yield Report(source, None, "not_a_file", "Only regular files are read.")
        except OSError as error:
            yield Report(source, None, "unreadable", os.strerror(error.errno or 0))


def _order(path: Path) -> tuple[str, str]:
    return clean_name(path.name), path.name


def _relative(root: Path, path: Path) -> str:
    return clean_text(path.relative_to(root).as_posix())


def _read_page(root: Path, file: Path, max_bytes: int, seen: set[str]) -> Iterator[PageItem | Report]:
    source = _relative(root, file)
    path = clean_name(source)
    try:
        with file.open("rb") as opened:
            raw = opened.read(max_bytes + 1)
    except OSError as error:
        yield Report(source, None, "unreadable", os.strerror(error.errno or 0))
        return
    refusal = _refusal(raw, path, max_bytes, seen)
    if refusal is not None:
        yield Report(source, None, *refusal)
        return
    seen.add(path)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        yield Report(source, line, "invalid_utf8", "Bytes that are no UTF-8 were replaced by U+FFFD.")
        text = raw.decode(errors="replace")
    if clean_text(file.name) != file.name:
        yield Report(source, None, "bad_name", "Bytes of the file's name that are no UTF-8 were replaced by U+FFFD.")
    page = front_matter(clean_text(text).replace("\r\n", "\n").replace("\r", "\n"))
    if page.problem is not None:
        yield Report(source, page.problem_line, "front_matter", page.problem)
    yield PageItem(
        path=path,
        title=cut_words(page.title or _first_heading(page.body) or clean_name(file.stem), _LONGEST_TITLE),
        body=page.body,
        tags=page.tags,
        aliases=page.aliases,
        timestamp=page.timestamp,
        entities=tuple(entities_in(page.body)),
    )


def _refusal(raw: bytes, path: str, max_bytes: int, seen: set[str]) -> tuple[str, str] | None:
    if len(raw) > max_bytes:
        return "too_large", f"The file is larger than {max_bytes} bytes."
    if b"\x00" in raw[:_BINARY_HEAD]:
        return "binary", "The file holds NUL bytes: it is binary, or text in another encoding than UTF-8."
    if path in seen:
        return "duplicate_path", "Another file has this path in another Unicode form; it was read before."
    return None


def _first_heading(body: str) -> str | None:
    """The first heading of the first level outside code, without its closing number signs."""
    for part in stretches(body):
        found = None if part.is_code else _HEADING.search(body, part.start, part.end)
        if found is not None:
            return clean_name(re.sub(r"[ \t]#+[ \t]*\Z", "", (found["atx"] or found["setext"])[:_LONGEST_HEADING])) or None
    return None
