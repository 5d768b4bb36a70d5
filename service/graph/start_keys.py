"""Keys that START does not take, and those that it does not take together: how the same is asked.

In: keys, the variable of the start. Out: hints.
"""

from collections.abc import Set as AbstractSet
from typing import Final

_TIMES: Final = ("since", "until", "after", "before", "from", "to", "timestamp", "time", "date")
_COUNTS: Final = ("limit", "n", "top_k", "count")


def elsewhere(key: str, variable: str) -> str | None:
    """Where in the language, or outside of it, what an unknown key asks for is said."""
    word = key.lower()
    if word in ("kind", "kinds"):
        return "kinds of events are not in the graph: memory_query takes `kinds`, and query_memories_with_sql filters by events.kind"
    if word in ("session", "sessions", "author"):
        return f"{word} is not in the graph: query_memories_with_sql filters by it, and list_memory_timeline lists a session"
    if word in _TIMES:
        sign = "<=" if word in ("until", "before", "to") else ">="
        return (
            "start with text, entity, tag or ids, and narrow by time after it: "
            f"MATCH ({variable}) WHERE {variable}.timestamp {sign} ${word}; list_memory_timeline takes since and until"
        )
    return "k says how many events START takes" if word in _COUNTS else None


def beside(keys: AbstractSet[str], variable: str) -> str:
    """What to write for keys that do not go together."""
    if {"entity", "tag"} <= keys:
        return f"start with the entity, and ask for the tag after it: MATCH ({variable})-[:MEMBER_OF]->(t) WHERE t.name = $tag"
    if "ids" in keys and keys & {"entity", "tag", "text"}:
        return "start with ids alone; they name the events already"
    return "start with text, entity, tag, ids, entity and text, or tag and text; k goes with each"
