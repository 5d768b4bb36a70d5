"""What the whole answer to a query has to be: START's events and report, rows, flags, and the notes in their order.

In: a graph, the tree of a query, its params, the settings of the call. Out: `Expected`.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from service.graph import ast
from tests.property.graph.evaluator import Evaluator, Row
from tests.property.graph.model import Graph, stored
from tests.property.graph.ordering import Keys
from tests.property.graph.relations import Measured, Ref, Unsure, cosine, ranked, too_close
from tests.property.graph.values import PREFIX, Id, nfc

MOST_NAMES, MOST_VIA, MOST_COLLECTED = 20, 10, 200
NOT_COVERED = (
    "scoped START did not cover its whole scope (filled false, names truncated, or cut by a statement timeout or the deadline)"
    " - rows may be missing; 0 rows means 'not confirmed here', not 'none exist'"
)


@dataclass
class Expected:
    """An answer."""

    columns: list[str]
    start: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    truncated: list[tuple[str, str]] = field(default_factory=list)
    rows: list[tuple[list[Any], Keys]] = field(default_factory=list)
    limit: int = 20


def spelled(text: str) -> tuple[float, ...]:
    """The vector that a text spells, as it is compared."""
    return stored([float(part) for part in text.split()])


class Expectation:
    """Works out one answer. `embeds`: whether there is an embedder; `exact`: how many candidates are measured."""

    def __init__(self, graph: Graph, query: ast.Query, params: dict[str, Any], *, embeds: bool, exact: int) -> None:
        self.graph, self.query, self.params = graph, query, params
        self.embeds, self.exact = embeds, exact
        self.evaluator = Evaluator(graph, query, params)
        self.given = {entry.key: self.evaluator.value_of(entry.value) for entry in query.start.entries}
        self.clamps: list[str] = []
        self.names: list[str] = []
        self.cut: str | None = None
        self.missing: list[str] = []

    def answer(self) -> Expected:
        starts, report = self._start()
        limit = 20 if self.query.limit is None else self.evaluator.value_of(self.query.limit)
        if limit > 200:
            self.clamps.append(f"limit clamped {limit} -> 200")
            limit = 200
        columns = [item.alias or ast.printed(item.expression) for item in self.query.items]
        found = Expected(columns, report, limit=limit)
        rows = [] if self.cut == "no_embedding" else self.evaluator.rows(starts)
        found.rows = [([self._shown(cell, item) for cell, item in zip(row.cells, self.query.items, strict=True)], row.keys) for row in rows]
        found.truncated = [("start", self.cut)] if self.cut else []
        found.notes = self._notes(report, rows, limit)
        return found

    # START

    def _start(self) -> tuple[list[tuple[int, float | None]], dict[str, Any]]:
        keys = set(self.given) - {"k"}
        if keys == {"ids"}:
            return self._ids()
        most = 20 if "text" in keys else 200
        k = self.given.get("k", 5)
        if k > most:
            self.clamps.append(f"start.k clamped {k} -> {most}")
            k = most
        report: dict[str, Any] = {"kind": "+".join(sorted(keys)), "k": k, "returned": 0}
        if keys in ({"tag"}, {"entity", "text"}, {"tag", "text"}):
            report |= {"has_more": False, "candidates": {"count": 0, "exact": True}}
        if keys in ({"tag"}, {"entity"}):
            report["hub"] = False
        if "text" in keys and not self.embeds:
            report.pop("candidates", None)
            self.cut = "no_embedding"
            self.missing = ["start: no query vector from test vectors (no embedding provider is set up)"]
            return [], report
        scope = set(self.graph.events) if keys == {"text"} else self._scope(report)
        if scope is None:
            return [], report
        return self._closest(scope, k, report) if "text" in keys else self._newest(scope, k, report)

    def _ids(self) -> tuple[list[tuple[int, float | None]], dict[str, Any]]:
        asked = list(dict.fromkeys(self.given["ids"]))
        there = {f"evt_{number}": number for number in self.graph.events}
        starts = [(there[one], None) for one in asked if one in there]
        if len(starts) < len(asked):
            self.names.append(f"start: {len(asked) - len(starts)} of {len(asked)} ids are not in this project and were dropped")
        return list(starts), {"kind": "ids", "k": len(asked), "returned": len(starts)}

    def _scope(self, report: dict[str, Any]) -> set[int] | None:
        what = "entity" if "entity" in self.given else "tag"
        name = nfc(self.given[what]).strip()
        if what == "entity":
            numbers = [i for i, (stored_name, _) in enumerate(self.graph.entities, 1) if stored_name == name]
        else:
            numbers = [i for i, path in enumerate(self.graph.tags, 1) if name in (path, path.rsplit("/", 1)[-1])]
        if not numbers:
            below = sorted(path for path in self.graph.tags if path.startswith(f"{name}/")) if what == "tag" else []
            finder = "find_memories_by_entity" if what == "entity" else "list_tags"
            alike = f"descendants are not included: {', '.join(below[:3])}" if below else f"{finder} finds those alike"
            self.names.append(f"start: no {what} is named {name!r} (names match exactly; {alike})")
            return None
        if len(numbers) > MOST_NAMES:
            self.cut = "names_cap"
            report["entities_truncated" if what == "entity" else "tags_truncated"] = True
        used = numbers[:MOST_NAMES]
        pairs = self.graph.participation if what == "entity" else [(event, tag) for event, tag, _ in self.graph.membership]
        return {event for event, number in pairs if number in used}

    def _newest(self, scope: set[int], k: int, report: dict[str, Any]) -> tuple[list[tuple[int, float | None]], dict[str, Any]]:
        times, never = self.graph.times, datetime(1, 1, 1, tzinfo=UTC)
        order = sorted(scope, key=lambda event: (times[event - 1] is not None, times[event - 1] or never, event), reverse=True)
        more = len(order) > k
        report |= {"returned": min(k, len(order)), "hub": more}
        if "tag" in self.given:
            report |= {"has_more": more, "candidates": {"count": min(k + 1, len(order)), "exact": not more}}
        return [(event, None) for event in order[:k]], report

    def _closest(self, scope: set[int], k: int, report: dict[str, Any]) -> tuple[list[tuple[int, float | None]], dict[str, Any]]:
        asked = spelled(self.given["text"])
        vectors = self.graph.vectors
        scores = {event: cosine(asked, vectors[event]) or Measured(0) for event in scope if event in vectors}
        order = ranked(scores)
        if any(too_close(scores[a], scores[b]) for a, b in pairwise(order[: k + 1])):
            raise Unsure
        if len(scope) > self.exact and len(order) > k and scores[order[k - 1]] == scores[order[k]]:
            raise Unsure  # which of two equals the vector index gives is not promised
        order = order[:k]
        report["returned"] = len(order)
        if len(scope) > len(scores):
            report["unembedded"] = len(scope) - len(scores)
            self.missing = [f"start: {len(scope) - len(scores)} events in scope have no vector yet and were not candidates"]
        if len(self.given) - ("k" in self.given) == 2:
            measured = len(scope) <= self.exact
            report |= {
                "candidates": {"count": len(scores), "exact": measured},
                "has_more": len(scores) > len(order),
                "scoped_mode": "exact" if measured else "filtered_ann",
                "filled": True,
            }
        return [(event, scores[event]) for event in order], report

    # The answer

    def _shown(self, cell: Any, item: ast.Item) -> Any:
        if isinstance(cell, Ref):
            return self._node(cell)
        if isinstance(cell, tuple):
            most = MOST_COLLECTED if isinstance(item.expression, ast.Aggregate) else MOST_VIA
            return [self._shown(one, item) for one in cell[:most]]
        if isinstance(cell, datetime):
            return cell.isoformat().replace("+00:00", "Z")
        return str(cell) if isinstance(cell, Id) else cell

    def _node(self, ref: Ref) -> dict[str, Any]:
        shown: dict[str, Any] = {"id": f"{PREFIX[ref.label]}_{ref.number}"}
        if ref.label == "Event":
            moment = self.graph.times[ref.number - 1]
            written = moment.isoformat().replace("+00:00", "Z") if moment else None
            return shown | {"summary": f"event {ref.number}", "timestamp": written, "order_index": ref.number}
        if ref.label == "Entity":
            return shown | dict(zip(("name", "type"), self.graph.entities[ref.number - 1], strict=True))
        return shown | {"name": self.graph.tags[ref.number - 1]}

    def _arrows(self) -> list[str]:
        labels, notes = labels_of(self.query), list[str]()
        for left, relation, right in steps_of(self.query):
            if relation.type == "MEMBER_OF" and relation.direction == "none":
                arrow = "-[:MEMBER_OF]->" if labels[name_of(left)] == "Event" else "<-[:MEMBER_OF]-"
                notes.append(f"direction inferred: ({left.variable or ''}){arrow}({right.variable or ''})")
        return notes

    def _notes(self, report: dict[str, Any], rows: list[Row], limit: int) -> list[str]:
        notes = [*self.clamps, *self._arrows(), *self.names]
        if self.cut:
            notes.append(NOT_COVERED)
        elif report.get("has_more"):
            count, returned = report["candidates"]["count"], report["returned"]
            plus = "+" if report["kind"] == "tag" else ""
            notes.append(
                f"start: top-{returned} of {count}{plus} candidates; {count - returned}{plus} more exist in scope (not a budget cut)"
            )
        notes += self.missing
        if not rows and "unembedded" in report and not self.cut:
            notes.append("events without a vector were left out - 0 rows means 'not confirmed here', not 'none exist'")
        if self.cut == "no_embedding" and any(isinstance(item.expression, ast.Aggregate) for item in self.query.items):
            notes.append("aggregates cover only what was walked before the cut")
        if self.query.limit is None and len(rows) > 20:
            notes.append("rows cut to the default LIMIT 20; add LIMIT to return more (max 200)")
        shown = rows[:limit]
        cells = [(cell, item) for row in shown for cell, item in zip(row.cells, self.query.items, strict=True) if isinstance(cell, tuple)]
        cells = [(cell, item) for cell, item in cells if not isinstance(cell, Ref)]
        if any(len(cell) > MOST_VIA for cell, item in cells if not isinstance(item.expression, ast.Aggregate)):
            notes.append("via shows the 10 rarest shared entities where there are more")
        if any(len(cell) > MOST_COLLECTED for cell, item in cells if isinstance(item.expression, ast.Aggregate)):
            notes.append("collect cut to its first 200 values")
        unused = sorted(set(self.params) - used_params(self.query))
        return [*notes, *(f"parameter ${name} is not used in the query" for name in unused)]


def name_of(node: ast.NodePattern) -> Any:
    return node.variable or node.at


def steps_of(query: ast.Query) -> list[tuple[ast.NodePattern, ast.RelationPattern, ast.NodePattern]]:
    """Every relation with the nodes at its left and its right."""
    chains = [chain for match in query.matches for chain in match.chains]
    return [(chain.nodes[i], relation, chain.nodes[i + 1]) for chain in chains for i, relation in enumerate(chain.relations)]


def labels_of(query: ast.Query) -> dict[Any, str]:
    """The labels of all nodes, by what is written and by what each relation joins."""
    labels = {query.start.variable: "Event"}
    nodes = [node for match in query.matches for chain in match.chains for node in chain.nodes]
    labels |= {name_of(node): node.label for node in nodes if node.label}
    other = {"PARTICIPATED_IN": {"Event": "Entity", "Entity": "Event"}, "MEMBER_OF": {"Event": "Tag", "Tag": "Event"}}
    for _ in nodes:
        for left, relation, right in steps_of(query):
            ends = name_of(left), name_of(right)
            if relation.type not in other:
                labels |= dict.fromkeys(ends, "Entity" if relation.type in ("CONNECTED", "SAME_AS") else "Event")
                continue
            for one, another in (ends, ends[::-1]):
                if one in labels:
                    labels[another] = other[relation.type][labels[one]]
    return labels


def used_params(part: Any) -> set[str]:
    """The names of all parameters in a tree."""
    if isinstance(part, ast.Param):
        return {part.name}
    if isinstance(part, tuple):
        return {name for inner in part for name in used_params(inner)}
    if isinstance(part, ast.Node):
        return {name for key in part.__struct_fields__ for name in used_params(getattr(part, key))}
    return set()
