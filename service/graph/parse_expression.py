"""Reads conditions and returned expressions.

In: a cursor before a condition or an expression. Out: `Condition`, `Operand`; raises `syntax` and `grammar` rejections.
"""

from typing import get_args

from service.graph.ast import (
    Aggregate,
    All,
    Compare,
    Comparison,
    Condition,
    Constant,
    Contains,
    Cos,
    Either,
    Listing,
    Not,
    Operand,
    Param,
    Property,
    Variable,
    Within,
)
from service.graph.cursor import KEYWORDS, Cursor, read_value
from service.graph.rejection import GraphRejection, grammar, suggestion, syntax

AGGREGATES = ("count", "collect", "min", "max", "sum", "avg")
FUNCTIONS = (*AGGREGATES, "cos")
COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)
_ARITHMETIC = ("+", "-", "*", "/", "%", "^", "||")
_NAMES_HINT = "use CONTAINS on Entity.name or Tag.name"
_FOREIGN_COMPARISONS = {"LIKE": _NAMES_HINT, "ILIKE": _NAMES_HINT, "BETWEEN": "write x >= low AND x <= high"}
# Functions of Cypher that are likely to be asked for, and what serves instead.
_INSTEAD = {
    "id": "write the property: a.id",
    "elementid": "write the property: a.id",
    "labels": "the label is known from the pattern; an entity has n.type",
    "type": "the relation is known from the pattern; an entity has n.type",
    "size": "count rows with count(x)",
    "length": "a relation of variable length has s.hops",
    "nodes": "name the nodes and return them",
    "coalesce": "return the property itself; null stays null",
    "tolower": "CONTAINS ignores case; = does not",
    "toupper": "CONTAINS ignores case; = does not",
    "shortestpath": "write SHARES*1..3 or NEXT*1..3: one row for each event at its shortest distance",
    **dict.fromkeys(("date", "datetime", "timestamp"), "compare with ISO 8601 text, such as '2026-01-31T09:00:00Z'"),
}
_CONDITION_HINT = "compare it with something: =, <>, <, <=, >, >=, IN or CONTAINS"


def read_condition(cursor: Cursor) -> Condition:
    """A whole condition: comparisons bind closest, then NOT, AND, OR."""
    at = cursor.token.at
    parts = [_conjunction(cursor)]
    while cursor.takes_word("OR"):
        parts.append(_conjunction(cursor))
    if cursor.token.word == "XOR":
        raise grammar("XOR is not part of the subset", cursor.token.at, "write (x AND NOT y) OR (y AND NOT x)")
    return parts[0] if len(parts) == 1 else Either(conditions=tuple(parts), at=at)


def _conjunction(cursor: Cursor) -> Condition:
    at = cursor.token.at
    parts = [_negation(cursor)]
    while cursor.takes_word("AND"):
        parts.append(_negation(cursor))
    return parts[0] if len(parts) == 1 else All(conditions=tuple(parts), at=at)


def _negation(cursor: Cursor) -> Condition:
    at = cursor.token.at
    if cursor.takes_word("NOT"):
        with cursor.nested():
            return Not(condition=_negation(cursor), at=at)
    if _pattern_ahead(cursor):
        raise grammar("patterns in WHERE are not part of the subset", at, "put the pattern into MATCH")
    if cursor.sees("!"):
        raise syntax("`!` is not read", at, "write NOT")
    if cursor.takes("("):
        with cursor.nested():
            inner = read_condition(cursor)
        cursor.expect(")", "close the parenthesis")
        return inner
    return _comparison(cursor)


def _pattern_ahead(cursor: Cursor) -> bool:
    if not cursor.sees("("):
        return False
    second, third = cursor.ahead(1), cursor.ahead(2)
    if second.text in (")", ":", "{") and second.kind == "mark":
        return True
    if second.kind != "name" or third.kind != "mark":
        return False
    return third.text in (":", "{") or (third.text == ")" and cursor.ahead(3).kind == "mark" and cursor.ahead(3).text in ("-", "<"))


def _comparison(cursor: Cursor) -> Condition:
    cursor.count("comparisons")
    left = read_operand(cursor)
    token = cursor.token
    if token.word == "IN":
        cursor.advance()
        if cursor.sees("("):
            raise grammar("a list in parentheses is not part of the subset", cursor.token.at, "write IN [...] or IN $list")
        return _unchained(cursor, Within(left=left, right=read_operand(cursor), at=token.at))
    if token.word == "CONTAINS":
        cursor.advance()
        return _unchained(cursor, Contains(left=left, right=read_operand(cursor), at=token.at))
    for op in COMPARISONS:
        if token.kind == "mark" and token.text == op:
            cursor.advance()
            return _unchained(cursor, Compare(op=op, left=left, right=read_operand(cursor), at=token.at))
    raise _no_comparison(cursor, left)


def _no_comparison(cursor: Cursor, left: Operand) -> GraphRejection:
    token = cursor.token
    shown = f"{left.variable}.{left.name}" if isinstance(left, Property) else "x"
    if token.word == "NOT" and cursor.ahead(1).word == "IN":
        listed = cursor.ahead(2).text or "$list"
        return grammar("NOT IN is not part of the subset", token.at, f"write NOT {shown} IN {listed}")
    if token.word in ("STARTS", "ENDS"):
        return grammar(f"{token.word} WITH is not part of the subset", token.at, "use CONTAINS on Entity.name or Tag.name")
    if token.text == "=~":
        return grammar("regular expressions are not part of the subset", token.at, "use CONTAINS on Entity.name or Tag.name")
    if token.word == "IS":
        return grammar("IS NULL is not part of the subset", token.at, "leave it out: a comparison with null is never true")
    if token.word in _FOREIGN_COMPARISONS:
        return grammar(f"{token.word} is not part of the subset", token.at, _FOREIGN_COMPARISONS[token.word])
    if token.text in ("!=", "!"):
        return syntax("`!=` is not read", token.at, "write <>")
    if token.kind == "mark" and token.text in (":", "["):
        return grammar("label and index expressions are not part of the subset", token.at, "write labels into the MATCH pattern")
    if token.kind == "mark" and token.text == "==":
        return syntax("`==` is not read", token.at, "write =")
    if token.kind == "end" or token.word in KEYWORDS or token.text in (")", ";", ","):
        return grammar("a bare value is not a condition", left.at, _CONDITION_HINT)
    hint = suggestion(token.text, ("CONTAINS", "AND", "OR", "IN"), _CONDITION_HINT)
    return syntax(f"expected a comparison but found {cursor.found()}", token.at, hint)


def _unchained(cursor: Cursor, condition: Condition) -> Condition:
    token = cursor.token
    if (token.kind == "mark" and token.text in COMPARISONS) or token.word in ("IN", "CONTAINS"):
        raise grammar("chained comparisons are not part of the subset", token.at, "join two comparisons with AND")
    return condition


def read_operand(cursor: Cursor, *, alias: bool = False) -> Operand:
    """A variable, property, function call, parameter, literal or list; with `alias`, keywords are names too."""
    token = cursor.token
    if token.kind == "name" and token.word not in ("TRUE", "FALSE", "NULL"):
        operand = _named(cursor, alias)
    elif cursor.sees("(") and not _pattern_ahead(cursor):
        raise grammar("parentheses around a value are not part of the subset", token.at, "write the value without them")
    else:
        operand = read_value(cursor)
    after = cursor.token
    if cursor.sees("-", "-"):
        raise syntax("`--` is no comment", after.at, "comments are // and /* */")
    if after.text == "||":
        raise syntax("`||` is not read", after.at, "write OR between conditions; text is not joined")
    if after.kind == "mark" and after.text in _ARITHMETIC:
        raise grammar("arithmetic is not part of the subset", after.at, "compute the value first and pass it as a parameter")
    return operand


def _named(cursor: Cursor, alias: bool) -> Operand:
    token = cursor.token
    following = cursor.ahead(1)
    if following.kind == "mark" and following.text == "(":
        return _call(cursor)
    if token.word == "CASE" or (token.word == "EXISTS" and following.text == "{"):
        raise grammar(f"{token.word} is not part of the subset", token.at, "put conditions into MATCH and WHERE")
    if token.word in KEYWORDS and not alias:
        hint = "write variable.property, $name or a literal here; a keyword cannot be a variable"
        raise syntax(f"expected a value but found the keyword {token.text}", token.at, hint)
    name = cursor.advance() if alias else cursor.variable()
    if not cursor.takes("."):
        if cursor.sees("["):
            raise grammar("index expressions are not part of the subset", cursor.token.at, "return the whole value")
        if cursor.sees("{"):
            raise grammar("map projections are not part of the subset", cursor.token.at, "return columns, such as a.id, a.summary")
        return Variable(name=name.text, at=name.at)
    prop = cursor.name("a property", "write variable.property")
    if cursor.sees("."):
        raise grammar("a property has no properties of its own", cursor.token.at, "write variable.property")
    return Property(variable=name.text, name=prop.text, at=name.at)


def _call(cursor: Cursor) -> Operand:
    token = cursor.advance()
    function = token.text.lower()
    if token.word in ("EXISTS", "ANY", "ALL", "NONE", "SINGLE"):
        raise grammar(f"{function}() is not part of the subset", token.at, "put the pattern into MATCH", allowed_functions=list(FUNCTIONS))
    if function not in FUNCTIONS:
        hint = _INSTEAD.get(function) or suggestion(function, FUNCTIONS, f"the functions are {', '.join(FUNCTIONS)}")
        raise grammar(f"the function {token.text} is not part of the subset", token.at, hint, allowed_functions=list(FUNCTIONS))
    cursor.expect("(", "write the argument in parentheses")
    if function == "cos":
        return _cos(cursor, token.at)
    if cursor.sees("*"):
        if function != "count":
            raise grammar(f"{function}(*) is not part of the subset", cursor.token.at, f"write {function}(x.property)")
        cursor.advance()
        cursor.expect(")", "close the call with )")
        return Aggregate(function="count", argument=None, distinct=False, at=token.at)
    distinct = cursor.takes_word("DISTINCT")
    if distinct and cursor.sees("*"):
        raise grammar(
            "DISTINCT * is not part of the subset", cursor.token.at, f"write {function}(DISTINCT x) with a variable or a property"
        )
    if cursor.sees(")"):
        example = "count(*) or count(x)" if function == "count" else f"{function}(x.property)"
        raise syntax(f"{function} of nothing", cursor.token.at, f"write {example}")
    argument = read_operand(cursor)
    cursor.expect(")", "an aggregate takes one argument; close the call with )")
    if isinstance(argument, Aggregate):
        raise grammar("nested aggregates are not part of the subset", argument.at, "aggregate once, and sort or compare the rows yourself")
    if isinstance(argument, Param | Constant | Listing):
        hint = "aggregate a variable or a property, or write count(*)"
        raise grammar(f"{function} of a literal or parameter is not part of the subset", argument.at, hint)
    return Aggregate(function=function, argument=argument, distinct=distinct, at=token.at)


def _cos(cursor: Cursor, at: int) -> Cos:
    hint = "write cos(a, b) with two event variables"
    left = cursor.variable()
    cursor.expect(",", hint)
    right = cursor.variable()
    cursor.expect(")", hint)
    return Cos(left=left.text, right=right.text, at=at)
