"""The start stage: names to numbers, then the events in the order START asks for.

In: a transaction, the start's plan and arguments, the query vector. Out: `StartOutcome`; time that runs out is a cut in it, never
an error.
"""

from collections.abc import Sequence

import asyncpg
import msgspec
from msgspec import UNSET

from service.db.budget import Budget, Cut
from service.db.queries import load
from service.db.transaction import Tx
from service.graph.answer import Candidates, CutReason, StartOutcome, StartReport, Truncation
from service.graph.arguments import StartArguments
from service.graph.limits import GraphLimits
from service.graph.plan import MAX_K_TEXT
from service.graph.terms import StartKind
from service.graph.vector_scans import count_heads, widen_scans

NAMES = 20
_BELOW = 3
_WITHOUT_LIMIT = 2**62


class NoVector(msgspec.Struct, frozen=True):
    """Why there is no query vector, and from whom, where that is known."""

    reason: str
    provider: str | None = None
    model: str | None = None

    @property
    def note(self) -> str:
        """The note line."""
        source = f" from {self.provider} {self.model}" if self.provider else ""
        return f"start: no query vector{source} ({self.reason})"


def report_of(kind: StartKind, asked: StartArguments, returned: int) -> StartReport:
    """What every report of this kind has, with has_more and hub false where they belong."""
    report = StartReport(kind=kind, k=asked.k, returned=returned)
    if kind in ("tag", "entity+text", "tag+text"):
        report = msgspec.structs.replace(report, has_more=False, candidates=Candidates(0, True))
    if kind in ("tag", "entity"):
        report = msgspec.structs.replace(report, hub=False)
    return report


def lost(kind: StartKind, asked: StartArguments, reason: CutReason, note: str | None = None) -> StartOutcome:
    """A start that was cut as a whole."""
    details: dict[CutReason, str] = {
        "no_embedding": "no query vector could be had",
        "statement_timeout": "the start was stopped at the statement timeout",
        "deadline": "the start was stopped at the deadline",
    }
    cut = Truncation("start", reason, details[reason])
    report = msgspec.structs.replace(report_of(kind, asked, 0), candidates=UNSET)
    return StartOutcome((), (), report, cuts=(cut,), missing=() if note is None else (note,), lost=True)


class StartStage(msgspec.Struct, frozen=True):
    """One start: what it asks and what it runs with."""

    kind: StartKind
    asked: StartArguments
    vector: str | NoVector | None
    limits: GraphLimits
    tx: Tx
    budget: Budget

    async def run(self) -> StartOutcome:
        """The start events."""
        try:
            if self.kind == "ids":
                return await self._ids()
            if isinstance(self.vector, NoVector):
                return lost(self.kind, self.asked, "no_embedding", self.vector.note)
            if self.kind == "text":
                return await self._text()
            return await self._named()
        except Cut as cut:
            return lost(self.kind, self.asked, cut.reason)

    async def _fetch(self, name: str, *args: object) -> Sequence[asyncpg.Record]:
        return await self.tx.fetch(load("project", "graph")[name].sql, *args, budget=self.budget)

    @property
    def _scope(self) -> str:
        return "entities" if self.kind.startswith("entity") else "tags"

    def _report(self, returned: int) -> StartReport:
        return report_of(self.kind, self.asked, returned)

    async def _ids(self) -> StartOutcome:
        asked = [number for number in self.asked.ids if number is not None]
        known = {row["id"] for row in await self._fetch("known_events", asked)}
        ids = tuple(number for number in asked if number in known)
        dropped = len(self.asked.ids) - len(ids)
        notes = (f"start: {dropped} of {len(self.asked.ids)} ids are not in this project and were dropped",) if dropped else ()
        return StartOutcome(ids, (None,) * len(ids), self._report(len(ids)), notes=notes)

    async def _text(self) -> StartOutcome:
        if self.tx.space is None:
            raise ValueError("a project without a space has no vectors to compare with")
        (missing,) = await self._fetch("unembedded_in_project", self.tx.space.id)
        most = max(self.limits.exact_candidates, self.asked.k) + 1
        vectors = await count_heads(self.tx, self.budget, most)
        exact = vectors <= self.limits.exact_candidates
        if not exact:
            await widen_scans(self.tx, self.budget)
        if exact:
            rows = await self._fetch("measured_in_project", self.vector, self.asked.k)
        else:
            rows = (await self._fetch("nearest_in_project", self.vector, MAX_K_TEXT))[: self.asked.k]
        report = self._report(len(rows))
        outcome = self._scored(rows, report, unembedded=missing["unembedded"])
        return self._unfilled(outcome) if len(rows) < min(self.asked.k, vectors) else outcome

    def _scored(self, rows: Sequence[asyncpg.Record], report: StartReport, *, unembedded: int) -> StartOutcome:
        missing: tuple[str, ...] = ()
        if unembedded > 0:
            report = msgspec.structs.replace(report, unembedded=unembedded)
            missing = (f"start: {unembedded} events in scope have no vector yet and were not candidates",)
        return StartOutcome(
            ids=tuple(row["owner_id"] for row in rows),
            scores=tuple(row["score"] for row in rows),
            report=report,
            missing=missing,
        )

    async def _named(self) -> StartOutcome:
        names = await self._fetch("entity_numbers" if self._scope == "entities" else "tag_numbers", self.asked.name, NAMES + 1)
        numbers = [row["id"] for row in names[:NAMES]]
        if not numbers:
            return StartOutcome((), (), self._report(0), notes=(await self._unknown_name(),))
        outcome = await (self._newest(numbers) if self.vector is None else self._closest(numbers))
        if len(names) <= NAMES:
            return outcome
        cut = Truncation("start", "names_cap", f"the name stands for more than {NAMES} {self._scope}")
        report = msgspec.structs.replace(outcome.report, **{f"{self._scope}_truncated": True})
        return msgspec.structs.replace(outcome, report=report, cuts=(cut, *outcome.cuts))

    async def _unknown_name(self) -> str:
        name = self.asked.name
        if self._scope == "entities":
            return f"start: no entity is named {name!r} (names match exactly; find_memories_by_entity finds those alike)"
        below = ", ".join(row["path"] for row in await self._fetch("tags_below", name, _BELOW))
        alike = f"descendants are not included: {below}" if below else "list_tags finds those alike"
        return f"start: no tag is named {name!r} (names match exactly; {alike})"

    async def _newest(self, numbers: list[int]) -> StartOutcome:
        k = self.asked.k
        if self._scope == "entities" and len(numbers) == 1:
            rows = await self._fetch("newest_of_entity", numbers[0], k + 1)
        else:
            rows = await self._fetch(f"newest_of_{self._scope}", numbers, k + 1)
        ids = tuple(row["event_id"] for row in rows[:k])
        more = len(rows) > k
        report = msgspec.structs.replace(self._report(len(ids)), hub=more)
        if self.kind == "tag":
            report = msgspec.structs.replace(report, has_more=more, candidates=Candidates(len(rows), not more))
        return StartOutcome(ids, (None,) * len(ids), report, at_least=more)

    async def _closest(self, numbers: list[int]) -> StartOutcome:
        most = self.limits.exact_candidates
        rows = await self._fetch(f"measured_of_{self._scope}", numbers, self.vector, self.asked.k, most)
        if rows[0]["events"] > most:
            if await widen_scans(self.tx, self.budget):
                return await self._by_index(numbers)
            rows = await self._fetch(f"measured_of_{self._scope}", numbers, self.vector, self.asked.k, _WITHOUT_LIMIT)
        events, vectors = rows[0]["events"], rows[0]["vectors"]
        found = [row for row in rows if row["owner_id"] is not None]
        report = msgspec.structs.replace(
            self._report(len(found)),
            candidates=Candidates(vectors, True),
            has_more=vectors > len(found),
            scoped_mode="exact",
            filled=True,
        )
        return self._scored(found, report, unembedded=events - vectors)

    async def _by_index(self, numbers: list[int]) -> StartOutcome:
        (coverage,) = await self._fetch(f"coverage_of_{self._scope}", numbers)
        # Always as deep, so that the first of many are the same as those of few.
        rows = (await self._fetch(f"nearest_of_{self._scope}", numbers, self.vector, MAX_K_TEXT))[: self.asked.k]
        vectors = coverage["vectors"]
        filled = len(rows) >= min(self.asked.k, vectors)
        report = msgspec.structs.replace(
            self._report(len(rows)),
            candidates=Candidates(vectors, False),
            has_more=vectors > len(rows),
            scoped_mode="filtered_ann",
            filled=filled,
        )
        outcome = self._scored(rows, report, unembedded=coverage["events"] - vectors)
        return outcome if filled else self._unfilled(outcome)

    def _unfilled(self, outcome: StartOutcome) -> StartOutcome:
        cut = Truncation("start", "unfilled", f"the vector index gave {len(outcome.ids)} of {self.asked.k}")
        return msgspec.structs.replace(outcome, cuts=(*outcome.cuts, cut))
