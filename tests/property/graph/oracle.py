"""A second reading of the language over Python lists: slow, plain, sharing no code with the compiler.

In: a graph and a query as plain data. Out: the rows, in the order the language promises.
"""

import math
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cmp_to_key
from itertools import combinations
from typing import Any

PREFIX = {"Event": "evt", "Entity": "ent", "Tag": "tag"}


@dataclass
class Graph:
    """What a project holds: numbers count from 1."""

    times: list[datetime | None]
    entities: list[tuple[str, str]]
    tags: list[str]
    part: list[tuple[int, int]]
    member: list[tuple[int, int, str]]
    next: list[tuple[int, int, str]]
    resolved: list[tuple[int, int, bool]]
    alias: list[tuple[int, int, float]]
    vectors: dict[int, tuple[int, ...]]


@dataclass
class Hop:
    """One relation: from a bound variable to another; `forward` is the direction of the arrow seen from the bound one."""

    relation: str
    near: str
    far: str
    far_label: str
    variable: str | None = None
    forward: bool = True
    params: dict[str, Any] = field(default_factory=dict)
    star: tuple[int, int] | None = None


@dataclass
class Query:
    """A query as data; conditions and expressions are nested tuples."""

    start: dict[str, Any]
    matches: list[tuple[list[Hop], Any]]
    distinct: bool
    items: list[Any]
    order: list[tuple[Any, bool]]
    limit: int


class Oracle:
    """Answers queries over one graph."""

    def __init__(self, graph: Graph) -> None:
        self.g = graph
        self.df = Counter(entity for _, entity in graph.part)
        self.of = {event: {e for v, e in graph.part if v == event} for event in range(1, len(graph.times) + 1)}

    def cos(self, a: int, b: int) -> float | None:
        va, vb = self.g.vectors.get(a), self.g.vectors.get(b)
        if va is None or vb is None:
            return None
        return sum(x * y for x, y in zip(va, vb, strict=True)) / math.sqrt(sum(x * x for x in va) * sum(y * y for y in vb))

    # edges: (near number, far number, properties, identity)

    def edges(self, hop: Hop, near: int) -> list[tuple[int, dict[str, Any], Any]]:
        """What a hop reaches from `near`."""
        return getattr(self, "_" + hop.relation.lower())(hop, near)

    def _participated_in(self, hop: Hop, near: int):
        pairs = [(v, e) for v, e in self.g.part if (e if hop.far_label == "Event" else v) == near]
        return [((v if hop.far_label == "Event" else e), {}, ("P", v, e)) for v, e in pairs]

    def _member_of(self, hop: Hop, near: int):
        kinds = hop.params.get("kind")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        found = [m for m in self.g.member if (m[1] if hop.far_label == "Event" else m[0]) == near and (kinds is None or m[2] in kinds)]
        return [((v if hop.far_label == "Event" else t), {"kind": k}, ("M", v, t, k)) for v, t, k in found]

    def _connected(self, hop: Hop, near: int):
        counts = Counter(e for event in self.of if near in self.of[event] for e in self.of[event] if e != near)
        least = hop.params.get("min", 1)
        return [(e, {"event_count": n}, ("C", frozenset((near, e)))) for e, n in counts.items() if n >= least]

    def _same_as(self, hop: Hop, near: int):
        least = hop.params.get("min", 0)
        pairs = [(b if a == near else a, c) for a, b, c in self.g.alias if near in (a, b)]
        return [(far, {"confidence": c}, ("A", frozenset((near, far)))) for far, c in pairs if c >= least]

    def _resolved_by(self, hop: Hop, near: int):
        live = [(a, b) for a, b, revoked in self.g.resolved if not revoked and (a if hop.forward else b) == near]
        return [((b if hop.forward else a), {"relation": "realization"}, ("R", a, b)) for a, b in live]

    def _similar(self, hop: Hop, near: int):
        if near not in self.g.vectors:
            return []
        ranked = sorted((-round(self.cos(near, o) or 0, 9), o) for o in self.g.vectors if o != near)
        found = [(o, self.cos(near, o)) for _, o in ranked[: hop.params.get("k", 5)]]
        return [(o, {"cos": c}, ("S", frozenset((near, o)))) for o, c in found if c >= hop.params.get("min", -2)]

    def _far(self, hop: Hop, near: int):
        found = [(o, self.cos(near, o)) for o in self.g.vectors if o != near]
        return [(o, {"cos": c}, ("F", frozenset((near, o)))) for o, c in found if c is not None and c < hop.params.get("max", 0.5)]

    def _next(self, hop: Hop, near: int):
        sources = hop.params.get("source")
        sources = [sources] if isinstance(sources, str) else sources
        low, high = hop.star or (1, 1)
        reached: dict[tuple[int, str], int] = {}
        for source in {s for _, _, s in self.g.next if sources is None or s in sources}:
            frontier, seen = {near}, {near}
            for depth in range(1, high + 1):
                step = {(b if hop.forward else a) for a, b, s in self.g.next if s == source and (a if hop.forward else b) in frontier}
                frontier = step - seen
                seen |= frontier
                reached |= {(far, source): depth for far in frontier}
        ends = [(far, source, d) for (far, source), d in reached.items() if d >= low]
        return [(f, {"hops": d, "source": s}, ("N", *((near, f) if hop.forward else (f, near)), s)) for f, s, d in ends]

    def _shared(self, a: int, b: int, params: dict[str, Any]) -> dict[str, Any] | None:
        shared = self.of[a] & self.of[b]
        weight = sum(1 / math.log(1 + self.df[e]) for e in shared)
        if a == b or not shared or len(shared) < params.get("min", 1) or weight < params.get("min_w", 0):
            return None
        return {"count": len(shared), "weight": weight, "via": tuple(sorted(shared, key=lambda e: (self.df[e], e)))}

    def _shares(self, hop: Hop, near: int):
        low, high = hop.star or (1, 1)
        frontier, seen, found = [near], {near}, []
        for depth in range(1, high + 1):
            best: dict[int, dict[str, Any]] = {}
            for before in sorted(frontier):
                for far in self.of:
                    props = self._shared(before, far, hop.params)
                    if far not in seen and props and (far not in best or props["weight"] > best[far]["weight"] + 1e-9):
                        best[far] = props
            if depth >= low:
                found += [(far, {**p, "hops": depth}, ("H", frozenset((near, far)))) for far, p in best.items()]
            frontier = list(best)
            seen |= set(best)
        return found

    def starts(self, start: dict[str, Any]) -> list[tuple[int, float | None]]:
        """The start events in order with their scores."""
        g, everything = self.g, range(1, len(self.g.times) + 1)
        if "ids" in start:
            wanted = [int(i[4:]) for i in dict.fromkeys(start["ids"]) if i.startswith("evt_")]
            return [(n, None) for n in wanted if n in everything]
        scope = set(everything)
        if "entity" in start:
            numbers = {i for i, (name, _) in enumerate(g.entities, 1) if name == start["entity"]}
            scope = {v for v, e in g.part if e in numbers}
        if "tag" in start:
            numbers = {i for i, path in enumerate(g.tags, 1) if start["tag"] in (path, path.rpartition("/")[2])}
            scope = {v for v, t, _ in g.member if t in numbers}
        k = start.get("k", 5)
        if "vector" not in start:
            newest = sorted(
                scope, key=lambda v: (g.times[v - 1] is None, -(g.times[v - 1] or datetime(1, 1, 1, tzinfo=UTC)).timestamp(), -v)
            )
            return [(v, None) for v in newest[:k]]
        self.g.vectors[0] = start["vector"]
        scored = sorted((-round(self.cos(0, v) or 0, 9), v) for v in scope if v in self.g.vectors)
        found = [(v, self.cos(0, v)) for _, v in scored[:k]]
        del self.g.vectors[0]
        return found

    def rows(self, query: Query) -> list[tuple[Any, ...]]:
        """The rows, before LIMIT takes effect on them."""
        envs = [{"a": ("Event", n), "pos": i, "score": s} for i, (n, s) in enumerate(self.starts(query.start))]
        for hops, where in query.matches:
            envs = [found for env in envs for found in self._match(env, hops, frozenset())]
            envs = [env for env in envs if where is None or self.test(where, env) is True]
        if any(item[0] == "agg" for item in query.items):
            return self._aggregated(query, envs)
        if query.distinct:
            return self._distinct(query, envs)
        names = [n for n in dict.fromkeys(["a", *(h.far for hops, _ in query.matches for h in hops)]) if not n.startswith("_")]
        edges = [e for e in [*query.items, *(k for k, _ in query.order)] if e[0] == "edge"]
        edges.sort(key=lambda e: int(e[1][1:]))

        def key(env):
            keys = [(self.sortable(expr, env), desc) for expr, desc in query.order]
            ties = [("num", env["pos"]), *(("num", env[n][1]) for n in names), *(self.sortable(e, env) for e in edges)]
            return [*keys, *((t, False) for t in ties)]

        envs.sort(key=cmp_to_key(lambda x, y: _order(key(x), key(y))))
        return [tuple(self.value(item, env) for item in query.items) for env in envs]

    def _match(self, env, hops, used):
        if not hops:
            return [env]
        hop, found = hops[0], []
        for far, props, identity in self.edges(hop, env[hop.near][1]):
            if identity in used or (hop.far in env and env[hop.far][1] != far):
                continue
            extended = {**env, hop.far: (hop.far_label, far)}
            if hop.variable:
                extended[hop.variable] = props
            found += self._match(extended, hops[1:], used | {identity})
        return found

    def value(self, expr, env):
        """A node as ('node', label, number), any other value as itself."""
        match expr:
            case ("node", v):
                return ("node", *env[v])
            case ("prop", v, name):
                return self._property(env[v], v, name, env)
            case ("edge", v, name):
                return env[v][name]
            case ("cos", a, b):
                return self.cos(env[a][1], env[b][1])
            case ("lit", value):
                return value
        raise ValueError(expr)

    def _property(self, node, variable, name, env):
        label, number = node
        if name == "id":
            return f"{PREFIX[label]}_{number}"
        if name == "score":
            return env["score"] if variable == "a" else None
        if label == "Event":
            return {"timestamp": self.g.times[number - 1], "order_index": number, "summary": f"event {number}"}[name]
        if label == "Entity":
            return dict(zip(("name", "type"), self.g.entities[number - 1], strict=True))[name]
        return self.g.tags[number - 1]

    def sortable(self, expr, env):
        return _sortable(self.value(expr, env))

    def test(self, cond, env) -> bool | None:
        """Cypher's three values."""
        match cond:
            case ("not", inner):
                verdict = self.test(inner, env)
                return None if verdict is None else not verdict
            case ("and", *parts):
                verdicts = [self.test(p, env) for p in parts]
                return False if False in verdicts else None if None in verdicts else True
            case ("or", *parts):
                verdicts = [self.test(p, env) for p in parts]
                return True if True in verdicts else None if None in verdicts else False
            case ("in", left, values):
                if not values:
                    return False
                verdicts = [compare("=", self.value(left, env), v) for v in values]
                return True if True in verdicts else None if None in verdicts else False
            case ("contains", left, piece):
                return fold(piece) in fold(self.value(left, env))
            case (op, left, right):
                return compare(op, self.value(left, env), self.value(right, env))
        raise ValueError(cond)

    def _distinct(self, query, envs):
        groups: dict[Any, dict] = {}
        for env in envs:
            groups.setdefault(tuple(self.value(i, env) for i in query.items), env)
        rows = list(groups.items())

        def key(row):
            keys = [(self.sortable(expr, row[1]), desc) for expr, desc in query.order]
            return [*keys, *((_sortable(v), False) for v in row[0])]

        rows.sort(key=cmp_to_key(lambda x, y: _order(key(x), key(y))))
        return [row for row, _ in rows]

    def _aggregated(self, query, envs):
        plain = [i for i in query.items if i[0] != "agg"]
        groups: dict[Any, list] = {}
        for env in envs:
            groups.setdefault(tuple(self.value(i, env) for i in plain), []).append(env)
        if not plain and not groups:
            groups[()] = []
        rows = []
        for group, members in groups.items():
            values = iter(group)
            rows.append(tuple(self._aggregate(i, members) if i[0] == "agg" else next(values) for i in query.items))

        def key(row):
            keys = [(_sortable(row[query.items.index(expr)]), desc) for expr, desc in query.order]
            return [*keys, *((_sortable(v), False) for v in row)]

        rows.sort(key=cmp_to_key(lambda x, y: _order(key(x), key(y))))
        return rows

    def _aggregate(self, item, envs):
        _, function, argument, distinct = item
        if argument is None:
            return len(envs)
        values = [v for v in (self.value(argument, env) for env in envs) if v is not None]
        values = list(dict.fromkeys(values)) if distinct else values
        if function == "count":
            return len(values)
        if function == "sum":
            return sum(values)
        if function == "avg":
            return sum(values) / len(values) if values else None
        ranked = sorted(values, key=cmp_to_key(lambda x, y: _order([(_sortable(x), False)], [(_sortable(y), False)])))
        if function == "collect":
            return tuple(ranked)
        return (ranked[0] if function == "min" else ranked[-1]) if ranked else None


def fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def compare(op: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, datetime) and isinstance(right, str) and right[:2] == "20":
        right = datetime.fromisoformat(right)
        right = right if right.tzinfo else right.replace(tzinfo=UTC)
    alike = _family(left) == _family(right)
    if op in ("=", "<>"):
        return (alike and left == right) == (op == "=")
    if not alike:
        return None
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[op]


def _family(value: Any) -> str:
    return "bool" if isinstance(value, bool) else "number" if isinstance(value, int | float) else type(value).__name__


def _sortable(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple) and value[:1] == ("node",):
        return ("num", value[2])
    if isinstance(value, tuple):
        return ("list", [_sortable(v) for v in value])
    if isinstance(value, str) and value[:4] in ("evt_", "ent_", "tag_"):
        return ("num", int(value[4:]))
    return ("num", round(value, 9)) if isinstance(value, float) else ("num", value) if isinstance(value, int) else ("x", value)


def _order(left: list, right: list) -> int:
    for (a, desc), (b, _) in zip(left, right, strict=True):
        if a == b:
            continue
        if a is None or b is None:
            return 1 if a is None else -1
        return (-1 if a < b else 1) * (-1 if desc else 1)
    return 0


def all_pairs(count: int) -> list[tuple[int, int]]:
    return list(combinations(range(1, count + 1), 2))
