"""A place in the tokens of a query, and the values that can stand anywhere: parameters, literals, lists, maps.

In: tokens. Out: for each reader the syntax it read; raises `syntax` and `grammar` rejections at the token that does not fit.
"""

from collections.abc import Generator
from contextlib import contextmanager

from service.graph.ast import Constant, Entry, Listing, Param, Value
from service.graph.rejection import grammar, suggestion, syntax
from service.graph.tokens import INT64, Token

MAX_DEPTH = 64
# What one query may hold of each: enough for any question, and little enough to be compiled in a moment.
MOST = {"relations": 20, "columns": 100, "sort keys": 20, "comparisons": 200}
CLAUSES = ("START", "MATCH", "WHERE", "RETURN", "ORDER", "LIMIT")
KEYWORDS = frozenset(
    {*CLAUSES, "BY", "AS", "DISTINCT", "AND", "OR", "NOT", "IN", "CONTAINS", "XOR", "IS", "ASC", "ASCENDING", "DESC", "DESCENDING"}
    | {"TRUE", "FALSE", "NULL", "STARTS", "ENDS", "CASE", "EXISTS", "OPTIONAL", "WITH", "UNWIND", "UNION", "CALL"}
    | {"LOAD", "FOREACH", "SKIP", "USE", "CREATE", "MERGE", "SET", "DELETE", "DETACH", "REMOVE", "DROP"}
)
READ_ONLY = "this tool only reads; write with save_memory, link_memories or forget_memory"
ABSENT = {
    "WITH": (
        "put conditions into WHERE or relation parameters such as {min: 3}, and aggregates into RETURN;"
        " conditions on aggregates are HAVING in query_memories_with_sql"
    ),
    "UNWIND": "pass the list as a parameter and compare with IN, or start with events(ids: $ids)",
    "OPTIONAL": "use MATCH, and a second query for what may be missing",
    "UNION": "run the queries one after the other",
    "CALL": "there are no procedures; use START, MATCH and RETURN",
    "LOAD": "pass the data as params",
    "FOREACH": READ_ONLY,
    "SKIP": "raise LIMIT (max 200), or narrow the query with WHERE",
    "OFFSET": "raise LIMIT (max 200), or narrow the query with WHERE",
    "GROUP": "leave it out: the returned columns without an aggregate group the rows",
    "HAVING": "return the aggregate, sort by it, and compare the rows yourself; query_memories_with_sql has HAVING",
    "SELECT": "begin with START a = events(text: $q), or use query_memories_with_sql for SQL",
    **dict.fromkeys(("EXPLAIN", "PROFILE"), "leave it out: `plan` in the answer says what was walked"),
    "SHOW": "the relations and properties are in the tool's description",
    "YIELD": "there are no procedures; use START, MATCH and RETURN",
    "USE": "name the project in the tool's `workspace` and `project` arguments",
    **dict.fromkeys(("CREATE", "MERGE", "SET", "DELETE", "DETACH", "REMOVE", "DROP"), READ_ONLY),
}

_MISPLACED = {
    "&": "write AND",
    "&&": "write AND",
    "||": "write OR",
    "#": "comments are // and /* */",
    "[": "write a relation as -[:TYPE]- or -[:TYPE]->",
    "{": "write what to return as columns, such as a.id, a.summary",
}
SHOWN = 60


class Cursor:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0
        self._counts = dict.fromkeys(MOST, 0)

    @property
    def token(self) -> Token:
        """The token that comes next."""
        return self._tokens[self._place]

    def ahead(self, distance: int) -> Token:
        """The token `distance` places after the next one."""
        return self._tokens[min(self._place + distance, len(self._tokens) - 1)]

    def rest(self) -> list[Token]:
        """The next token and all after it."""
        return self._tokens[self._place :]

    def advance(self) -> Token:
        """Reads one token."""
        token = self.token
        self._place = min(self._place + 1, len(self._tokens) - 1)
        return token

    def sees(self, *marks: str) -> bool:
        """Whether these marks come next, in this order."""
        return all(self.ahead(i).kind == "mark" and self.ahead(i).text == mark for i, mark in enumerate(marks))

    def takes(self, mark: str) -> bool:
        """Reads the mark if it comes next."""
        if not self.sees(mark):
            return False
        self.advance()
        return True

    def takes_word(self, word: str) -> bool:
        """Reads the keyword if it comes next, in any case."""
        if self.token.word != word:
            return False
        self.advance()
        return True

    def expect(self, mark: str, hint: str) -> Token:
        """Reads a mark that has to be here."""
        if not self.sees(mark):
            raise syntax(f"expected `{mark}` but found {self.found()}", self.token.at, hint)
        return self.advance()

    def name(self, what: str, hint: str) -> Token:
        """Reads a name of any kind, keywords too."""
        if self.token.kind != "name":
            raise syntax(f"expected {what} but found {self.found()}", self.token.at, hint)
        return self.advance()

    def variable(self) -> Token:
        """Reads a variable: a name that is no keyword."""
        if self.token.word in KEYWORDS:
            raise syntax(f"the keyword {self.token.text} cannot be a variable", self.token.at, "choose another name, such as a or n")
        return self.name("a variable", "a variable is a name such as a or n")

    def count(self, what: str) -> None:
        """Counts one more of the parts that a query may hold a number of."""
        self._counts[what] += 1
        if self._counts[what] > MOST[what]:
            raise syntax(f"more than {MOST[what]} {what}", self.token.at, "ask in several queries, or pass long lists as parameters")

    def found(self) -> str:
        """What comes next, for a message."""
        text = self.token.text
        return "the end of the query" if self.token.kind == "end" else f"`{text if len(text) <= SHOWN else text[:SHOWN] + '…'}`"

    @contextmanager
    def nested(self) -> Generator[None]:
        """One more level of nesting."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise syntax(f"nested more than {MAX_DEPTH} deep", self.token.at, "join conditions with AND and OR instead of nesting them")
        yield
        self._depth -= 1

    def unexpected(self, wanted: tuple[str, ...]) -> Exception:
        """The rejection of a token where only one of the clauses `wanted` could stand."""
        token = self.token
        if token.word in ABSENT:
            return grammar(f"{token.text.upper()} is not part of the subset", token.at, ABSENT[token.word])
        if token.text in _MISPLACED:
            return syntax(f"`{token.text}` is not read here", token.at, _MISPLACED[token.text])
        expected = " or ".join(wanted)
        if token.word in CLAUSES:
            hint = "the order is START, MATCH, WHERE, RETURN, ORDER BY, LIMIT"
        else:
            hint = suggestion(token.text, wanted, f"go on with {expected}")
        return syntax(f"expected {expected} but found {self.found()}", token.at, hint)


def read_value(cursor: Cursor) -> Value:
    """A parameter, a literal or a flat list of them."""
    token = cursor.token
    if token.kind == "param":
        cursor.advance()
        return Param(name=token.text[1:], at=token.at)
    if token.kind in ("string", "number") or cursor.sees("-") or token.word in ("TRUE", "FALSE", "NULL"):
        return _constant(cursor)
    if cursor.sees("["):
        return _listing(cursor)
    if cursor.sees("{"):
        raise grammar("map values are not part of the subset", token.at, "use a parameter, a literal or a flat list")
    raise syntax(f"expected a value but found {cursor.found()}", token.at, "write $name, 'text', a number, or a list of these")


def _constant(cursor: Cursor) -> Constant:
    token = cursor.token
    if token.word:
        cursor.advance()
        return Constant(value={"TRUE": True, "FALSE": False, "NULL": None}[token.word], at=token.at)
    if token.kind == "string":
        return Constant(value=cursor.advance().value, at=token.at)
    negative = cursor.takes("-")
    number = cursor.token
    if number.kind != "number" or isinstance(number.value, str) or number.value is None:
        raise syntax(f"expected a number but found {cursor.found()}", number.at, "a `-` stands only before a number")
    cursor.advance()
    value = -number.value if negative else number.value
    if value == INT64 and isinstance(value, int):
        raise syntax("the number does not fit into 64 bits", number.at, "use a smaller number")
    return Constant(value=value, at=token.at)


def _listing(cursor: Cursor) -> Listing:
    opening = cursor.advance()
    items: list[Param | Constant] = []
    while not cursor.takes("]"):
        if items:
            cursor.expect(",", "separate the items of a list with commas and close it with ]")
        if cursor.token.kind == "name" and cursor.token.word not in ("TRUE", "FALSE", "NULL"):
            hint = "write out the items, or pass the list as a parameter"
            raise grammar("list comprehensions and lists of variables are not part of the subset", cursor.token.at, hint)
        item = read_value(cursor) if not cursor.sees("[") else None
        if item is None or isinstance(item, Listing):
            raise grammar("a list inside a list is not part of the subset", cursor.token.at, "lists are flat")
        items.append(item)
    return Listing(items=tuple(items), at=opening.at)


def read_entries(cursor: Cursor, closing: str, hint: str = "write key: value") -> tuple[Entry, ...]:
    """`key: value, …` up to and with the closing mark; doubled keys are rejected."""
    entries: list[Entry] = []
    while not cursor.takes(closing):
        if entries:
            cursor.expect(",", f"separate the entries with commas and close with {closing}")
        key = cursor.name("a key", hint)
        cursor.expect(":", "write key: value")
        if any(entry.key == key.text for entry in entries):
            raise grammar(f"the key {key.text} is given twice", key.at, "give each key once")
        entries.append(Entry(key=key.text, value=read_value(cursor), at=key.at))
    return tuple(entries)
