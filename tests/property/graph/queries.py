"""Random graphs and random queries, as data for the oracle and as text for the service."""

import importlib.util
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

_SPEC = importlib.util.spec_from_file_location("graph_oracle", Path(__file__).with_name("oracle.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
oracle = importlib.util.module_from_spec(_SPEC)
sys.modules["graph_oracle"] = oracle
_SPEC.loader.exec_module(oracle)

NAMES = ["kafka", "Kafka", "ＫＡＦＫＡ", "50% off", "a_b", "axb", "格式", "İst"]
TAGS = ["auth", "area/auth", "area/db", "x"]
SOURCES = ["thread", "file_name", "version_up"]
TIMES = [None, datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, 12, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)]
VECTORS = [(1, 0, 0), (1, 1, 0), (0, 1, 0), (-1, 0, 0), (1, 1, 1), (0, -1, 1)]
EVENT_RELATIONS = ["PARTICIPATED_IN", "PARTICIPATED_IN", "PARTICIPATED_IN", "SHARES", "SIMILAR", "FAR", "NEXT", "MEMBER_OF", "RESOLVED_BY"]
ENTITY_RELATIONS = ["PARTICIPATED_IN", "PARTICIPATED_IN", "CONNECTED", "SAME_AS"]
PROPERTIES = {
    "SHARES": ["count", "weight", "hops"],
    "SIMILAR": ["cos"],
    "FAR": ["cos"],
    "NEXT": ["hops", "source"],
    "MEMBER_OF": ["kind"],
    "RESOLVED_BY": ["relation"],
    "CONNECTED": ["event_count"],
    "SAME_AS": ["confidence"],
}
NODE_PROPERTIES = {"Event": ["id", "timestamp", "order_index", "score"], "Entity": ["id", "name", "type"], "Tag": ["id", "name"]}


@st.composite
def graphs(draw: st.DrawFn) -> Any:
    """A small project."""
    events, entities, tags = draw(st.integers(2, 7)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    named = draw(
        st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(["tool", "person"])), min_size=entities, max_size=entities, unique=True)
    )
    pick_event, pick_entity = st.integers(1, events), st.integers(1, entities)

    def apart(first: Any, second: Any, *more: Any) -> Any:
        return st.lists(st.tuples(first, second, *more), min_size=3, max_size=9, unique=True).map(
            lambda xs: [x for x in xs if x[0] != x[1]]
        )

    resolved = {(a, b): gone for a, b, gone in draw(apart(pick_event, pick_event, st.booleans()))}
    alias = {(min(a, b), max(a, b)): c for a, b, c in draw(apart(pick_entity, pick_entity, st.sampled_from([0.3, 0.9, 1.0])))}
    return oracle.Graph(
        times=draw(st.lists(st.sampled_from(TIMES), min_size=events, max_size=events)),
        entities=named,
        tags=draw(st.permutations(TAGS))[:tags],
        part=draw(st.lists(st.tuples(pick_event, pick_entity), min_size=5, max_size=20, unique=True)),
        member=draw(
            st.lists(
                st.tuples(pick_event, st.integers(1, tags), st.sampled_from(["contains", "refers"])), min_size=2, max_size=9, unique=True
            )
        ),
        next=draw(apart(pick_event, pick_event, st.sampled_from(SOURCES))),
        resolved=[(a, b, gone) for (a, b), gone in resolved.items()],
        alias=[(a, b, c) for (a, b), c in alias.items()],
        vectors=draw(st.dictionaries(pick_event, st.sampled_from(VECTORS), max_size=events)),
    )


@st.composite
def starts(draw: st.DrawFn, graph: Any) -> dict[str, Any]:
    """A start of any kind."""
    start: dict[str, Any] = {"k": draw(st.integers(1, 8))}
    kind = draw(st.sampled_from(["ids", "entity", "tag", "text", "entity+text", "tag+text", "ids"]))
    if kind == "ids":
        return {"ids": draw(st.lists(st.integers(1, len(graph.times) + 1).map("evt_{}".format), min_size=2, max_size=6))}
    if "entity" in kind:
        start["entity"] = draw(st.sampled_from([n for n, _ in graph.entities]))
    if "tag" in kind:
        start["tag"] = draw(st.sampled_from([*graph.tags, "auth"]))
    if "text" in kind:
        start["vector"] = draw(st.sampled_from(VECTORS))
    return start


@st.composite
def hops(draw: st.DrawFn, near: str, labels: dict[str, str], number: int) -> Any | None:
    """A relation from a bound variable to a new or a bound one."""
    relation = draw(st.sampled_from({"Event": EVENT_RELATIONS, "Entity": ENTITY_RELATIONS, "Tag": ["MEMBER_OF"]}[labels[near]]))
    far_label = {"PARTICIPATED_IN": "Entity", "MEMBER_OF": "Tag"}.get(relation, labels[near]) if labels[near] == "Event" else labels[near]
    if labels[near] != "Event" and relation in ("PARTICIPATED_IN", "MEMBER_OF"):
        far_label = "Event"
    bound = [name for name, label in labels.items() if label == far_label and not name.startswith("_")]
    reuse = relation == "FAR" or draw(st.integers(0, 4)) == 0
    if reuse and not bound:
        return None
    far = draw(st.sampled_from(bound)) if reuse else f"n{number}" if draw(st.integers(0, 5)) else f"_{number}"
    forward = draw(st.booleans()) if relation in ("NEXT", "RESOLVED_BY") else labels[near] == "Event"
    variable = f"r{number}" if relation in PROPERTIES and draw(st.booleans()) else None
    star = draw(st.sampled_from([None, None, (1, 1), (1, 2), (2, 3), (1, 3)])) if relation in ("NEXT", "SHARES") else None
    choices: dict[str, dict[str, list[Any]]] = {
        "SHARES": {"min": [1, 2], "min_w": [0.5, 1]},
        "SIMILAR": {"k": [1, 2, 20], "min": [0.1, 0.8, -1]},
        "FAR": {"max": [0.9, 0.2]},
        "NEXT": {"source": ["thread", ["thread", "file_name"]]},
        "MEMBER_OF": {"kind": ["contains", ["refers", "contains"]]},
        "CONNECTED": {"min": [1, 2]},
        "SAME_AS": {"min": [0.9, 0.5]},
    }
    params = {k: draw(st.sampled_from(v)) for k, v in choices.get(relation, {}).items() if draw(st.integers(0, 2)) == 0}
    return oracle.Hop(relation, near, far, far_label, variable, forward, params, star)


def properties(labels: dict[str, str], edges: dict[str, str]) -> list[Any]:
    """Every property that can be asked of what is bound."""
    found: list[Any] = [("prop", v, p) for v, label in labels.items() if not v.startswith("_") for p in NODE_PROPERTIES[label]]
    return found + [("edge", v, p) for v, relation in edges.items() for p in PROPERTIES[relation]]


@st.composite
def conditions(draw: st.DrawFn, labels: dict[str, str], edges: dict[str, str], depth: int = 2) -> Any:
    """A condition over what is bound."""
    if depth and draw(st.integers(0, 2)) == 0:
        kind = draw(st.sampled_from(["not", "and", "or"]))
        parts = [draw(conditions(labels, edges, depth - 1)) for _ in range(1 if kind == "not" else 2)]
        return (kind, *parts)
    expr = draw(st.sampled_from(properties(labels, edges)))
    name = expr[2]
    op = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    nodes = [v for v in labels if not v.startswith("_")]
    if name == "id":
        other = draw(st.sampled_from(nodes))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            return (draw(st.sampled_from(["=", "<>"])), expr, ("prop", other, "id"))
        if kind == 1:
            return (draw(st.sampled_from(["=", "<>"])), ("node", expr[1]), ("node", other))
        listed = draw(st.lists(st.sampled_from(["evt_1", "evt_2", "ent_1", "evt_01", "x", None, 1]), max_size=3))
        return ("in", expr, listed) if kind == 2 else ("=", expr, ("lit", draw(st.sampled_from(["evt_1", "ent_2", 1, None]))))
    if name == "name" and draw(st.booleans()):
        return ("contains", expr, draw(st.sampled_from(["kaf", "ＫＡ", "a_b", "50%", "格", "%%", "st"])))
    texts = ["kafka", "tool", "thread", "contains", "x", "area/auth"]
    by_kind = {
        "timestamp": ["2026-01-02", "2026-01-02T12:00:00+00:00"],
        "name": texts,
        "type": texts,
        "source": texts,
        "kind": texts,
        "relation": texts,
    }
    like = by_kind.get(name, [0, 1, 2, 2.5, 0.31, 1.0])
    unlike = [True, None, 1 if name in by_kind else "a"]
    value = draw(st.sampled_from([*like, *like, *unlike]))
    if draw(st.integers(0, 4)) == 0:
        return ("in", expr, draw(st.lists(st.sampled_from([*like, *unlike]), max_size=3)))
    if draw(st.integers(0, 4)) == 0:
        # Ids are text to the oracle, but no text to the language.
        others = [p for p in properties(labels, edges) if p[2] != "id"]
        return (op, expr, draw(st.sampled_from(others)))
    return (op, expr, ("lit", value))


@st.composite
def queries(draw: st.DrawFn, graph: Any) -> Any:
    """A whole query."""
    labels, edges, matches, number = {"a": "Event"}, dict[str, str](), [], 0
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2]))):
        walked = []
        for _ in range(draw(st.integers(1, 3))):
            number += 1
            near = draw(st.sampled_from([n for n in labels if not n.startswith("_")]))
            hop = draw(hops(near, labels, number))
            if hop is not None:
                walked.append(hop)
                labels[hop.far] = hop.far_label
                edges |= {hop.variable: hop.relation} if hop.variable else {}
        if walked:
            where = draw(conditions(labels, edges)) if draw(st.booleans()) else None
            matches.append((walked, where))
    named = [n for n in labels if not n.startswith("_")]
    exprs: list[Any] = [("node", n) for n in named] + properties(labels, edges)
    events = [n for n in named if labels[n] == "Event"]
    exprs.append(("cos", draw(st.sampled_from(events)), draw(st.sampled_from(events))))
    items = draw(st.lists(st.sampled_from(exprs), min_size=1, max_size=3, unique=True))
    shape = draw(st.sampled_from(["plain", "distinct", "grouped"]))
    if shape == "grouped":
        items = items[: draw(st.integers(0, len(items)))] + draw(st.lists(aggregates(exprs), min_size=1, max_size=2, unique=True))
    order: list[Any] = []
    if draw(st.booleans()):
        mine = [i for i in items if not (i[0] == "agg" and i[1] == "collect")]
        own = [("prop", i[1], p) for i in items if i[0] == "node" for p in NODE_PROPERTIES[labels[i[1]]]]
        keys = exprs if shape == "plain" else [*mine, *own] if shape == "distinct" else mine
        order = draw(st.lists(st.tuples(st.sampled_from(keys), st.booleans()), max_size=2)) if keys else []
    return oracle.Query(draw(starts(graph)), matches, shape == "distinct", items, order, draw(st.sampled_from([1, 3, 200])))


@st.composite
def aggregates(draw: st.DrawFn, exprs: list[Any]) -> Any:
    """An aggregate over one of the expressions."""
    expr = draw(st.sampled_from(exprs))
    numbers = expr[0] == "cos" or (
        len(expr) == 3 and expr[2] in ("order_index", "score", "count", "weight", "hops", "cos", "event_count", "confidence")
    )
    functions = ["count", "collect"] if expr[0] == "node" else ["count", "collect", "min", "max", *(["sum", "avg"] if numbers else [])]
    if draw(st.integers(0, 4)) == 0:
        return ("agg", "count", None, False)
    return ("agg", draw(st.sampled_from(functions)), expr, draw(st.booleans()))


class Writer:
    """Writes a query as text, its values partly as literals, partly as parameters."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.params: dict[str, Any] = {}

    def value(self, value: Any) -> str:
        if self.draw(st.booleans()):
            name = f"p{len(self.params)}"
            self.params[name] = value
            return f"${name}"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(map(self.literal, value)) + "]"
        return self.literal(value)

    def literal(self, value: Any) -> str:
        if value is None or isinstance(value, bool):
            return str(value).lower().replace("none", "null")
        return f"'{value}'" if isinstance(value, str) else repr(value)

    def expr(self, expr: Any) -> str:
        match expr:
            case ("node", v):
                return v
            case ("prop" | "edge", v, name):
                return f"{v}.{name}"
            case ("cos", a, b):
                return f"cos({a}, {b})"
            case ("agg", function, argument, distinct):
                return f"{function}({'DISTINCT ' if distinct and argument else ''}{self.expr(argument) if argument else '*'})"
            case ("lit", value):
                return self.value(value)
        raise ValueError(expr)

    def condition(self, cond: Any) -> str:
        match cond:
            case ("not", inner):
                return f"NOT ({self.condition(inner)})"
            case ("and" | "or" as word, left, right):
                return f"(({self.condition(left)}) {word} ({self.condition(right)}))"
            case ("in", left, values):
                return f"{self.expr(left)} IN {self.value(values)}"
            case ("contains", left, piece):
                return f"{self.expr(left)} CONTAINS {self.value(piece)}"
            case (op, left, right):
                return f"{self.expr(left)} {op} {self.expr(right)}"
        raise ValueError(cond)

    def hop(self, hop: Any) -> str:
        near = f"({hop.near})"
        label = f":{hop.far_label}" if self.draw(st.integers(0, 3)) == 0 else ""
        far = f"({'' if hop.far.startswith('_') else hop.far}{label})"
        star = "" if hop.star is None else f"*{hop.star[0]}" if hop.star[0] == hop.star[1] else f"*{hop.star[0]}..{hop.star[1]}"
        entries = ", ".join(f"{k}: {self.value(v)}" for k, v in hop.params.items())
        inner = f"[{hop.variable or ''}:{hop.relation}{star}{' {' + entries + '}' if entries else ''}]"
        directed = hop.relation in ("NEXT", "RESOLVED_BY") or (hop.relation == "MEMBER_OF" and self.draw(st.booleans()))
        out = f"-{inner}->" if directed and hop.forward else f"<-{inner}-" if directed else f"-{inner}-"
        back = f"<-{inner}-" if directed and hop.forward else f"-{inner}->" if directed else f"-{inner}-"
        # Only where the far end is new may it be written first: of two bound ends SIMILAR walks from the first.
        return f"{far}{back}{near}" if hop.relation != "SIMILAR" and self.draw(st.booleans()) else f"{near}{out}{far}"

    def query(self, query: Any) -> str:
        start = {k: v for k, v in query.start.items() if k != "vector"} | (
            {"text": str(query.start["vector"])} if "vector" in query.start else {}
        )
        text = f"START a = events({', '.join(f'{k}: {self.value(v)}' for k, v in start.items())})"
        for walked, where in query.matches:
            text += " MATCH " + ", ".join(map(self.hop, walked)) + (f" WHERE {self.condition(where)}" if where else "")
        text += f" RETURN {'DISTINCT ' if query.distinct else ''}{', '.join(map(self.expr, query.items))}"
        if query.order:
            text += " ORDER BY " + ", ".join(self.expr(e) + (" DESC" if d else "") for e, d in query.order)
        return f"{text} LIMIT {self.value(query.limit)}"
