"""What random queries are made of: relations with their ends and properties, names, and chains written from their other end."""

ENDS = {
    "PARTICIPATED_IN": ("Entity", "Event"), "SHARES": ("Event", "Event"), "SIMILAR": ("Event", "Event"), "FAR": ("Event", "Event"),
    "NEXT": ("Event", "Event"), "MEMBER_OF": ("Event", "Tag"), "RESOLVED_BY": ("Event", "Event"), "CONNECTED": ("Entity", "Entity"),
    "SAME_AS": ("Entity", "Entity"),
}  # fmt: skip
READABLE = {
    "SHARES": {"count": "number", "weight": "number", "via": "list", "hops": "number"},
    "SIMILAR": {"cos": "number"},
    "FAR": {"cos": "number"},
    "NEXT": {"hops": "number", "source": "text"},
    "MEMBER_OF": {"kind": "text"},
    "RESOLVED_BY": {"relation": "text", "asserted_at": "time"},
    "CONNECTED": {"event_count": "number"},
    "SAME_AS": {"confidence": "number"},
}
PROPERTIES = {
    "Event": {"id": "id", "timestamp": "time", "order_index": "number", "score": "number", "summary": "summary"},
    "Entity": {"id": "id", "name": "text", "type": "text"},
    "Tag": {"id": "id", "name": "text"},
}
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
VARIABLES = ("b", "n", "x1", "_y", "far", "rank", "v0", "c0", "pos", "score", "f", "s", "E", "the_other_one")
ALIASES = ("order", "count", "x", "total", "Limit", "id", "c1", "match", "a")


def turned(parts: list[str]) -> list[str]:
    """A chain written from its other end."""
    swapped = str.maketrans("<>", "><")
    return [part if part.startswith("(") else flipped(part, swapped) for part in reversed(parts)]


def flipped(relation: str, swapped: dict[int, int]) -> str:
    opening, closing = relation.index("["), relation.rindex("]")
    return relation[closing + 1 :].translate(swapped)[::-1] + relation[opening : closing + 1] + relation[:opening].translate(swapped)[::-1]
