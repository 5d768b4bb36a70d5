"""The views that a query may read, and what each column holds: for the checker, for `describe`, and for the tool's text.

In: nothing. Out: `VIEWS`. A test holds this together with sql/project/views.sql and docs/sql.md.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec


class Column(msgspec.Struct, frozen=True):
    """One column of a view."""

    name: str
    type: str
    meaning: str


def _columns(text: str) -> tuple[Column, ...]:
    return tuple(Column(*(part.strip() for part in line.split("|"))) for line in text.strip().splitlines())


VIEWS: Final[Mapping[str, tuple[Column, ...]]] = MappingProxyType(
    {
        "events": _columns("""
            id | bigint | number of the event
            public_id | text | the id that other tools take and give: evt_42
            session | text | the session it belongs to, or null
            kind | text | kind of event, such as note
            summary | text | one or two sentences
            content | text | the whole text, or null
            timestamp | timestamptz | when it happened, or null when that is not known
            order_index | bigint | place in the order of storing; equals id
            author | text | who stored it
            created_at | timestamptz | when it was stored
        """),
        "entities": _columns("""
            id | bigint | number of the entity
            public_id | text | ent_7
            name | text | name, in the spelling that is stored
            type | text | type; name and type together are unique
            event_count | bigint | in how many events it takes part
            page_count | bigint | on how many pages it stands
        """),
        "event_entities": _columns("""
            event_id | bigint | events.id
            entity_id | bigint | entities.id
        """),
        "tags": _columns("""
            id | bigint | number of the tag
            public_id | text | tag_3
            path | text | whole path: area/auth
            leaf | text | last segment of the path: auth
        """),
        "event_tags": _columns("""
            event_id | bigint | events.id
            tag_id | bigint | tags.id
            kind | text | contains or refers
        """),
        "sessions": _columns("""
            name | text | name; events.session
            uuid | uuid | id that is unique across projects
            agent | text | the agent that ran, or null
            started_at | timestamptz | when it began
            ended_at | timestamptz | when it ended, or null
        """),
        "next_links": _columns("""
            from_event_id | bigint | events.id
            to_event_id | bigint | events.id of the one that follows
            source | text | why: thread, chunk_order, file_name, folder_name, topic_segment, user_manual, version_up
        """),
        "resolutions": _columns("""
            plan_event_id | bigint | events.id of the plan or question
            evidence_event_id | bigint | events.id of what resolved it
            relation | text | realization
            asserted_at | timestamptz | when this was said
            asserted_by | text | who said it
            revoked_at | timestamptz | when it was taken back; null while it stands
        """),
        "aliases": _columns("""
            entity_id | bigint | entities.id, the smaller of the two
            same_as_entity_id | bigint | entities.id of the same thing under another name
            confidence | real | 0 to 1
            asserted_by | text | who said it
            asserted_at | timestamptz | when this was said
        """),
        "pages": _columns("""
            id | bigint | number of the page
            public_id | text | pg_12
            path | text | path, unique
            title | text | title
            body | text | Markdown of the current version
            version | integer | number of the current version
            author | text | who wrote the current version
            created_at | timestamptz | when the page was first written
            updated_at | timestamptz | when the current version was written
        """),
        "page_links": _columns("""
            from_page_id | bigint | pages.id of the page with the link
            to_page_id | bigint | pages.id of the page that it leads to; links to pages that are not there yet are left out
        """),
    }
)
