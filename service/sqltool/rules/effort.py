"""Searching a text for a text takes their lengths multiplied, and Postgres does not stop it in between, whatever its limit of time.

So each such search is held to a product of the most characters that its sides can have, as far as the query shows: of a column of a view,
of a literal or a value, of what is built of these. What grows with the number of rows, or from step to step, may be as large as any value.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sqlglot import exp

from service.sqltool.parse import Question
from service.sqltool.rejection import SqlRejection
from service.sqltool.rules.columns import OF_ANY_VIEW, has_rows
from service.sqltool.rules.names import folded
from service.sqltool.rules.place import place

MOST_COMPARED: Final = 2e10  # pairs of characters: some seconds
_LARGEST: Final = 1e9  # characters of any value
_MOST_RANKED: Final = 2e3  # of a text query: ranking takes its square
_MOST_NORMALIZED: Final = 1e8

_LONG: Final = {"body": 1e7, "content": 5e4}
_ROW: Final = 2e7  # of a view, and more where it is a query's
_WIDE_ROW: Final = 1e9
_SHORT: Final = 1e3  # of the other columns of views
_NUMBER: Final = 64.0
_NO_PARAMETER: Final = object()

_SIDES: Final[Mapping[type[exp.Expr], str]] = {
    exp.StrPosition: "substr", exp.SplitPart: "delimiter", exp.Replace: "expression", exp.StringToArray: "expression",
    exp.Translate: "from_", exp.Trim: "expression", exp.Like: "expression", exp.ILike: "expression", exp.SimilarTo: "expression",
    exp.ArrayContainsAll: "expression", exp.ArrayContainedBy: "expression", exp.ArrayOverlaps: "expression",
    exp.JSONBContainsAnyTopKeys: "expression", exp.JSONBContainsAllTopKeys: "expression", exp.Sub: "expression",
}  # fmt: skip
_SPLITS: Final = "string_to_table"
_RANKS: Final = ("ts_rank", "ts_rank_cd")
_LISTS: Final = (exp.Array, exp.ArrayAgg, exp.StringToArray)
_GROWING: Final = (exp.ArrayAgg, exp.GroupConcat, exp.JSONArrayAgg, exp.JSONObjectAgg, exp.JSONBObjectAgg)
_GROWING_NAMES: Final = ("json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg")
_CUTS: Final[Mapping[type[exp.Expr], str]] = {exp.Left: "expression", exp.Right: "expression", exp.Substring: "length"}
_NUMBERS: Final = (
    exp.Add,
    exp.Mul,
    exp.Div,
    exp.Mod,
    exp.Neg,
    exp.Count,
    exp.Sum,
    exp.Avg,
    exp.Length,
    exp.RowNumber,
    exp.Boolean,
)


def check(question: Question, params: Sequence[Any]) -> None:
    """Raises `SqlRejection` for a search that may take too long to be stopped."""
    try:
        _check(question, _Lengths(question, params))
    except RecursionError as error:
        raise SqlRejection("The query is nested too deeply.", blocked_by="size", hint="Split it, or use WITH.") from error


def _check(question: Question, lengths: "_Lengths") -> None:
    for node in question.tree.walk():
        sides = _sides(node)
        if isinstance(node, exp.Sub) and not lengths.is_list(node.expression):
            continue  # of numbers and times
        if sides is not None and lengths.most(sides[0]) * lengths.most(sides[1]) > MOST_COMPARED:
            raise SqlRejection(
                "More text than can be compared in time is searched for more than a few words.",
                blocked_by="size",
                hint="Search a column of a view, or a part as left(x, 1000), for a text of at most 1000 characters.",
                at=place(node),
            )
        if isinstance(node, exp.Anonymous) and str(node.this).lower() in _RANKS and lengths.second(node.expressions) > _MOST_RANKED:
            raise SqlRejection(
                "A text query is too long to rank by.", blocked_by="size", hint="Rank by at most 2000 characters of words.", at=place(node)
            )
        if isinstance(node, exp.Normalize) and lengths.most(node.this) > _MOST_NORMALIZED:
            raise SqlRejection("More text than can be normalized in time.", blocked_by="size", hint="Normalize a column.", at=place(node))


def _sides(node: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
    """What is searched, and for what."""
    wanted = node.args.get(_SIDES[type(node)]) if type(node) in _SIDES else None
    if isinstance(node, exp.Anonymous) and str(node.this).lower() == _SPLITS and len(node.expressions) > 1:
        return node.expressions[0], node.expressions[1]
    return (node.this, wanted) if isinstance(wanted, exp.Expr) else None


class _Lengths:
    """The most characters that expressions of one query can have."""

    def __init__(self, question: Question, params: Sequence[Any]) -> None:
        self._question = question
        self._params = params
        self._defined = _definitions(question.tree)
        self._rows = _rows(question.tree)
        self._known: dict[str, float] = {}
        self._open: set[str] = set()

    def most(self, node: exp.Expr) -> float:
        """An upper bound: that of any value where there is no other."""
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Literal):
            return float(len(str(node.this)))
        if isinstance(node, _NUMBERS):
            return _NUMBER
        if isinstance(node, _GROWING) or (isinstance(node, exp.Anonymous) and str(node.this).lower() in _GROWING_NAMES):
            return _LARGEST
        if type(node) in _CUTS and (length := _literal(node.args.get(_CUTS[type(node)]))) is not None:
            return min(length, self.most(node.this))
        if isinstance(node, exp.Array) and any(isinstance(each, exp.Select | exp.SetOperation) for each in node.expressions):
            return _LARGEST
        if isinstance(node, exp.ArrayToString) or (isinstance(node, exp.Anonymous) and str(node.this).lower() == "array_replace"):
            first, *others = node.iter_expressions()
            return self.most(first) * max([1.0, *(self.most(each) for each in others)])
        if isinstance(node, exp.Replace | exp.RegexpReplace):
            put = node.args.get("replacement")
            return self.most(node.this) * max(1.0, self.most(put) if isinstance(put, exp.Expr) else 1.0)
        if isinstance(node, exp.Normalize):
            return 18 * self.most(node.this)
        if isinstance(node, exp.Select):
            return sum(self.most(each) for each in node.expressions)
        return sum((self.most(each) for each in node.iter_expressions()), start=1.0)

    def second(self, nodes: Sequence[exp.Expr]) -> float:
        """The second of the bounds of some expressions, the largest first."""
        return sorted((self.most(each) for each in nodes), reverse=True)[1] if len(nodes) > 1 else 0.0

    def is_list(self, node: exp.Expr) -> bool:
        """Whether it is, or may stand for, a list of values."""
        names = [column.this for column in node.find_all(exp.Column) if isinstance(column.this, exp.Identifier)]
        given = [each for name in names for each in self._defined.get(folded(name), ()) if each is not None]
        return any(isinstance(self._value(name), list | tuple | str) for name in names) or any(
            isinstance(part, _LISTS) or (isinstance(part, exp.Cast) and part.to.is_type(exp.DataType.Type.ARRAY))
            for each in (node, *given)
            for part in each.walk()
        )

    def _value(self, name: exp.Identifier) -> object:
        """The value of a parameter, which was checked to have one; `_NO_PARAMETER` for another name."""
        token = self._question.parameters.get(name.meta.get("start", -1))
        return _NO_PARAMETER if token is None else self._params[int(self._question.text[token.start + 1 : token.end + 1]) - 1]

    def _column(self, column: exp.Column) -> float:
        if not isinstance(column.this, exp.Identifier):
            return _ROW
        if (value := self._value(column.this)) is not _NO_PARAMETER:
            return _size(value)
        name = folded(column.this)
        own = _LONG.get(name, _SHORT) if name in OF_ANY_VIEW else self._rows.get(name)
        given = self._given(name)
        if own is None and given is None:
            return _LARGEST
        return max(own or 0.0, given or 0.0)

    def _given(self, name: str) -> float | None:
        """Of what the query itself calls so; what is made of itself has no bound."""
        if name not in self._defined:
            return None
        if name in self._open:
            return _LARGEST
        if name not in self._known:
            self._open.add(name)
            self._known[name] = max((_LARGEST if each is None else self.most(each) for each in self._defined[name]), default=_LARGEST)
            self._open.discard(name)
        return self._known[name]


def _definitions(tree: exp.Expr) -> dict[str, list[exp.Expr | None]]:
    """What each name stands for, wherever in the query it is given; None where that is not known."""
    found: dict[str, list[exp.Expr | None]] = {}
    for alias in tree.find_all(exp.Alias):
        if isinstance(alias.args.get("alias"), exp.Identifier):
            found.setdefault(folded(alias.args["alias"]), []).append(alias.this)
    for alias in tree.find_all(exp.TableAlias):
        for name, each in _of_table(alias):
            found.setdefault(name, []).append(each)
    for union in tree.find_all(exp.SetOperation):  # its columns have the names of the first part
        if isinstance(union.parent, exp.SetOperation):
            continue
        first, *others = union.find_all(exp.Select, bfs=False)
        for number, column in enumerate(first.expressions):
            name = column.args["alias"] if isinstance(column, exp.Alias) else column.this
            if isinstance(name, exp.Identifier):
                parts = [other.expressions[number] if number < len(other.expressions) else None for other in others]
                found.setdefault(folded(name), []).extend(parts)
    return found


def _rows(tree: exp.Expr) -> dict[str, float]:
    """What a whole row may hold, by the name of the view or query that it is of."""
    found = {folded(table.this): _ROW for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)}
    for alias in tree.find_all(exp.TableAlias):
        if isinstance(alias.this, exp.Identifier) and has_rows(alias.parent):
            of_view = isinstance(alias.parent, exp.Table) and isinstance(alias.parent.this, exp.Identifier)
            found[folded(alias.this)] = max(found.get(folded(alias.this), 0.0), _ROW if of_view else _WIDE_ROW)
    return found


def _of_table(alias: exp.TableAlias) -> Iterator[tuple[str, exp.Expr | None]]:
    source = alias.parent
    columns = [column.find(exp.Identifier) for column in alias.args.get("columns") or ()]
    if isinstance(source, exp.CTE | exp.Subquery):
        arms = list(source.find_all(exp.Select))  # more than stand for its columns, where there are queries within
        for number, column in enumerate(columns):
            for arm in arms:
                if column is not None:
                    yield folded(column), arm.expressions[number] if number < len(arm.expressions) else None
    elif isinstance(source, exp.Values):
        for number, column in enumerate(columns):
            for row in source.expressions:
                if column is not None:
                    yield folded(column), row.expressions[number] if isinstance(row, exp.Tuple) and number < len(row.expressions) else row
    elif isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
        for column in columns:
            if column is not None:
                yield folded(column), None
    elif isinstance(source, exp.Table | exp.Unnest | exp.Lateral) and not isinstance(source.this, exp.Identifier | exp.Subquery):
        values = exp.Tuple(expressions=[each.copy() for each in source.expressions]) if isinstance(source, exp.Unnest) else source.this
        for column in (alias.this, *columns):
            if isinstance(column, exp.Identifier):
                yield folded(column), values


def _literal(node: object) -> float | None:
    return float(node.this) if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdecimal() else None


def _size(value: object) -> float:
    if isinstance(value, str):
        return float(len(value))
    return sum(map(_size, value), start=1.0) if isinstance(value, list | tuple) else _NUMBER
