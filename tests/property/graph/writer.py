"""Random valid queries over a graph, as text with params."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.property.graph.model import DIM, KINDS, Graph
from tests.property.graph.vocabulary import ALIASES, COMPARISONS, ENDS, PROPERTIES, READABLE, VARIABLES, turned


@dataclass
class Writer:
    """Writes one query; `params` are those it wrote values into."""

    rng: Random
    graph: Graph
    params: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    edges: dict[str, str] = field(default_factory=dict)
    hops: int = 0

    def query(self) -> str:
        rng = self.rng
        start = rng.choice(("a", "a", "a", "e1"))
        text = self.word("START") + f" {start} = {self.word('events')}({self.start()})"
        self.labels[start] = "Event"
        for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 2, 3))):
            text += self.gap() + self.match()
        text += self.gap() + self.returned()
        limit = rng.choice((None, 1, 3, 5, 20, 200, 200, 500))
        if limit is not None:
            text += f" {self.word('LIMIT')} {self.value(limit)}"
        if rng.random() < 0.1:
            self.params[rng.choice(("unused", "z", "A"))] = rng.choice((1, None, "x", []))
        return text + rng.choice(("", "", ";", " // done", " /* ' */"))

    def word(self, word: str) -> str:
        return self.rng.choice((word, word, word.lower(), word.title()))

    def gap(self) -> str:
        return self.rng.choice((" ", " ", "\n", "\t ", " /* MATCH (a) */ ", ' // it\'s "so"\n'))

    # Values

    def value(self, value: Any) -> str:
        """A literal or a parameter."""
        rng = self.rng
        if isinstance(value, list) and rng.random() < 0.6:
            return "[" + ", ".join(self.value(one) for one in value) + "]"
        if rng.random() < 0.45 or isinstance(value, list):
            name = rng.choice(("p", "in", "Where", "_")) + str(len(self.params))
            self.params[name] = value
            return f"${name}"
        if value is None or isinstance(value, bool):
            return self.word(str(value).lower().replace("none", "null"))
        return self.quoted(value) if isinstance(value, str) else repr(value)

    def quoted(self, text: str) -> str:
        quote = self.rng.choice("'\"")
        escaped = text.replace("\\", "\\\\").replace(quote, "\\" + quote).replace("\n", "\\n")
        if self.rng.random() < 0.2:
            escaped = "".join(f"\\u{ord(c):04x}" if 127 < ord(c) < 0xFFFF else c for c in escaped)
        return quote + escaped + quote

    # START

    def start(self) -> str:
        rng = self.rng
        kind = rng.choice(("ids", "ids", "entity", "entity", "tag", "text", "text", "entity+text", "tag+text"))
        entries: list[str] = []
        if kind == "ids":
            ids = [f"evt_{rng.randint(1, len(self.graph.times) + 1)}" for _ in range(rng.choice((1, 2, 4, 8)))]
            ids += rng.sample(["ent_1", "nonsense", "evt_01", None, "evt_99999999999999999999"], rng.choice((0, 0, 0, 1)))
            entries.append(f"ids: {self.value(ids)}")
        if "entity" in kind:
            name = rng.choice(self.graph.entities)[0] if rng.random() < 0.93 else "nobody"
            entries.append(f"entity: {self.value(f' {name} ' if rng.random() < 0.1 else name)}")
        if "tag" in kind:
            path = rng.choice(self.graph.tags) if rng.random() < 0.93 else "none"
            entries.append(f"tag: {self.value(rng.choice((path, path.rsplit('/', 1)[-1])))}")
        if "text" in kind:
            known = list(self.graph.vectors.values())
            spelled = rng.choice(known) if known and rng.random() < 0.5 else [rng.uniform(-1, 1) for _ in range(DIM)]
            entries.append(f"text: {self.value(' '.join(map(str, spelled)))}")
        if rng.random() < 0.6:
            entries.append(f"k: {self.value(rng.choice((1, 2, 3, 8, 20, 21, 50, 200, 201)))}")
        rng.shuffle(entries)
        return ", ".join(entries)

    # MATCH

    def match(self) -> str:
        rng = self.rng
        chains = [self.chain() for _ in range(rng.choice((1, 1, 1, 2)))]
        if rng.random() < 0.3:
            rng.shuffle(chains)
        text = self.word("MATCH") + " " + ", ".join(chains)
        if rng.random() < 0.4:
            text += f"{self.gap()}{self.word('WHERE')} {self.condition(2)}"
        return text

    def chain(self) -> str:
        rng = self.rng
        near = rng.choice([name for name in self.labels if not name.startswith("#")])
        parts = [self.node(near, self.labels[near])]
        for _ in range(min(rng.choice((0, 1, 1, 1, 2, 2)), 4 - self.hops)):
            relation = rng.choice(
                [
                    name
                    for name, ends in ENDS.items()
                    if self.labels[near] in ends
                    for _ in range(1 + (name in ENDS and name == "PARTICIPATED_IN"))
                ]
            )
            left, right = ENDS[relation]
            far_label = right if self.labels[near] == left else left
            bound = [name for name, label in self.labels.items() if label == far_label and not name.startswith("#")]
            reuse = relation == "FAR" or (rng.random() < 0.2 and bound)
            far = rng.choice(bound) if reuse else self.new_node(far_label)
            parts += [self.relation(relation, self.labels[near] == left), self.node(far, far_label)]
            near, self.hops = far, self.hops + 1
        return "".join(parts if rng.random() < 0.7 else turned(parts))

    def new_node(self, label: str) -> str:
        free = [name for name in VARIABLES if name not in self.labels and name not in self.edges]
        name = self.rng.choice(free) if self.rng.random() < 0.75 else f"#{len(self.labels)}"
        self.labels[name] = label
        return name

    def node(self, name: str, label: str) -> str:
        rng = self.rng
        shown = "" if name.startswith("#") else name
        shown += f":{label}" if rng.random() < 0.2 else ""
        if rng.random() < 0.06:
            kinds = {key: kind for key, kind in PROPERTIES[label].items() if key not in ("score", "summary")}
            keys = rng.sample(list(kinds), rng.choice((1, 1, 2)))
            shown += " {" + ", ".join(f"{key}: {self.value(self.like(key, kinds[key], label))}" for key in keys) + "}"
        return f"({shown})"

    def relation(self, relation: str, outward: bool) -> str:
        rng = self.rng
        variable = ""
        if relation in READABLE and rng.random() < 0.55:
            variable = f"r{len(self.edges)}"
            self.edges[variable] = relation
        star = rng.choice(("", "", "*1", "*1..2", "*2..3", "*1..3", "*3")) if relation in ("SHARES", "NEXT") else ""
        choices: dict[str, dict[str, list[Any]]] = {
            "SHARES": {"min": [1, 2], "min_w": [0.5, 1, 2.3]},
            "SIMILAR": {"k": [1, 2, 3, 20], "min": [0.1, 0.8, -1]},
            "FAR": {"max": [0.9, 0.2, -0.3]},
            "NEXT": {"source": [link[2] for link in self.graph.next[:2]] + [["thread", "file_name", "version_up"]]},
            "MEMBER_OF": {"kind": [*KINDS, list(KINDS)]},
            "RESOLVED_BY": {"relation": ["realization"]},
            "CONNECTED": {"min": [1, 2]},
            "SAME_AS": {"min": [0.9, 0.5, 1]},
        }
        given = {key: rng.choice(values) for key, values in choices.get(relation, {}).items() if rng.random() < 0.35}
        entries = " {" + ", ".join(f"{key}: {self.value(value)}" for key, value in given.items()) + "}" if given else ""
        inner = f"[{variable}:{relation}{star}{entries}]"
        if relation in ("NEXT", "RESOLVED_BY"):
            return f"-{inner}->" if rng.random() < 0.5 else f"<-{inner}-"
        if relation == "MEMBER_OF" and rng.random() < 0.6:
            return f"-{inner}->" if outward else f"<-{inner}-"
        arrow = rng.choice((1, 1, 1, 2, 3)) if relation != "MEMBER_OF" else 1
        return f"-{inner}-" if arrow == 1 else f"-{inner}->" if arrow == 2 else f"<-{inner}-"

    # Expressions

    def readable(self) -> list[tuple[str, str, str]]:
        """(text, kind, label) of every property of what is bound."""
        nodes = [(f"{n}.{p}", kind, label) for n, label in self.labels.items() if n[0] != "#" for p, kind in PROPERTIES[label].items()]
        return nodes + [(f"{e}.{p}", kind, "") for e, relation in self.edges.items() for p, kind in READABLE[relation].items()]

    def cos(self) -> tuple[str, str, str]:
        events = [name for name, label in self.labels.items() if label == "Event" and name[0] != "#"]
        return (f"{self.word('cos')}({self.rng.choice(events)}, {self.rng.choice(events)})", "number", "")

    def like(self, name: str, kind: str, label: str) -> Any:
        """A value that a property may well have, or one of another type."""
        rng = self.rng
        if rng.random() < 0.12:
            return rng.choice((None, True, 1 if kind == "text" else "a" if kind != "time" else 7))
        if kind == "id":
            return (
                rng.choice(("evt", "ent", "tag") if rng.random() < 0.2 else ({"Event": "evt", "Entity": "ent", "Tag": "tag"}[label],))
                + f"_{rng.randint(1, 5)}"
            )
        if kind == "time":
            return rng.choice(("2026-01-01", "2026-01-02T00:00:00Z", "2026-01-01T12:00:00", "2026-01-02T09:00:00+09:00"))
        if kind == "number":
            return rng.choice((0, 1, 2, 3, 2.0, 0.31, -0.2, 1e3))
        names = [name for name, _ in self.graph.entities] + self.graph.tags
        return rng.choice((*names, "tool", "thread", "contains", "realization", "person", ""))

    def condition(self, depth: int) -> str:
        rng = self.rng
        if depth and rng.random() < 0.45:
            kind = rng.choice(("NOT", "AND", "OR"))
            parts = [self.condition(depth - 1) for _ in range(1 if kind == "NOT" else rng.choice((2, 2, 3)))]
            if kind == "NOT":
                return f"{self.word('NOT')} ({parts[0]})" if rng.random() < 0.7 else f"{self.word('NOT')} {self.comparison()}"
            joined = f" {self.word(kind)} ".join(parts if rng.random() < 0.3 else [f"({part})" for part in parts])
            return f"({joined})" if rng.random() < 0.5 else joined
        return self.comparison()

    def comparison(self) -> str:
        rng = self.rng
        readable = [r for r in self.readable() if r[1] not in ("summary", "list")]
        expression, kind, label = rng.choice([*readable, self.cos()])
        if kind == "id":
            return self.of_ids(expression, label)
        name = expression.rsplit(".", 1)[-1]
        if name == "name" and rng.random() < 0.5:
            piece = rng.choice(
                (*(n for n, _ in self.graph.entities if len(n) > 1), "kaf", "ＫＡ", "%%", "50%", "a_", "格", "ss", "\\b", "σ", None)
            )
            return f"{expression} {self.word('CONTAINS')} {self.value(piece)}"
        roll = rng.random()
        if roll < 0.2:
            values = [self.like(name, kind, label) for _ in range(rng.choice((0, 1, 2, 3)))]
            return f"{expression} {self.word('IN')} {self.value(values) if rng.random() < 0.95 else 'null'}"
        if roll < 0.35:
            return f"{expression} {rng.choice(COMPARISONS)} {rng.choice([r for r in readable if r[1] != 'id'])[0]}"
        if roll < 0.42:
            return f"{self.value(self.like(name, 'number', ''))} {rng.choice(COMPARISONS)} {self.value(self.like(name, 'number', ''))}"
        sides = [expression, self.value(self.like(name, kind, label))]
        if rng.random() < 0.2:
            sides.reverse()
        return f" {rng.choice(COMPARISONS)} ".join(sides)

    def of_ids(self, expression: str, label: str) -> str:
        rng = self.rng
        op = rng.choice(("=", "<>"))
        roll, node = rng.random(), expression.rsplit(".", 1)[0]
        if roll < 0.3:
            return f"{expression} {op} {rng.choice([r[0] for r in self.readable() if r[1] == 'id'])}"
        if roll < 0.5:
            return f"{node} {op} {rng.choice([name for name in self.labels if name[0] != '#'])}"
        if roll < 0.8:
            values = [self.like("id", "id", label) for _ in range(rng.choice((0, 1, 2, 4)))]
            return f"{expression} {self.word('IN')} {self.value(values)}"
        return f"{expression} {op} {self.value(self.like('id', 'id', label))}"

    # RETURN

    def returned(self) -> str:
        rng = self.rng
        nodes = [(name, "node", label) for name, label in self.labels.items() if name[0] != "#"]
        everything = [*nodes, *nodes, *self.readable(), self.cos()]
        items = [rng.choice(everything)[:2] for _ in range(rng.choice((1, 1, 2, 3)))]
        shape = rng.choice(("plain", "distinct", "grouped"))
        if shape == "grouped":
            items = items[: rng.randint(0, len(items))] + [self.aggregate(everything) for _ in range(rng.choice((1, 1, 2)))]
            rng.shuffle(items)
        aliases = rng.sample(ALIASES, len(items))
        named = [
            (text, kind, alias if rng.random() < 0.4 and alias not in self.labels else None)
            for (text, kind), alias in zip(items, aliases, strict=True)
        ]
        columns = ", ".join(text if alias is None else f"{text} {self.word('AS')} {alias}" for text, _, alias in named)
        distinct = f"{self.word('DISTINCT')} " if shape == "distinct" or (shape == "grouped" and rng.random() < 0.1) else ""
        return f"{self.word('RETURN')} {distinct}{columns}{self.ordered(named, shape)}"

    def ordered(self, named: list[tuple[str, str, str | None]], shape: str) -> str:
        rng = self.rng
        keys = [alias or text for text, kind, alias in named if kind not in ("list", "collected")]
        if shape == "plain":
            keys += [text for text, kind, _ in [*self.readable(), self.cos()] if kind not in ("list", "summary")]
        if shape == "distinct":
            owned = [(text, alias) for text, kind, alias in named if kind == "node"]
            keys += [f"{alias or text}.{p}" for text, alias in owned for p in PROPERTIES[self.labels[text]] if p != "summary"]
        if not keys or rng.random() < 0.4:
            return ""
        picked = [rng.choice(keys) + rng.choice(("", "", " DESC", " asc", " Descending")) for _ in range(rng.choice((1, 1, 2)))]
        return f" {self.word('ORDER')} {self.word('BY')} " + ", ".join(picked)

    def aggregate(self, everything: list[tuple[str, str, str]]) -> tuple[str, str]:
        rng = self.rng
        if rng.random() < 0.25:
            return f"{self.word('count')}(*)", "number"
        text, kind, _ = rng.choice(everything)
        functions = ["count"]
        if kind != "list":
            functions += ["collect"]
        if kind not in ("list", "node"):
            functions += ["min", "max"]
        if kind == "number":
            functions += ["sum", "avg"]
        function = rng.choice(functions)
        distinct = self.word("DISTINCT") + " " if rng.random() < 0.5 else ""
        return f"{self.word(function)}({distinct}{text})", "collected" if function == "collect" else kind
