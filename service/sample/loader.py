"""The sample memory as data: in come the files beside this one, out come events, pages and aliases in the order to store them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from service.memory.event_rows import EventInput
from service.memory.imports.batches import Pending
from service.memory.imports.markdown import PageItem, read_folder
from service.memory.links import AliasInput
from service.memory.names import EntityInput, TagInput

PROJECT: Final = "sample"
"""The project that it goes to, where none is named."""
FOLDER: Final = Path(__file__).resolve().parent


class Sample(msgspec.Struct, frozen=True):
    """Events name earlier ones by their keys, which are their ingest keys too."""

    events: tuple[Pending, ...]
    pages: tuple[PageItem, ...]
    aliases: tuple[AliasInput, ...]


class _Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    kind: str
    summary: str
    entities: list[EntityInput | str]
    tags: list[TagInput | str]
    content: str | None = None
    session: str | None = None
    timestamp: str | None = None
    previous: str | None = None
    resolves: str | None = None


class _Links(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    aliases: tuple[AliasInput, ...]


def read_sample() -> Sample:
    """The sample, as it stands in the package."""
    links = msgspec.json.decode((FOLDER / "links.json").read_bytes(), type=_Links)
    pages = tuple(page for page in read_folder(FOLDER / "pages") if isinstance(page, PageItem))
    return Sample(tuple(_events()), pages, links.aliases)


def _events() -> Iterator[Pending]:
    for number, line in enumerate((FOLDER / "events.jsonl").read_bytes().splitlines(), 1):
        found = msgspec.json.decode(line, type=_Event)
        yield Pending(
            event=EventInput(
                summary=found.summary,
                content=found.content,
                timestamp=found.timestamp,
                session=found.session,
                kind=found.kind,
                entities=found.entities,
                tags=found.tags,
                ingest_key=found.key,
            ),
            source="events.jsonl",
            line=number,
            previous_key=found.previous,
            resolves_keys=(found.resolves,) if found.resolves else (),
        )
