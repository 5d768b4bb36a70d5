"""Public ids: `evt_42` is the row's number within its project with the prefix of its kind."""

import re
from typing import Final, Literal

from service.errors import InvalidRequest

Kind = Literal["evt", "ent", "tag", "pg"]
_ID: Final = re.compile(r"(evt|ent|tag|pg)_([1-9][0-9]{0,18})")
_LARGEST: Final = 2**63 - 1
SHOWN_BY: Final[dict[Kind, str]] = {
    "evt": "memory_query and list_memory_timeline show those of events.",
    "ent": "find_memories_by_entity (GET …/entities?name=…) shows that of a name.",
    "tag": "query_memories_with_sql shows those of tags.",
    "pg": "list_pages shows those of pages.",
}


def public_id(kind: Kind, number: int) -> str:
    return f"{kind}_{number}"


def number_of(kind: Kind, text: str) -> int | None:
    """The row's number; None when the text is no id of this kind."""
    match = _ID.fullmatch(text.strip())
    if match is None or match[1] != kind or int(match[2]) > _LARGEST:
        return None
    return int(match[2])


def require_number(kind: Kind, text: str, field: str) -> int:
    """The row's number; raises `InvalidRequest` naming the field."""
    number = number_of(kind, text)
    if number is None:
        raise InvalidRequest(f"{field}: {text[:80]!r} is no id.", hint=f"Ids look like {kind}_42. {SHOWN_BY[kind]}")
    return number
