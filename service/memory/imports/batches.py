"""Events on their way in, cut into batches: in come events that name earlier ones by key, out come batches that can be stored one by one.

A batch holds no event that another one of it names: the id of an earlier event is known only when its batch is stored.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from service.memory.event_rows import EventInput

MOST_EVENTS = 200
MOST_BYTES = 4 * 1024 * 1024


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """An event to store under its `ingest_key`; `previous_key` and `resolves_keys` are ingest keys of events that come before it."""

    event: EventInput
    source: str
    line: int | None = None
    previous_key: str | None = None
    resolves_keys: tuple[str, ...] = ()

    @property
    def named_keys(self) -> tuple[str, ...]:
        return self.resolves_keys if self.previous_key is None else (self.previous_key, *self.resolves_keys)


def cut_batches(items: Iterable[Pending], *, most: int = MOST_EVENTS, most_bytes: int = MOST_BYTES) -> Iterator[list[Pending]]:
    """Batches of at most `most` events, in order, and of `most_bytes` of JSON, which only an event that is larger by itself exceeds."""
    batch: list[Pending] = []
    keys: set[str] = set()
    size = 0
    for item in items:
        length = len(msgspec.json.encode(item.event))
        if batch and (len(batch) >= most or size + length > most_bytes or not keys.isdisjoint(item.named_keys)):
            yield batch
            batch, keys, size = [], set(), 0
        batch.append(item)
        size += length
        if item.event.ingest_key is not None:
            keys.add(item.event.ingest_key)
    if batch:
        yield batch


def linked(item: Pending, ids: Mapping[str, str]) -> EventInput:
    """The event with the ids of those it names; a key that `ids` does not know is left out."""
    if not item.named_keys:
        return item.event
    previous = item.event.previous if item.previous_key is None else ids.get(item.previous_key)
    known = [ids[key] for key in item.resolves_keys if key in ids]
    return msgspec.structs.replace(item.event, previous=previous, resolves=known or item.event.resolves)
