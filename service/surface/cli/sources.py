"""What an import reads: in come folders and files, out come pages, events and reports in the order to send them."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from service.memory.event_rows import LONGEST_KEY, EventInput
from service.memory.imports.batches import Pending
from service.memory.imports.event_lines import read_event_lines
from service.memory.imports.markdown import PageItem, read_folder
from service.memory.imports.report import Report
from service.memory.imports.transcript import EventItem, read_transcript
from service.memory.text import clean_text

Item: TypeAlias = Pending | PageItem | Report


def read_sources(folders: Iterable[Path], transcripts: Iterable[Path], event_files: Iterable[Path]) -> Iterator[Item]:
    """Everything in the order given, pages first; a file that cannot be opened is reported."""
    for folder in folders:
        yield from read_folder(folder)
    for file in transcripts:
        yield from _opened(file, _transcript(file))
    for file in event_files:
        yield from _opened(file, read_event_lines(file))


def _opened(file: Path, items: Iterator[Pending | Report]) -> Iterator[Pending | Report]:
    try:
        yield from items
    except OSError as error:
        yield Report(clean_text(str(file)), None, "unreadable", error.strerror or str(error))


def _transcript(file: Path) -> Iterator[Pending | Report]:
    source = clean_text(str(file))
    for item in read_transcript(file):
        yield item if isinstance(item, Report) else _pending(item, source)


def _pending(item: EventItem, source: str) -> Pending:
    """The event as it is sent. Names are told from the text by the server, so they are not sent along."""
    event = EventInput(
        summary=item.summary,
        content=None if item.content.split() == item.summary.split() else item.content,  # said once is enough
        timestamp=item.timestamp.isoformat() if item.timestamp else None,
        session=item.session,
        kind=item.kind,
        tags=[*item.tags],
        ingest_key=_key(item.ingest_key),
    )
    return Pending(event=event, source=source, previous_key=_key(item.previous_key) if item.previous_key else None)


def _key(key: str) -> str:
    """The key, or what stands for one that is longer than the server takes."""
    return key if len(key) <= LONGEST_KEY else "sha256:" + hashlib.sha256(key.encode()).hexdigest()
