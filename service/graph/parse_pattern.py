"""Reads the chains of a MATCH clause.

In: a cursor before a chain. Out: `Chain`; raises `syntax` and `grammar` rejections.
"""

from service.graph.ast import Chain, Direction, Entry, NodePattern, RelationPattern
from service.graph.cursor import Cursor, read_entries
from service.graph.rejection import grammar, syntax

MAX_HOPS = 3
_NODE_HINT = "write a node as (x), (x:Event), (x {name: $n}) or ()"
_STAR_HINT = "write *n or *n..m with 1 <= n <= m <= 3, such as *1..3"
_TYPE_HINT = "name one relation, such as -[:SHARES]-"


def read_chain(cursor: Cursor) -> Chain:
    """One chain: nodes with a relation between each two."""
    first = cursor.token
    if first.kind == "name":
        if cursor.ahead(1).text == "=":
            raise grammar("path variables are not part of the subset", first.at, "name the nodes and return them")
        raise grammar(f"`{first.text}` is not a pattern of the subset", first.at, _NODE_HINT)
    nodes, relations = [_node(cursor)], list[RelationPattern]()
    while cursor.sees("-") or cursor.sees("<"):
        relations.append(_relation(cursor))
        nodes.append(_node(cursor))
    return Chain(nodes=tuple(nodes), relations=tuple(relations), at=first.at)


def _node(cursor: Cursor) -> NodePattern:
    opening = cursor.expect("(", _NODE_HINT)
    variable = cursor.variable().text if cursor.token.kind == "name" else None
    label = cursor.name("a label", "the labels are Event, Entity and Tag").text if cursor.takes(":") else None
    if cursor.sees(":") or cursor.sees("|") or cursor.sees("&"):
        raise grammar("a node has at most one label", cursor.token.at, "write Event, Entity or Tag, or leave the label out")
    if cursor.token.word == "WHERE":
        raise grammar("WHERE inside a node is not part of the subset", cursor.token.at, "write it after the MATCH pattern")
    entries = _map(cursor)
    cursor.expect(")", _NODE_HINT)
    return NodePattern(variable=variable, label=label, entries=entries, at=opening.at)


def _map(cursor: Cursor) -> tuple[Entry, ...]:
    if cursor.token.kind == "param":
        raise grammar("a map as a parameter is not part of the subset", cursor.token.at, "write {key: $value}")
    return read_entries(cursor, "}") if cursor.takes("{") else ()


def _relation(cursor: Cursor) -> RelationPattern:
    opening = cursor.token
    cursor.count("relations")
    incoming = cursor.takes("<")
    cursor.expect("-", "write a relation as -[:TYPE]- or -[:TYPE]->")
    if not cursor.sees("["):
        raise grammar("a relation has exactly one type", opening.at, _TYPE_HINT)
    cursor.advance()
    variable = cursor.variable().text if cursor.token.kind == "name" else None
    if not cursor.takes(":"):
        if cursor.sees("]") or cursor.sees("*") or cursor.sees("{"):
            raise grammar("a relation has exactly one type", opening.at, _TYPE_HINT)
        raise syntax(f"expected `:` but found {cursor.found()}", cursor.token.at, _TYPE_HINT)
    kind = cursor.name("a relation", _TYPE_HINT)
    if cursor.sees("|") or cursor.sees(":") or cursor.sees("&"):
        raise grammar("a relation has exactly one type", cursor.token.at, "run one query for each relation")
    low, high = _star(cursor)
    entries = _map(cursor)
    if cursor.token.word == "WHERE":
        raise grammar("WHERE inside a relation is not part of the subset", cursor.token.at, "write it after the MATCH pattern")
    cursor.expect("]", "close the relation with ]")
    cursor.expect("-", "write a relation as -[:TYPE]- or -[:TYPE]->")
    direction = _direction(incoming, cursor.takes(">"), opening.at)
    return RelationPattern(variable=variable, type=kind.text, low=low, high=high, entries=entries, direction=direction, at=kind.at)


def _direction(incoming: bool, outgoing: bool, at: int) -> Direction:
    if incoming and outgoing:
        raise grammar("a relation has one arrow at most", at, "write ->, <- or no arrow")
    return "in" if incoming else "out" if outgoing else "none"


def _star(cursor: Cursor) -> tuple[int | None, int | None]:
    star = cursor.token
    if not cursor.takes("*"):
        return None, None
    low = _bound(cursor)
    high = low
    if cursor.takes(".."):
        high = _bound(cursor)
    if low is None or high is None or not 1 <= low <= high <= MAX_HOPS:
        raise grammar("the length of a path has to be bounded by 1 to 3", star.at, _STAR_HINT)
    return low, high


def _bound(cursor: Cursor) -> int | None:
    if cursor.token.kind != "number":
        return None
    value = cursor.token.value
    if not isinstance(value, int):
        raise grammar("the length of a path is a whole number", cursor.token.at, _STAR_HINT)
    cursor.advance()
    return value
