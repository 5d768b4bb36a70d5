"""`query_memory_graph`: one query against the memory of one project.

In: a project, the text of a query, its params. Out: `GraphAnswer`; raises `GraphRejection` before anything is read. The query
vector is asked for before a connection is taken. Then START, then the walk, and last the texts of what is returned, all in one
transaction that sees one state of the project.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

import msgspec

from service.db.budget import Budget, Cut
from service.db.pools import Database
from service.db.queries import load
from service.db.scope import ProjectRef, SpaceRef
from service.db.transaction import Tx
from service.errors import MunimentError, reason_of
from service.graph.answer import GraphAnswer, Outcome, PlanStep, StartOutcome, Texts, Truncation, answer, nodes_shown
from service.graph.arguments import Arguments, fill, read_params
from service.graph.compile import Compiled, compiled
from service.graph.limits import GraphLimits
from service.graph.rejection import GraphRejection
from service.graph.relations.protocol import Label
from service.graph.start import NoVector, StartStage, lost
from service.graph.values import whole
from service.graph.walker import Walker, numbered

# How long after the deadline the caller itself ends a call that the database did not.
GRACE_MS = 100
_TEXTS: Mapping[Label, str] = {"Event": "event_texts", "Entity": "entity_texts", "Tag": "tag_texts"}


class Space(Protocol):
    """What makes vectors comparable."""

    @property
    def provider(self) -> str:
        """Who makes the vectors."""
        ...

    @property
    def model(self) -> str:
        """With which model."""
        ...

    @property
    def dim(self) -> int:
        """Of how many numbers."""
        ...


class QueryEmbedder(Protocol):
    """Makes a query's vector in one space."""

    @property
    def space(self) -> Space:
        """The space of its vectors."""
        ...

    def __call__(self, text: str, /) -> Awaitable[str]:
        """The vector of `text` as pgvector's text."""
        ...


async def run_query(
    database: Database,
    project: ProjectRef,
    query: str,
    params: Mapping[str, object] | str | None,
    *,
    embed: QueryEmbedder | None,
    limits: GraphLimits,
) -> GraphAnswer:
    """The answer to `query`, within `limits`; what a budget cuts is marked in it."""
    query = whole(query)
    budget = Budget(limits.deadline_ms, limits.statement_ms)
    checked = compiled(query, vectors=True)
    try:
        arguments = fill(checked, read_params(params), limits)
    except GraphRejection as rejection:
        raise rejection.located(query) from None
    text = arguments.start.text
    vector = None if text is None else await _vector(embed, text, budget)
    run = Run(checked, arguments, limits, budget)
    try:
        async with asyncio.timeout((budget.remaining_ms() + GRACE_MS) / 1000), database.read(project) as tx:
            await run.finish(tx, _fitting(vector, embed, tx.space))
    except TimeoutError:
        run.give_up()
    return answer(checked.plan, arguments, limits, run.start, run.outcome, run.texts, budget.elapsed_ms())


class Run:
    """One query under way: what is known of its answer so far."""

    def __init__(self, query: Compiled, arguments: Arguments, limits: GraphLimits, budget: Budget) -> None:
        self._query = query
        self._arguments = arguments
        self._limits = limits
        self._budget = budget
        self.start = lost(query.plan.start.kind, arguments.start, "deadline")
        self.outcome = Outcome((), False, (), ())
        self.texts = Texts({})

    async def finish(self, tx: Tx, vector: str | NoVector | None) -> None:
        """START, the walk, the texts of what is returned."""
        query = compiled(self._query.text, vectors=tx.space is not None)
        began = time.monotonic()
        self.start = await StartStage(query.plan.start.kind, self._arguments.start, vector, self._limits, tx, self._budget).run()
        first = PlanStep(0, "start", len(self.start.ids), int((time.monotonic() - began) * 1000))
        self.outcome = Outcome((), False, (), (first,))
        outcome, self.texts = await _walked(tx, query, self._arguments, self._limits, self._budget, self.start)
        self.outcome = msgspec.structs.replace(outcome, steps=numbered((first, *outcome.steps)))

    def give_up(self) -> None:
        """The database did not keep to its own limits: what was not finished is cut."""
        if self.start.lost:
            return
        cut = Truncation(_last_place(self._query), "deadline", "the database did not answer before the deadline")
        self.outcome = msgspec.structs.replace(self.outcome, rows=(), more=False, cuts=(cut,))
        self.texts = Texts({})


def _last_place(query: Compiled) -> str:
    return f"match[{len(query.plan.matches) - 1}]" if query.plan.matches else "start"


async def _walked(
    tx: Tx, query: Compiled, arguments: Arguments, limits: GraphLimits, budget: Budget, start: StartOutcome
) -> tuple[Outcome, Texts]:
    """The rows with their texts; none where the start itself was lost, or where no time is left to read them."""
    if start.lost:
        return Outcome((), False, (), ()), Texts({})
    outcome = await Walker(tx, query, arguments, limits, budget, start).run()
    try:
        return outcome, await _texts(tx, nodes_shown(query.plan, outcome.rows), budget)
    except Cut as cut:
        cuts = (*outcome.cuts, Truncation(_last_place(query), cut.reason, "no time was left to read the texts of the rows"))
        return msgspec.structs.replace(outcome, rows=(), more=False, cuts=cuts), Texts({})


async def _vector(embed: QueryEmbedder | None, text: str, budget: Budget) -> str | NoVector:
    """The query vector, or why there is none; an embedder that fails is no error of the query."""
    if embed is None:
        return NoVector("no embedding provider is set up")
    provider, model = embed.space.provider, embed.space.model
    try:
        async with asyncio.timeout(budget.remaining_ms() / 1000):
            vector = await embed(text)
        values = [float(part) for part in vector.strip("[]").split(",")]
    except TimeoutError:
        return NoVector("it did not answer before the deadline", provider, model)
    except (MunimentError, OSError, ValueError, RuntimeError) as error:
        return NoVector(reason_of(error) or "unavailable", provider, model)
    if len(values) != embed.space.dim or not any(values) or not all(map(math.isfinite, values)):
        return NoVector("it gave a vector that cannot be compared", provider, model)
    return vector


def _fitting(vector: str | NoVector | None, embed: QueryEmbedder | None, space: SpaceRef | None) -> str | NoVector | None:
    """The vector, if the project's vectors are of the same space: those of two spaces are never compared."""
    if isinstance(vector, NoVector) and vector.provider is None and space is not None:
        return NoVector(vector.reason, space.provider, space.model)
    if not isinstance(vector, str) or embed is None:
        return vector
    made = (embed.space.provider, embed.space.model, embed.space.dim)
    if space is None:
        return NoVector("the project has no vectors", *made[:2])
    if made != (space.provider, space.model, space.dim):
        return NoVector(f"the project's vectors are from {space.provider} {space.model}", *made[:2])
    return vector


async def _texts(tx: Tx, nodes: set[tuple[Label, int]], budget: Budget) -> Texts:
    """What is shown of the nodes, read last and only for them."""
    found: dict[tuple[Label, int], Mapping[str, Any]] = {}
    for label, name in _TEXTS.items():
        numbers = sorted(number for of, number in nodes if of == label)
        if not numbers:
            continue
        for row in await tx.fetch(load("project", "graph")[name].sql, numbers, budget=budget):
            found[label, row["id"]] = _shown(label, dict(row))
    return Texts(found)


def _shown(label: Label, row: Mapping[str, Any]) -> Mapping[str, Any]:
    if label == "Event":
        return {"summary": row["summary"], "timestamp": row["timestamp"], "order_index": row["id"]}
    if label == "Entity":
        return {"name": row["name"], "type": row["type"]}
    return {"name": row["path"]}
