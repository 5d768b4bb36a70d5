"""Names of entities and tags: in come what callers and texts give, out come the spellings that are stored and matched.

Names match by NFC spelling, case-sensitive; `folded` is what CONTAINS and look-ups read: NFKC, then casefold, on both sides.
"""

from collections.abc import Iterable

import msgspec

from service.errors import InvalidRequest, TooLong
from service.memory.extract import EntityName, entities_in
from service.memory.redact import Tally
from service.memory.text import clean_name

LONGEST_NAME = 200
MOST_NAMES = 200


class EntityInput(msgspec.Struct, frozen=True):
    """An entity as a caller names it."""

    name: str
    type: str = "name"


class TagInput(msgspec.Struct, frozen=True):
    """A tag as a caller names it: a path such as `area/auth`; an event is contained in it or refers to it."""

    name: str
    kind: str = "contains"


class Tag(msgspec.Struct, frozen=True):
    """A tag as it is stored."""

    path: str
    kind: str

    @property
    def leaf(self) -> str:
        return self.path.rpartition("/")[2]


def pattern_of(piece: str) -> str:
    """A LIKE pattern for whatever contains `piece`, literally."""
    return "%" + piece.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


def clear_entities(given: Iterable[EntityInput | str], tally: Tally) -> list[EntityInput | str]:
    """The entities without secrets in their names and types."""
    named = [EntityInput(item) if isinstance(item, str) else item for item in given]
    names = tally.clear_all([clean_name(entity.name) for entity in named])
    types = tally.clear_all([entity.type for entity in named])
    return [EntityInput(name, kind) for name, kind in zip(names, types, strict=True)]


def clear_tags(given: Iterable[TagInput | str], tally: Tally) -> list[TagInput | str]:
    """The tags without secrets in their paths."""
    tags = [TagInput(item) if isinstance(item, str) else item for item in given]
    return [TagInput(path, tag.kind) for path, tag in zip(tally.clear_all([clean_name(tag.name) for tag in tags]), tags, strict=True)]


def read_entities(given: Iterable[EntityInput | str], text: str) -> list[EntityName]:
    """The entities that a caller names, then those told from the text whose names the caller has not given."""
    return with_told(read_named(given), text)


def with_told(named: list[EntityName], text: str) -> list[EntityName]:
    """Named entities, then those told from the text that have other names."""
    spelled = {entity.name for entity in named}
    return [*named, *(entity for entity in entities_in(text) if entity.name not in spelled)]


def renew_told(stood: list[EntityName], before: str, after: str) -> tuple[list[EntityName], list[EntityName]]:
    """Names when a text replaces another and no names are given: those that come, and those that only the earlier text told, which go."""
    if before == after:
        return [], []
    told = list(entities_in(after))
    dropped = [entity for entity in entities_in(before) if entity not in told]
    kept = {entity.name for entity in stood if entity not in dropped}
    return [entity for entity in told if entity.name not in kept], dropped


def read_named(given: Iterable[EntityInput | str]) -> list[EntityName]:
    """The entities that a caller names, each once; raises `InvalidRequest` or `TooLong`."""
    named: dict[EntityName, None] = {}
    for item in given:
        entity = EntityInput(name=item) if isinstance(item, str) else item
        name, kind = clean_name(entity.name), clean_name(entity.type)
        if not name or not kind:
            raise InvalidRequest("An entity has an empty name or type.", hint='Write {"name": "parser", "type": "component"}.')
        if len(name) > LONGEST_NAME or len(kind) > LONGEST_NAME:
            raise TooLong(f"An entity's name or type is longer than {LONGEST_NAME} characters.")
        named[EntityName(name, kind)] = None
    if len(named) > MOST_NAMES:
        raise TooLong(f"More than {MOST_NAMES} entities in one memory.")
    return list(named)


def read_tags(given: Iterable[TagInput | str]) -> list[Tag]:
    """Tags as paths without empty segments; raises `InvalidRequest` for an unknown kind."""
    tags: dict[Tag, None] = {}
    for item in given:
        tag = TagInput(name=item) if isinstance(item, str) else item
        path = "/".join(filter(None, (segment.strip() for segment in clean_name(tag.name).split("/"))))
        if not path:
            raise InvalidRequest("A tag is empty.", hint="Write a path such as area/auth.")
        if len(path) > LONGEST_NAME:
            raise TooLong(f"A tag is longer than {LONGEST_NAME} characters.")
        if tag.kind not in ("contains", "refers"):
            raise InvalidRequest(f"A tag's kind is {tag.kind!r}.", hint="Use `contains` or `refers`.")
        tags[Tag(path, tag.kind)] = None
    if len(tags) > MOST_NAMES:
        raise TooLong(f"More than {MOST_NAMES} tags on one memory.")
    return list(tags)
