"""The format of an export: JSON Lines, one object a line, whose field `line` says what it is. In: nothing. Out: a Struct for each kind.

A kind is named as its table, its fields as the table's columns; `MADE_ANEW` lists what is not there because it follows from the rest.
First comes the header, last the end with a checksum of all before it.
"""

from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias
from uuid import UUID

import msgspec
from msgspec import Meta

FORMAT: Final = "muniment-export"
VERSION: Final = 1

# JSON's readers are exact up to 2^53; what is stored after the import goes on from the highest.
Number = Annotated[int, Meta(ge=1, le=2**52)]
Version = Annotated[int, Meta(ge=1, le=2**31 - 1)]


class Header(msgspec.Struct, frozen=True, tag_field="line", tag="header"):
    """`counts` by kind of line; `numbers` are the last ones given to events, entities, tags and pages."""

    format: str
    version: int
    workspace: str
    project: str
    counts: dict[str, int]
    numbers: dict[str, int]


class SessionLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="session"):
    name: str
    uuid: UUID
    agent: str | None
    started_at: datetime
    ended_at: datetime | None


class EntityLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="entity"):
    id: Number
    name: str
    type: str


class TagLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="tag"):
    id: Number
    path: str


class EntityRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entity by what it is told apart by."""

    name: str
    type: str


class TagRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tag on an event."""

    path: str
    kind: Literal["contains", "refers"]


class EventLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="event"):
    id: Number
    session: str | None
    kind: str
    summary: str
    content: str | None
    timestamp: datetime | None
    author: str | None
    ingest_key: str | None
    created_at: datetime
    entities: list[EntityRef]
    tags: list[TagRef]


class EventVersionLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="event_version"):
    event_id: Number
    version: Version
    kind: str
    summary: str
    content: str | None
    timestamp: datetime | None
    author: str | None
    replaced_at: datetime


class NextLinkLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="next_link"):
    from_id: Number
    to_id: Number
    source: Literal["thread", "chunk_order", "file_name", "folder_name", "topic_segment", "user_manual", "version_up"]


class ResolutionLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="resolution"):
    plan_id: Number
    evidence_id: Number
    relation: Literal["realization"]
    asserted_at: datetime
    asserted_by: str | None
    revoked_at: datetime | None


class AliasLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="alias"):
    a: EntityRef
    b: EntityRef
    confidence: Annotated[float, Meta(ge=0, le=1)]
    asserted_by: str | None
    asserted_at: datetime


class PageLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="page"):
    id: Number
    path: str
    names: list[str]
    title: str
    body: str
    version: Version
    author: str | None
    created_at: datetime
    updated_at: datetime
    links: list[str]
    entities: list[EntityRef]
    tags: list[str]
    aliases: list[str] | None = None  # files of before have them among the names alone


class PageVersionLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="page_version"):
    page_id: Number
    version: Version
    title: str
    body: str
    author: str | None
    created_at: datetime


class End(msgspec.Struct, frozen=True, tag_field="line", tag="end"):
    """`lines` counts those before it; `sha256` is of their bytes, line ends included."""

    lines: int
    sha256: str


Content: TypeAlias = (
    SessionLine
    | EntityLine
    | TagLine
    | EventLine
    | EventVersionLine
    | NextLinkLine
    | ResolutionLine
    | AliasLine
    | PageLine
    | PageVersionLine
)
KINDS: Final[tuple[str, ...]] = (
    "session",
    "entity",
    "tag",
    "event",
    "event_version",
    "next_link",
    "resolution",
    "alias",
    "page",
    "page_version",
)
"""In the order of the file: what is named comes before what names it."""

INSIDE: Final = {
    "participation": "entities of an event",
    "membership": "tags of an event",
    "page_link": "links of a page",
    "page_entity": "entities of a page",
    "page_tag": "tags of a page",
    "counter": "numbers of the header",
}
"""Tables whose rows stand within another kind's line."""

MADE_ANEW: Final = {
    "passage": "cut from the texts",
    "lexeme": "counted from the passages",
    "space": "belongs to the installation",
    "embed_failure": "belongs to the installation",
    "migration": "belongs to the installation",
    "entity.folded": "follows from the name",
    "entity.words": "follow from the name",
    "entity.event_count": "counted",
    "entity.page_count": "counted",
    "tag.leaf": "follows from the path",
    "tag.folded": "follows from the path",
    "alias.a_id": "by name",
    "alias.b_id": "by name",
}
"""Tables and columns that an import makes anew."""
