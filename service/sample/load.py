"""Puts the sample memory into a project, directly: in come the database and the project, out comes how much there is.

Storing it again changes nothing.
"""

import msgspec

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.memory.events import SavedEvent, save_events
from service.memory.imports.batches import cut_batches, linked
from service.memory.links import save_aliases
from service.memory.pages import PageInput, write_page
from service.sample.loader import read_sample


class SampleCounts(msgspec.Struct, frozen=True):
    """How much the sample holds; `fresh` counts the events and pages that were not there before, or not so."""

    events: int
    pages: int
    aliases: int
    fresh: int


async def load_sample(database: Database, project: ProjectRef, author: str | None = "sample") -> SampleCounts:
    """Stores the events, the pages and the aliases; raises what keeps one of them out."""
    sample = read_sample()
    ids: dict[str, str] = {}
    fresh = 0
    for batch in cut_batches(sample.events):
        results = await save_events(database, project, [linked(item, ids) for item in batch], author)
        for item, result in zip(batch, results, strict=True):
            if not isinstance(result, SavedEvent):
                raise result
            ids[item.event.ingest_key or ""] = result.id
            fresh += not result.known
    for page in sample.pages:
        written = PageInput(path=page.path, title=page.title, body=page.body, tags=[*page.tags], aliases=[*page.aliases])
        fresh += (await write_page(database, project, written, author)).outcome != "unchanged"
    await save_aliases(database, project, sample.aliases, author)
    return SampleCounts(len(sample.events), len(sample.pages), len(sample.aliases), fresh)
