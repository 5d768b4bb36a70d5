"""Reads a graph query.

In: the text. Out: `Query`, the typed syntax; raises `GraphRejection` (`syntax`, `grammar`) at the place that does not fit.
"""

from service.graph.ast import Constant, Expression, Item, Listing, Match, Param, Query, Sort, Start
from service.graph.cursor import ABSENT, KEYWORDS, Cursor, read_entries, read_value
from service.graph.parse_expression import read_condition, read_operand
from service.graph.parse_pattern import read_chain
from service.graph.rejection import grammar, suggestion, syntax
from service.graph.tokens import tokenize
from service.graph.without_start import START_HINT, without_start

_VALUES = frozenset({"TRUE", "FALSE", "NULL"})
_EXPRESSIONS = _VALUES | {"CASE", "EXISTS"}
_PURPOSE = {"RETURN": "return", "ORDER BY": "sort by"}
_LIMIT_HINT = "write LIMIT n with 1 to 200"


def parse(text: str) -> Query:
    """The typed syntax of one query."""
    cursor = Cursor(tokenize(text))
    start = _start(cursor)
    matches = _matches(cursor)
    distinct, items = _return(cursor, matches)
    order = _order(cursor)
    limit = _limit(cursor)
    _end(cursor, limited=limit is not None)
    return Query(start=start, matches=matches, distinct=distinct, items=items, order=order, limit=limit, at=start.at)


def _start(cursor: Cursor) -> Start:
    first = cursor.token
    if first.word in ("MATCH", "RETURN", "WHERE"):
        raise without_start(cursor.rest())
    if not cursor.takes_word("START"):
        raise cursor.unexpected(("START",))
    variable = cursor.variable()
    cursor.expect("=", START_HINT)
    source = cursor.name("events(...)", START_HINT)
    if source.text.lower() != "events":
        raise grammar(f"a query starts from events, not from {source.text}", source.at, suggestion(source.text, ("events",), START_HINT))
    cursor.expect("(", START_HINT)
    entries = read_entries(cursor, ")", "write text: $q, entity: $name, tag: $t or ids: $ids")
    if cursor.sees(",") or cursor.token.word == "START":
        raise grammar("a query has one START", cursor.token.at, "start from one set of events, and reach the others by MATCH")
    return Start(variable=variable.text, entries=entries, at=source.at)


def _matches(cursor: Cursor) -> tuple[Match, ...]:
    matches: list[Match] = []
    while cursor.token.word == "MATCH":
        at = cursor.advance().at
        chains = [read_chain(cursor)]
        while cursor.takes(","):
            chains.append(read_chain(cursor))
        where = read_condition(cursor) if cursor.takes_word("WHERE") else None
        matches.append(Match(chains=tuple(chains), where=where, at=at))
    if cursor.token.word == "WHERE":
        if not matches:
            hint = "WHERE stands after a MATCH; MATCH (a) WHERE narrows the events of START a itself"
            raise grammar("WHERE without MATCH is not part of the subset", cursor.token.at, hint)
        hint = "WHERE stands once after a MATCH; join conditions with AND"
        raise grammar("a second WHERE is not part of the subset", cursor.token.at, hint)
    if cursor.token.word == "START":
        raise grammar("a query has one START", cursor.token.at, "start from one set of events, and reach the others by MATCH")
    return tuple(matches)


def _return(cursor: Cursor, matches: tuple[Match, ...]) -> tuple[bool, tuple[Item, ...]]:
    if not cursor.takes_word("RETURN"):
        if not matches:
            raise cursor.unexpected(("MATCH", "RETURN"))
        if matches[-1].where is None and cursor.token.word in ("AND", "OR", "NOT"):
            raise syntax(f"{cursor.found()} without WHERE", cursor.token.at, "conditions begin with WHERE")
        if matches[-1].where is not None and cursor.sees(","):
            raise syntax("a comma between conditions", cursor.token.at, "join conditions with AND")
        raise cursor.unexpected(("WHERE", "MATCH", "RETURN") if matches[-1].where is None else ("AND", "OR", "MATCH", "RETURN"))
    distinct = cursor.takes_word("DISTINCT")
    items = [_item(cursor)]
    while cursor.takes(","):
        items.append(_item(cursor))
    return distinct, tuple(items)


def _item(cursor: Cursor) -> Item:
    at = cursor.token.at
    cursor.count("columns")
    if cursor.sees("*"):
        raise grammar("RETURN * is not part of the subset", at, "name the variables or properties to return")
    expression = read_expression(cursor, "RETURN")
    alias = cursor.name("an alias", "write AS and a name").text if cursor.takes_word("AS") else None
    return Item(expression=expression, alias=alias, at=at)


def read_expression(cursor: Cursor, clause: str, *, alias: bool = False) -> Expression:
    """Something that can be returned or sorted by; values are rejected."""
    at = cursor.token.at
    hint = "return variables, properties, cos(a, b) or aggregates" if clause == "RETURN" else "sort by a returned column or a property"
    if cursor.token.kind == "end" or (not alias and cursor.token.word in KEYWORDS - _EXPRESSIONS):
        if cursor.token.word == "NOT":
            raise grammar(f"a condition in {clause} is not part of the subset", at, "put it into WHERE after a MATCH")
        raise syntax(f"expected what to {_PURPOSE[clause]} but found {cursor.found()}", at, hint)
    operand = read_operand(cursor, alias=alias)
    if isinstance(operand, Param | Constant | Listing):
        raise grammar(f"{clause} of a literal or parameter is not part of the subset", at, hint)
    token = cursor.token
    if token.text in ("=", "<>", "<", "<=", ">", ">=") or token.word in ("IN", "CONTAINS", "AND", "OR", "NOT", "IS"):
        raise grammar(f"a condition in {clause} is not part of the subset", token.at, "put it into WHERE after a MATCH")
    return operand


def _order(cursor: Cursor) -> tuple[Sort, ...]:
    if not cursor.takes_word("ORDER"):
        return ()
    if not cursor.takes_word("BY"):
        raise syntax(f"expected BY but found {cursor.found()}", cursor.token.at, "write ORDER BY")
    keys = [_sort(cursor)]
    while cursor.takes(","):
        keys.append(_sort(cursor))
    return tuple(keys)


def _sort(cursor: Cursor) -> Sort:
    at = cursor.token.at
    cursor.count("sort keys")
    expression = read_expression(cursor, "ORDER BY", alias=True)
    descending = cursor.token.word in ("DESC", "DESCENDING")
    if descending or cursor.token.word in ("ASC", "ASCENDING"):
        cursor.advance()
    return Sort(expression=expression, descending=descending, at=at)


def _limit(cursor: Cursor) -> Param | Constant | None:
    if not cursor.takes_word("LIMIT"):
        return None
    at = cursor.token.at
    if cursor.token.kind == "end" or (cursor.token.kind == "name" and cursor.token.word not in _VALUES):
        raise syntax(f"expected a number but found {cursor.found()}", at, _LIMIT_HINT)
    value = read_value(cursor)
    if cursor.token.text in ("+", "-", "*", "/", "%", "^"):
        raise grammar("arithmetic is not part of the subset", cursor.token.at, "compute the value first and pass it as a parameter")
    if isinstance(value, Listing):
        raise grammar("LIMIT of a list is not part of the subset", at, _LIMIT_HINT)
    return value


def _end(cursor: Cursor, *, limited: bool) -> None:
    closed = cursor.takes(";")
    token = cursor.token
    if token.kind == "end":
        return
    if closed:
        raise grammar("one statement at a time", token.at, "send the second query in a call of its own")
    if token.word == "START":
        raise grammar("a query has one START", token.at, "start from one set of events, and reach the others by MATCH")
    if cursor.sees(",") and limited:
        raise syntax("a second number after LIMIT", token.at, _LIMIT_HINT)
    if token.kind == "name" and token.word not in KEYWORDS and token.word not in ABSENT:
        hint = suggestion(cursor.ahead(-1).text, ("DISTINCT",), "") or suggestion(
            token.text, ("ORDER BY", "LIMIT", "AS", "ASC", "DESC"), "an alias needs AS"
        )
        raise syntax(f"expected ORDER BY, LIMIT or the end but found {cursor.found()}", token.at, hint)
    raise cursor.unexpected(("the end",) if limited else ("ORDER BY", "LIMIT", "the end"))
