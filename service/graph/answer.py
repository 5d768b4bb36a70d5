"""The answer of a graph query: rows as they are shown, what was covered, and the notes in their order and wording.

In: the rows of the run with the texts of their nodes, how START and the walk went. Out: `GraphAnswer`. No I/O.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from service.graph.arguments import DEFAULT_LIMIT, MAX_LIMIT, Arguments
from service.graph.bindings import argument_kind
from service.graph.compile_tail import COLLECTED, is_late
from service.graph.limits import GraphLimits
from service.graph.relations.protocol import Label
from service.graph.terms import AggregateTerm, EdgeTerm, FieldTerm, NodeTerm, Plan, StartKind, Term
from service.graph.values import PREFIXES

CutReason = Literal["unfilled", "names_cap", "no_embedding", "statement_timeout", "deadline", "row_budget", "answer_bytes"]
VIA_SHOWN = 10


class Candidates(msgspec.Struct, frozen=True):
    """How many events the scope holds; `exact` when every one was measured."""

    count: int
    exact: bool


class StartReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """How START went; what does not apply is left out."""

    kind: StartKind
    k: int
    returned: int
    candidates: Candidates | UnsetType = UNSET
    has_more: bool | UnsetType = UNSET
    hub: bool | UnsetType = UNSET
    scoped_mode: Literal["exact", "filtered_ann"] | UnsetType = UNSET
    filled: bool | UnsetType = UNSET
    entities_truncated: bool | UnsetType = UNSET
    tags_truncated: bool | UnsetType = UNSET
    unembedded: int | UnsetType = UNSET


class Truncation(msgspec.Struct, frozen=True):
    """One cut: where (`start`, `match[i]` or `answer`) and why."""

    where: str
    reason: CutReason
    detail: str


class PlanStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step that ran; the hops of a clause run together, and their time stands at the last of them."""

    step: int
    op: Literal["start", "walk", "return"]
    rows: int
    ms: int
    relation: str | UnsetType = UNSET
    direction: Literal["out", "in", "both"] | UnsetType = UNSET


class BudgetReport(msgspec.Struct, frozen=True):
    """What the call was allowed, and the time it took."""

    deadline_ms: int
    elapsed_ms: int
    statement_timeout_ms: int
    row_budget: int


class GraphAnswer(msgspec.Struct, frozen=True):
    """The response to `query_memory_graph`."""

    columns: list[str]
    rows: list[list[Any]]
    row_count: int
    start: StartReport
    partial: bool
    truncated: list[Truncation]
    plan: list[PlanStep]
    budget: BudgetReport
    notes: list[str]


class StartOutcome(msgspec.Struct, frozen=True):
    """What the start stage gives: event numbers in order with their scores, the report, its cuts and notes.

    `at_least` says that `candidates.count` is a lower bound; `notes` are about names and ids, `missing` about vectors.
    """

    ids: tuple[int, ...]
    scores: tuple[float | None, ...]
    report: StartReport
    cuts: tuple[Truncation, ...] = ()
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    at_least: bool = False
    lost: bool = False


class Texts(msgspec.Struct, frozen=True):
    """What is shown of the nodes in the answer, by label and number."""

    nodes: Mapping[tuple[Label, int], Mapping[str, Any]]

    def shown(self, label: Label, number: int) -> dict[str, Any] | None:
        """A node as it is returned."""
        node = self.nodes.get((label, number))
        return None if node is None else {"id": f"{PREFIXES[label]}_{number}", **{key: _plain(value) for key, value in node.items()}}

    def field(self, term: FieldTerm, number: int) -> Any:
        """A node's property."""
        node = self.shown(term.node.label, number)
        return None if node is None else node[term.name]


class Outcome(msgspec.Struct, frozen=True):
    """What ran: the rows of `c0`, `c1`, …, whether there was one more than LIMIT, the cuts of the walk, the steps."""

    rows: tuple[tuple[Any, ...], ...]
    more: bool
    cuts: tuple[Truncation, ...]
    steps: tuple[PlanStep, ...]


def via_numbers(value: str | None) -> list[int]:
    """The entity numbers of a `via`, which travels as the text of an array."""
    return [int(number) for number in (value or "{}").strip("{}").split(",") if number]


def nodes_shown(plan: Plan, rows: Iterable[Sequence[Any]]) -> set[tuple[Label, int]]:
    """The nodes whose texts the answer needs."""
    found: set[tuple[Label, int]] = set()
    for row in rows:
        for column, value in zip(plan.columns, row, strict=True):
            term = column.term
            inner = term.argument if isinstance(term, AggregateTerm) else term
            if isinstance(inner, EdgeTerm) and inner.kind == "list" and not isinstance(term, AggregateTerm):
                found |= {("Entity", number) for number in via_numbers(value)}
            elif isinstance(term, AggregateTerm) and term.function == "collect" and isinstance(inner, NodeTerm):
                found |= {(inner.label, number) for number in value}
            elif isinstance(term, NodeTerm):
                found.add((term.label, value))
            elif isinstance(term, FieldTerm) and is_late(term, grouped=plan.distinct or plan.aggregates):
                found.add((term.node.label, value))
    return found


def _plain(value: Any) -> Any:
    """A value as JSON has it: times in ISO 8601 UTC, whole numbers exact."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


class Shower:
    """Turns values of rows into what is returned, and remembers which lists were cut."""

    def __init__(self, plan: Plan, texts: Texts) -> None:
        self._late = not (plan.distinct or plan.aggregates)
        self._texts = texts
        self.lists_cut = False
        self.via_cut = False

    def value(self, term: Term, value: Any) -> Any:
        """One value of a row."""
        if isinstance(term, AggregateTerm):
            return self._aggregate(term, value)
        if isinstance(term, NodeTerm):
            return self._texts.shown(term.label, value)
        if isinstance(term, FieldTerm) and self._late:
            return self._texts.field(term, value)
        kind = argument_kind(term)
        if kind == "list":
            numbers = via_numbers(value)
            self.via_cut |= len(numbers) > VIA_SHOWN
            return [self._texts.shown("Entity", number) for number in numbers[:VIA_SHOWN]]
        if kind == "id" and isinstance(term, FieldTerm):
            return f"{PREFIXES[term.node.label]}_{value}"
        return _plain(value)

    def _aggregate(self, term: AggregateTerm, value: Any) -> Any:
        inner = term.argument
        if term.function == "collect" and inner is not None:
            self.lists_cut |= len(value) > COLLECTED
            return [self._collected(inner, item) for item in value[:COLLECTED]]
        if term.function in ("min", "max") and isinstance(inner, FieldTerm) and inner.kind == "id" and value is not None:
            return f"{PREFIXES[inner.node.label]}_{value}"
        if term.function == "avg" and value is not None:
            return float(value)
        return _plain(value)

    def _collected(self, inner: Term, item: Any) -> Any:
        if isinstance(inner, NodeTerm):
            return self._texts.shown(inner.label, item)
        if isinstance(inner, FieldTerm) and inner.kind == "id":
            return f"{PREFIXES[inner.node.label]}_{item}"
        return _plain(item)


def answer(
    plan: Plan, arguments: Arguments, limits: GraphLimits, start: StartOutcome, outcome: Outcome, texts: Texts, elapsed_ms: int
) -> GraphAnswer:
    """The whole answer."""
    shower = Shower(plan, texts)
    rows = [[shower.value(c.term, value) for c, value in zip(plan.columns, row, strict=True)] for row in outcome.rows]
    cuts = [*start.cuts, *outcome.cuts]
    notes = _notes(plan, arguments, limits, start, outcome, empty=not rows)
    if shower.via_cut:
        notes.append(f"via shows the {VIA_SHOWN} rarest shared entities where there are more")
    if shower.lists_cut:
        notes.append(f"collect cut to its first {COLLECTED} values")
    return GraphAnswer(
        columns=[column.name for column in plan.columns],
        rows=rows,
        row_count=len(rows),
        start=start.report,
        partial=bool(cuts),
        truncated=cuts,
        plan=list(outcome.steps),
        budget=BudgetReport(limits.deadline_ms, elapsed_ms, limits.statement_ms, limits.row_budget),
        notes=[*notes, *arguments.unused],
    )


NOT_CONFIRMED = "0 rows means 'not confirmed here', not 'none exist'"
NOT_COVERED = (
    "scoped START did not cover its whole scope (filled false, names truncated, or cut by a statement timeout or the deadline)"
    f" - rows may be missing; {NOT_CONFIRMED}"
)


def _notes(plan: Plan, arguments: Arguments, limits: GraphLimits, start: StartOutcome, outcome: Outcome, *, empty: bool) -> list[str]:
    notes = [*arguments.clamps, *plan.arrows, *start.notes]
    if start.cuts:
        notes.append(NOT_COVERED)
    elif start.report.has_more is True and not (empty and outcome.cuts):
        notes.append(_candidates(start))
    notes += start.missing
    if empty and start.report.unembedded is not UNSET and not start.cuts:
        notes.append(f"events without a vector were left out - {NOT_CONFIRMED}")
    if outcome.cuts and plan.contains:
        notes.append(f"CONTAINS filtered after the walk and the walk was truncated - {NOT_CONFIRMED}")
    notes += [f"walk cut at {cut.where} ({cut.reason}) - rows may be missing; {NOT_CONFIRMED}" for cut in outcome.cuts]
    if plan.aggregates and (outcome.cuts or start.lost):
        notes.append("aggregates cover only what was walked before the cut")
    if outcome.more and not arguments.limit_given and limits.scoped_match:
        notes.append(f"rows cut to the default LIMIT {DEFAULT_LIMIT}; add LIMIT to return more (max {MAX_LIMIT})")
    return notes


def _candidates(start: StartOutcome) -> str:
    report = start.report
    if report.candidates is UNSET:
        raise TypeError("more than was returned, but not counted")
    plus = "+" if start.at_least else ""
    count, returned = report.candidates.count, report.returned
    return f"start: top-{returned} of {count}{plus} candidates; {count - returned}{plus} more exist in scope (not a budget cut)"
