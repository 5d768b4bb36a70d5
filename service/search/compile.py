"""From the parts in sql/ to the statements of the stages.

In: the name of a stage and the request's filters. Out: `Compiled`: SQL with numbered values, and their names in that order.
Compiled text is kept by stage and filters; it names tables as `m_0.…`, so that it serves every project.
"""

from collections.abc import Mapping, Sequence
from functools import cache, reduce
from typing import Any, Final

import msgspec
import sqlglot
from sqlglot import exp

from service.db.queries import load

_DIALECT: Final = "postgres"
_EXPLAINING: Final = {
    "matched_names": "search",
    "all_matched": "search",
    "fused_ranks": "search_fusion",
    "steps": "search_fusion",
    "refused_ranks": "search_fusion",
}
_UNTOLD: Final = {"untold_names": "search"}
_READ_ONCE: Final = ("candidate", "neighbour", "chosen")  # kept nowhere in between


class Compiled(msgspec.Struct, frozen=True):
    """A statement, and the names of the values that it takes as $1, $2, …"""

    sql: str
    names: tuple[str, ...]

    def bind(self, values: Mapping[str, Any]) -> list[Any]:
        """The values in the statement's order."""
        return [values[name] for name in self.names]


@cache
def compile_stage(name: str, filters: tuple[str, ...] = ()) -> Compiled:
    """One of the statements of sql/project/queries/search.sql, held to the filters."""
    return _finish(_part("search", name), filters)


@cache
def compile_facts(more: tuple[str, ...]) -> Compiled:
    """The statement `facts`, with `facts_forms` or `facts_dated` where they are asked for."""
    query = _part("search", "facts")
    for name in more:
        query = exp.union(query, _part("search", name), distinct=False, copy=False)
    return _finish(query, ())


@cache
def compile_words(filters: tuple[str, ...], terms: tuple[str, ...]) -> Compiled:
    """The statement `words` for a query of these terms, each `term` or `phrase`: values `query_1`, `weight_1`, `query_2`, …"""
    return _finish(_pack(_write_terms("words", terms), "packed_words"), filters)


@cache
def compile_names(filters: tuple[str, ...], explained: bool, texts: bool) -> Compiled:
    """The statement `names`; `explained`: with the names that matched; `texts`: with what texts do not tell."""
    return _finish(_show(_explain(_pack(_part("search", "names"), "packed_names"), explained), _UNTOLD, texts), filters)


@cache
def compile_vectors(near: str, filters: tuple[str, ...]) -> Compiled:
    """The nearest by `near_all`, `near_left` or `near_indexed`."""
    query = _part("search", "packed_left" if near == "near_left" else "packed_near")
    query = query.with_("near", as_=_part("search", near), materialized=True, copy=False)
    nearest = _part("search", "nearest_indexed" if near == "near_indexed" else "nearest")
    return _finish(query.with_("stream", as_=nearest, copy=False), filters)


@cache
def compile_old_words(terms: tuple[str, ...]) -> Compiled:
    """The statement `old_words`, in the same way."""
    return _finish(_write_terms("old_words", terms), ())


def _write_terms(name: str, terms: tuple[str, ...]) -> exp.Query:
    query = _part("search", name)
    for call in list(query.find_all(exp.Anonymous)):
        if call.name == "weighed_terms":
            call.replace(exp.paren(_sum(_weigh(terms)), copy=False))
        elif call.name == "sum_terms":
            table = call.expressions[0].name
            call.replace(exp.paren(_sum([exp.column(_column(at), table=table) for at, _ in enumerate(terms)]), copy=False))
        elif call.name == "best_terms":
            best = [exp.Max(this=exp.column("share", table="n") * exp.column(_column(at), table="n")) for at, _ in enumerate(terms)]
            call.replace(_sum(best))
        elif call.name == "of_that_time":
            if "moment" in terms:
                call.replace(_part("search", "of_that_time").selects[0].unalias())
            elif isinstance(call.parent, exp.Or):
                call.parent.replace(call.parent.this)
    for select in query.find_all(exp.Select):
        select.set("expressions", [part for each in select.expressions for part in _spread(each, terms)])
    return query


def _pack(query: exp.Query, way: str) -> exp.Query:
    """A stream's statement with its candidates as lists."""
    return _part("search", way).with_("stream", as_=query, copy=False)


def _spread(selected: exp.Expr, terms: tuple[str, ...]) -> list[exp.Expr]:
    """One column for each term where `each_term()` stands, and their names where `terms_of(…)` stands."""
    if isinstance(selected, exp.Anonymous) and selected.name == "each_term":
        return [exp.alias_(part, _column(at)) for at, part in enumerate(_weigh(terms))]
    if isinstance(selected, exp.Anonymous) and selected.name == "terms_of":
        return [exp.column(_column(at), table=selected.expressions[0].name) for at, _ in enumerate(terms)]
    return [selected]


def _column(at: int) -> str:
    return f"term_{at + 1}"


@cache
def compile_fusion(filters: tuple[str, ...], explained: bool) -> Compiled:
    """For one project: the graph's neighbours, the fused order and what is shown, in one statement over the streams' candidates.

    `explained`: with the rank in each stream, and the steps of the graph's.
    """
    parts = ("list", "candidate", "fused", "seed", "shared", "edge", "neighbour", "refused", "chosen")
    return _finish(_explain(_without_places(_with("shown", parts)), explained), filters)


@cache
def compile_seeds() -> Compiled:
    """For several projects: where the graph stream starts."""
    return _finish(_explain(_with("seed", ("list", "candidate", "fused")), False), ())


@cache
def compile_neighbours(filters: tuple[str, ...], explained: bool) -> Compiled:
    """For several projects: the graph's neighbours in one of them; `explained`: with the steps that led to each."""
    return _finish(_explain(_with("neighbour", ("seed", "shared", "edge"), seed="given_seed"), explained), filters)


@cache
def compile_order(explained: bool) -> Compiled:
    """For several projects: the fused order over the candidates of all streams; `explained` as above."""
    return _finish(_explain(_with("chosen", ("list", "candidate", "refused"), refused="fused"), explained), ())


@cache
def compile_shown() -> Compiled:
    """For several projects: what is shown of the hits in one of them."""
    return _finish(_with("shown", ("chosen",), chosen="given_chosen"), ())


def _part(topic: str, name: str) -> exp.Query:
    query = sqlglot.parse_one(load("project", topic)[name].sql, dialect=_DIALECT)
    if not isinstance(query, exp.Query):
        raise TypeError(f"{topic}.{name} is no query")
    return query


def _with(name: str, parts: tuple[str, ...], **instead: str) -> exp.Query:
    """A part of sql/project/queries/search_fusion.sql with the parts that it reads before it."""
    query = _part("search_fusion", name)
    for part in parts:
        source = _part("search_fusion", instead.get(part, part))
        query = query.with_(part, as_=source, materialized=None if part in _READ_ONCE else True, copy=False)
    return query


def _without_places(query: exp.Query) -> exp.Query:
    """Nothing is shown, grouped or ordered by its project, which is one; a column more is a twentieth of the fusion."""
    for clause in query.find_all(exp.Select, exp.Group, exp.Order):
        named = [(each.this if isinstance(each, exp.Ordered) else each, each) for each in clause.expressions]
        clause.set("expressions", [each for column, each in named if column.alias_or_name != "place"])
    return query


def _explain(query: exp.Query, explained: bool) -> exp.Query:
    """The columns that only an explanation shows."""
    return _show(query, _EXPLAINING, explained)


def _show(query: exp.Query, parts: Mapping[str, str], shown: bool) -> exp.Query:
    """The columns of these parts where calls of their names stand, or none."""
    for select in query.find_all(exp.Select):
        columns: list[exp.Expr] = []
        for each in select.expressions:
            topic = parts.get(each.name) if isinstance(each, exp.Anonymous) else None
            if topic is None:
                columns.append(each)
            elif shown:
                columns += _part(topic, each.name).selects
        select.set("expressions", columns)
    return query


def _finish(query: exp.Query, filters: tuple[str, ...]) -> Compiled:
    for call in list(query.find_all(exp.Anonymous)):
        if call.name in ("wanted_event", "wanted_page"):
            call.replace(_wanted(call.name.removeprefix("wanted_"), call.expressions[0], filters))
    names: dict[str, int] = {}
    for placeholder in list(query.find_all(exp.Placeholder)):
        number = names.setdefault(placeholder.name, len(names) + 1)
        placeholder.replace(exp.Parameter(this=exp.Literal.number(number)))
    return Compiled(query.sql(dialect=_DIALECT), tuple(names))


def _wanted(owner: str, key: exp.Expr, filters: tuple[str, ...]) -> exp.Expr:
    """What an event's or page's id must fulfil; true when no filter concerns it."""
    known = load("project", "search_filters")
    queries = [_part("search_filters", f"{owner}_{name}") for name in filters if f"{owner}_{name}" in known]
    if not queries:
        return exp.true()
    one = queries[0].select("1", append=False, copy=False)
    for query in queries[1:]:
        one = one.where(query.args["where"].this, copy=False)
    return exp.Exists(this=one.where(exp.column("id", table="w").eq(key.copy()), copy=False))


def _weigh(terms: tuple[str, ...]) -> list[exp.Expr]:
    """What each term adds; written out, since that costs half of a subquery over them."""
    parts: list[exp.Expr] = []
    for number, name in enumerate(terms, 1):
        part = _part("search", name).selects[0].unalias()
        for placeholder in part.find_all(exp.Placeholder):
            placeholder.set("this", f"{placeholder.name}_{number}")
        parts.append(part)
    return parts


def _sum(parts: Sequence[exp.Expr]) -> exp.Expr:
    def add(total: exp.Expr, part: exp.Expr) -> exp.Expr:
        return exp.Add(this=total, expression=part)

    return reduce(add, parts) if parts else exp.Literal.number(0)
