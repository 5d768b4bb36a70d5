"""memory_query: one fused ranking over pages and events, by words, names, links and vectors.

In: projects that the caller may read, a request, for each project an embedder or none. Out: `SearchAnswer`. A stage that is cut or cannot
run is absent and said; the others answer. The query's vectors are made before any connection is held.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET

from service.db.abreast import do_abreast
from service.db.budget import Budget, Cut
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.errors import NotFound
from service.search.answer import STREAMS, Chosen, Found, Scope, SearchAnswer, Shown, Stream, show_event, show_page
from service.search.candidates import Candidates, Streams, pack, rank_apart, unpack
from service.search.forms import show_forms
from service.search.gather import Findings, Key, gather
from service.search.near import Scan, opening, scan_of
from service.search.parse import SearchRequest, SearchSettings
from service.search.plan import SearchPlan, plan_search
from service.search.rerank import Reranker
from service.search.rerank import rerank as judge
from service.search.snippets import Marks
from service.search.stages import Facts, Stage, find_neighbours, find_seeds, fuse_one, order_all, read_facts, show, unlimited
from service.search.streams.fts import WordFacts
from service.search.streams.vector import QueryEmbedder, QueryVector, embed_query, note_missing
from service.search.versions import OldPage
from service.search.weights import set_weights, weigh_streams

_LONG: Final = 2_000  # characters of a query

T = TypeVar("T")
Asking: TypeAlias = Callable[[Findings, Stage, Scan], Awaitable[T | None]]


async def memory_query(
    database: Database,
    projects: Sequence[ProjectRef],
    request: SearchRequest,
    *,
    embedders: Sequence[QueryEmbedder | None],
    settings: SearchSettings,
    reranker: Reranker | None = None,
    named: bool = True,
) -> SearchAnswer:
    """Searches projects of which each must be readable by the caller, with the embedder that stands in its place, where equal ones are
    asked once; `scope.resolved_by` of the answer is the caller's to fill.

    Raises `NotFound` for a project that is deleted meanwhile, if the projects were `named`; among those that were not it is left out.
    """
    # A long text takes a while to read: other calls go on meanwhile.
    plan = await asyncio.to_thread(plan_search, request) if len(request.query) > _LONG else plan_search(request)
    search = _Search(database, projects, plan, settings, named=named)
    judging = reranker is not None and request.rerank is not False
    if reranker is None and request.rerank:
        search.findings.note("Not reranked: this server has no reranker; the fused order stands.")
    if judging:
        search.take = max(search.take, settings.judged)
    search.vectors = await embed_query(embedders, search.plan.to_embed, settings)
    search.budget = Budget(settings.deadline_ms, settings.statement_ms)  # embedders have a time of their own, and have had it
    for note in note_missing(search.vectors, [project.name for project in projects]):
        search.findings.note(note)
    hits = await (search.search_one() if len(projects) == 1 else search.search_several())
    hits.sort(key=lambda hit: (-hit.fused, not hit.is_page, hit.place, -hit.id))
    if reranker is not None and judging:
        hits = await search.rerank(reranker, hits)
    return search.answer(hits)


class _Search:
    """One call: what its stages found, what was cut, what is to be said."""

    def __init__(
        self, database: Database, projects: Sequence[ProjectRef], plan: SearchPlan, settings: SearchSettings, *, named: bool
    ) -> None:
        self.database = database
        self.projects = projects
        self.places = range(1, len(projects) + 1)
        self.named = named
        self.gone: set[int] = set()  # places of projects that were deleted meanwhile
        self.plan = plan
        self.settings = settings
        self.vectors: Sequence[QueryVector] = ()
        self.budget = Budget(settings.deadline_ms, settings.statement_ms)
        self.findings = Findings()
        self.take = plan.limit
        self.weights = set_weights(plan, settings)
        for note in plan.notes:
            self.findings.note(note)

    @asynccontextmanager
    async def open(self, place: int, *, limited: bool = True) -> AsyncGenerator[tuple[Stage, Scan]]:
        """A transaction in a project that is ready for the first stage; one that is not `limited` goes on when time is over."""
        iterative, budget = self.database.iterative, self.budget if limited else None
        async with self.database.read(self.projects[place - 1], opening=opening(self.settings, budget, iterative=iterative)) as tx:
            yield Stage(tx, place, self.plan, self.settings, budget), scan_of(tx, iterative=iterative)

    def weigh(self, found: Streams) -> None:
        """What each stream counts from here on, where what they found can be compared."""
        if self.findings.comparable:
            self.weights = weigh_streams(self.plan, found, self.findings.held_whole, self.settings)

    async def search_one(self) -> list[Chosen]:
        """All stages in one transaction."""
        findings = self.findings
        async with self.open(1) as (stage, scan):
            facts = await findings.attempt(("fts", "entity"), read_facts(stage), last=False)
            await gather(findings, stage, scan, self.vectors[0], facts)
            held = facts.held if facts else ()
            self.weigh(findings.found)
            hits = await findings.attempt(("graph",), fuse_one(stage, findings.found, self.weights, held, self.take))
            if hits is None:
                rows = await order_all(unlimited(stage), findings.found, self.weights, self.take)
                hits = await show(unlimited(stage), rows, {})
        return hits

    async def each(self, places: Sequence[int], streams: Sequence[Stream], ask: Asking[T]) -> list[T | None]:
        """Asks projects, each in a transaction of its own, a few at a time; what is found is added up in their order.

        The streams of those whose turn does not come in time are cut, without a connection for it.
        """

        async def one(place: int) -> tuple[Findings, T | None]:
            findings = Findings(self.projects[place - 1].name)
            if self.budget.remaining_ms() <= 0:
                findings.cut_streams(streams, Cut("deadline"))
                return findings, None
            asked = await self.unless_gone(place, lambda stage, scan: ask(findings, stage, scan))
            return (Findings(), None) if place in self.gone else (findings, asked)

        answers = await do_abreast(places, one, self.database.few)
        for findings, _ in answers:
            self.findings.add(findings)
        return [answer for _, answer in answers]

    async def unless_gone(self, place: int, ask: Callable[[Stage, Scan], Awaitable[T]], *, limited: bool = True) -> T | None:
        """What is found in a project; None for one that was deleted meanwhile, where it was not named."""
        if place in self.gone:
            return None
        try:
            async with self.open(place, limited=limited) as (stage, scan):
                return await ask(stage, scan)
        except NotFound:
            if self.named:
                raise
            self.gone.add(place)
            self.findings.note(f"{self.projects[place - 1].name} was deleted while it was searched.")
            return None

    async def anywhere(self, ask: Callable[[Stage, Scan], Awaitable[T]], *, limited: bool = True) -> T | None:
        """What is found by a statement that reads no project, in the first that is there; None where all were deleted."""
        for place in self.places:
            found = await self.unless_gone(place, ask, limited=limited)
            if place not in self.gone:
                return found
        return None

    async def search_several(self) -> list[Chosen]:
        """Stage by stage over the projects, the fusion over all of them."""

        async def begin(findings: Findings, stage: Stage, _: Scan) -> Facts | None:
            return await findings.attempt(("fts", "entity"), read_facts(stage), last=False)

        facts = await self.each(self.places, ("fts", "entity"), begin)
        counted = _sum_facts([fact.words for fact in facts if fact])

        async def search(findings: Findings, stage: Stage, scan: Scan) -> None:
            await gather(findings, stage, scan, self.vectors[stage.place - 1], facts[stage.place - 1], counted)

        await self.each(self.places, ("fts", "entity", "vector"), search)
        return await self.fuse_several(facts) if any(self.findings.found.values()) else []

    async def fuse_several(self, facts: Sequence[Facts | None]) -> list[Chosen]:
        """Neighbours project by project, one fused order, and what is shown project by project."""
        spaces = self.findings.spaces
        found: dict[Stream, list[Candidates]] = {
            stream: [part for part in parts if part.place not in self.gone] for stream, parts in self.findings.found.items()
        }
        if len(set(spaces.values())) > 1:  # cosines of two spaces say nothing of each other, ranks do
            found["vector"] = await asyncio.to_thread(rank_apart, found["vector"], spaces)
        self.weigh(found)
        seeds = await self.anywhere(lambda stage, _: self.findings.attempt(("graph",), find_seeds(stage, found, self.weights))) or []

        async def step(findings: Findings, stage: Stage, _: Scan) -> list[Found] | None:
            mine, fact = [seed for seed in seeds if seed.place == stage.place], facts[stage.place - 1]
            return await findings.attempt(("graph",), find_neighbours(stage, mine, fact.held if fact else ()))

        reached = await self.each(sorted({seed.place for seed in seeds}), ("graph",), step)
        neighbours = [each for some in reached for each in some or ()]
        found["graph"] = pack(neighbours)
        rows = await self.anywhere(lambda stage, _: order_all(stage, found, self.weights, self.take), limited=False) or []
        graph = _by_key(neighbours)

        async def shown(place: int) -> list[Chosen]:
            return await self.unless_gone(place, lambda stage, _: show(stage, rows, graph), limited=False) or []

        hits = await do_abreast(sorted({row["place"] for row in rows}), shown, self.database.few)
        return [hit for some in hits for hit in some]

    async def rerank(self, reranker: Reranker, hits: list[Chosen]) -> list[Chosen]:
        """The judged first, by their scores; the rest follow in the fused order."""
        first = hits[: self.settings.judged]
        if len(first) < 2:
            return hits
        judged = await judge(reranker, self.plan.words.plain, [hit.text for hit in first], self.settings.rerank_ms)
        if judged.note:
            self.findings.note(judged.note)
            return hits
        scored = [_with_score(first[place], judged.scores[place]) for place in judged.order]
        return [*scored, *hits[len(first) :]]

    def note_absence(self, hits: Sequence[Chosen]) -> None:
        """What is not there, as far as nothing was cut and texts and names have answered."""
        if not hits and self.plan.filters:
            self.findings.note(f"Nothing that matches passes the filters: {', '.join(self.plan.asked)}.")
        elif self.plan.words.terms and not (self.findings.found["fts"] or self.findings.found["entity"]):
            self.findings.note("No text and no name holds a word of the query: what is listed is near it in meaning, at best.")

    def answer(self, hits: Sequence[Chosen]) -> SearchAnswer:
        """The lists, each up to the limit, and what is to be said."""
        findings = self.findings
        if findings.pending:
            findings.note(f"{findings.pending} passages have no vector yet; words, names and links found them all the same.")
        explain = self.plan.request.explain
        shown = Shown(
            projects=[project.name for project in self.projects],
            marks=Marks.of(show_forms(self.plan.words, findings.marked)),
            weights=self.weights,
            k=self.settings.k,
            found={stream: _by_key(unpack(findings.found[stream])) for stream in STREAMS} if explain else {},
            explain=explain,
        )
        limit = self.plan.limit
        if {"fts", "entity"} <= findings.active and not findings.truncated:
            self.note_absence(hits)
        hits = [_as_it_was(hit, findings.past.get((hit.place, hit.is_page, hit.id))) for hit in hits]
        counts: Mapping[str, int] = {stream: sum(part.count for part in findings.found[stream]) for stream in STREAMS if stream != "graph"}
        return SearchAnswer(
            hits=[show_page(hit, shown) for hit in [hit for hit in hits if hit.is_page][:limit]],
            raw_hits=[show_event(hit, shown) for hit in [hit for hit in hits if not hit.is_page][:limit]],
            scope=Scope(self.projects[0].workspace if self.projects else "", list(shown.projects), ""),
            streams_active=[stream for stream in STREAMS if stream in findings.active],
            partial=bool(findings.truncated),
            truncated=list(findings.truncated),
            notes=list(findings.notes),
            stream_counts=dict(counts) if explain else UNSET,
        )


def _by_key(found: Sequence[Found]) -> dict[Key, Found]:
    return {(item.place, item.is_page, item.id): item for item in found}


def _with_score(hit: Chosen, score: float) -> Chosen:
    return msgspec.structs.replace(hit, rerank_score=score)


def _as_it_was(hit: Chosen, page: OldPage | None) -> Chosen:
    return hit if page is None else msgspec.structs.replace(hit, row={**dict(hit.row), **page.shown})


def _sum_facts(facts: Sequence[WordFacts]) -> WordFacts:
    """Documents and frequencies of all projects together, so that scores of different projects can be compared."""
    frequencies: dict[str, int] = {}
    beginnings: dict[str, int] = {}
    for fact in facts:
        for word, number in fact.frequencies.items():
            frequencies[word] = frequencies.get(word, 0) + number
        for word, number in fact.beginnings.items():
            beginnings[word] = beginnings.get(word, 0) + number
    return WordFacts(
        frequencies, beginnings, sum(fact.documents for fact in facts), sum(fact.words for fact in facts), sum(fact.dated for fact in facts)
    )
