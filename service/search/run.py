"""memory_query: one fused ranking over pages and events, by words, names, links and vectors.

In: projects that the caller may read, a request, for each project an embedder or none. Out: `SearchAnswer`. A stage that is cut or cannot
run is absent and said; the others answer. The query's vectors are made before any connection is held.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec
from msgspec import UNSET

from service.db.budget import Budget, Cut
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.db.transaction import Tx
from service.search.answer import STREAMS, Chosen, Found, Scope, SearchAnswer, Shown, Stream, Truncated, show_event, show_page
from service.search.candidates import Candidates, pack, rank_apart, unpack
from service.search.near import Scan, find_vectors, prepare
from service.search.parse import SearchRequest, SearchSettings
from service.search.plan import SearchPlan, plan_search
from service.search.rerank import Reranker
from service.search.rerank import rerank as judge
from service.search.snippets import Marks
from service.search.stages import (
    Facts,
    Stage,
    find_names,
    find_neighbours,
    find_seeds,
    find_words,
    fuse_one,
    order_all,
    read_facts,
    show,
)
from service.search.streams.fts import WordFacts, WordPlan, lift, limit_candidates, plan_words
from service.search.streams.vector import QueryEmbedder, QueryVector, embed_query, explain_absence, note_missing
from service.search.versions import MAX_PAGES, OldPage, find_in_old_pages, read_old_pages

T = TypeVar("T")
Key = tuple[int, bool, int]


async def memory_query(
    database: Database,
    projects: Sequence[ProjectRef],
    request: SearchRequest,
    *,
    embedders: Sequence[QueryEmbedder | None],
    settings: SearchSettings,
    reranker: Reranker | None = None,
) -> SearchAnswer:
    """Searches projects of which each must be readable by the caller, with the embedder that stands in its place, where equal ones are
    asked once; `scope.resolved_by` of the answer is the caller's to fill."""
    search = _Search(database, projects, plan_search(request), settings)
    judging = reranker is not None and request.rerank is not False
    if reranker is None and request.rerank:
        search.note("Not reranked: this server has no reranker; the fused order stands.")
    if judging:
        search.take = max(search.take, settings.judged)
    search.vectors = await embed_query(embedders, search.plan.to_embed, settings)
    search.budget = Budget(settings.deadline_ms, settings.statement_ms)  # embedders have a time of their own, and have had it
    for note in note_missing(search.vectors, [project.name for project in projects]):
        search.note(note)
    hits = await (search.search_one(projects[0]) if len(projects) == 1 else search.search_several())
    hits.sort(key=lambda hit: (-hit.fused, not hit.is_page, hit.place, -hit.id))
    if reranker is not None and judging:
        hits = await search.rerank(reranker, hits)
    return search.answer(hits)


class _Search:
    """One call: what its stages found, what was cut, what is to be said."""

    def __init__(self, database: Database, projects: Sequence[ProjectRef], plan: SearchPlan, settings: SearchSettings) -> None:
        self.database = database
        self.projects = projects
        self.plan = plan
        self.settings = settings
        self.vectors: Sequence[QueryVector] = ()
        self.spaces: dict[int, int] = {}  # of the projects whose vectors were searched, by their places
        self.budget = Budget(settings.deadline_ms, settings.statement_ms)
        self.found: dict[Stream, list[Candidates]] = {stream: [] for stream in STREAMS}
        self.active: set[Stream] = set()
        self.notes = dict.fromkeys(plan.notes)
        self.truncated: list[Truncated] = []
        self.pending = 0
        self.past: dict[Key, OldPage] = {}
        self.take = plan.limit
        self.scan = Scan(indexed=False, iterative=False)

    def note(self, text: str) -> None:
        self.notes[text] = None

    def stage(self, tx: Tx, place: int, *, unlimited: bool = False) -> Stage:
        return Stage(tx, place, self.plan, self.settings, None if unlimited else self.budget)

    @asynccontextmanager
    async def open(self, project: ProjectRef) -> AsyncGenerator[Tx]:
        """A transaction whose statements keep their plans: planning them anew costs more than running them."""
        async with self.database.read(project) as tx:
            self.scan = await prepare(tx, self.settings)
            yield tx

    async def attempt(self, streams: Sequence[Stream], asked: Awaitable[T]) -> T | None:
        """What a stage finds; None, with an entry for each stream that it costs, when it is cut."""
        try:
            result = await asked
        except Cut as cut:
            self.truncated += [Truncated(stream, cut.reason, f"The {stream} stream was {cut.message}.") for stream in streams]
            return None
        self.active.update(streams)
        return result

    async def search_one(self, project: ProjectRef) -> list[Chosen]:
        """All stages in one transaction."""
        async with self.open(project) as tx:
            stage = self.stage(tx, 1)
            facts = await self.attempt((), read_facts(stage))
            await self.gather(stage, facts, facts.words if facts else None)
            held = facts.held if facts else ()
            hits = await self.attempt(("graph",), fuse_one(stage, self.found, held, self.take))
            if hits is None:
                rows = await order_all(self.stage(tx, 1, unlimited=True), self.found, self.take)
                hits = await show(self.stage(tx, 1, unlimited=True), rows, {})
        return hits

    async def gather(self, stage: Stage, facts: Facts | None, counted: WordFacts | None) -> None:
        """The three streams that need no other: words, names, vectors."""
        held = facts.held if facts else ()
        if facts is None or counted is None:
            late = "The {} stream could not begin in time."
            self.truncated += [Truncated(name, "statement_timeout", late.format(name)) for name in ("fts", "entity")]
        else:
            past = self.plan.request.as_of is not None
            words = plan_words(self.plan.words, counted, self.settings, past=past)
            self.found["fts"] += await self.gather_words(stage, facts, words)
            for name, carried in facts.hubs.items():
                self.note(f"{name} takes part in {carried} events: the newest {self.settings.fan} were ranked by it.")
            names = await self.attempt(("entity",), find_names(stage, facts)) or []
            self.found["entity"] += names
            if any(part.itself for part in names):
                self.found["fts"] = pack(lift(unpack(self.found["fts"]), unpack(names)))
            if past:
                await self.gather_past(stage, words, held)
        await self.gather_vectors(stage, facts.words.documents if facts else 0, held)

    async def gather_words(self, stage: Stage, facts: Facts, words: WordPlan | None) -> list[Candidates]:
        """The text match, and what was cut of it."""
        if words is None:
            self.active.add("fts")
            return []
        for text in words.notes:
            self.note(text)
        after = limit_candidates(words, facts.words, facts.last, self.settings)
        if after:
            most = self.settings.max_candidates
            self.truncated.append(Truncated("fts", "row_budget", f"The words are common: about the newest {most} passages were ranked."))
        return await self.attempt(("fts",), find_words(stage, words, after, facts.held)) or []

    async def gather_past(self, stage: Stage, words: WordPlan | None, held: Sequence[int]) -> None:
        """Text matches in pages as they were at `as_of`."""
        pages = await self.attempt((), read_old_pages(stage, held)) or []
        if len(pages) > MAX_PAGES:
            self.truncated.append(Truncated("fts", "row_budget", f"More than {MAX_PAGES} pages have changed since `as_of`."))
            pages = pages[:MAX_PAGES]
        if pages:
            self.found["fts"] += pack(await self.attempt(("fts",), find_in_old_pages(stage, pages, words)) or [])
            self.past.update({(stage.place, True, page.id): page for page in pages})

    async def gather_vectors(self, stage: Stage, documents: int, held: Sequence[int]) -> None:
        """The vector stream, when the query has a vector in the project's space."""
        if not self.plan.to_embed:
            return
        vector, space = self.vectors[stage.place - 1], stage.tx.space
        absence = explain_absence(space, vector.space, stage.tx.project.name)
        if absence:
            self.note(absence)
        if absence or space is None or vector.text is None:
            return
        self.spaces[stage.place] = space.id
        near = await self.attempt(("vector",), find_vectors(stage, self.scan, vector.text, documents, held))
        if near is not None:
            self.found["vector"] += near.candidates
            self.pending += near.pending
            self.truncated += [near.cut] if near.cut else []

    async def search_several(self) -> list[Chosen]:
        """Stage by stage over the projects: each in a transaction of its own, the fusion over all of them."""
        facts: list[Facts | None] = []
        for place, project in enumerate(self.projects, 1):
            async with self.open(project) as tx:
                facts.append(await self.attempt((), read_facts(self.stage(tx, place))))
        counted = _sum_facts([fact.words for fact in facts if fact])
        for place, (project, fact) in enumerate(zip(self.projects, facts, strict=True), 1):
            async with self.open(project) as tx:
                await self.gather(self.stage(tx, place), fact, counted)
        return await self.fuse_several(facts) if any(self.found.values()) else []

    async def fuse_several(self, facts: Sequence[Facts | None]) -> list[Chosen]:
        """Neighbours project by project, one fused order, and what is shown project by project."""
        found = dict(self.found)
        if len(set(self.spaces.values())) > 1:  # cosines of two spaces say nothing of each other, ranks do
            found["vector"] = await asyncio.to_thread(rank_apart, found["vector"], self.spaces)
        async with self.open(self.projects[0]) as tx:
            seeds = await self.attempt(("graph",), find_seeds(self.stage(tx, 1), found)) or []
        neighbours: list[Found] = []
        for place, (project, fact) in enumerate(zip(self.projects, facts, strict=True), 1):
            mine = [seed for seed in seeds if seed.place == place]
            if mine:
                async with self.open(project) as tx:
                    step = find_neighbours(self.stage(tx, place), mine, fact.held if fact else ())
                    neighbours += await self.attempt(("graph",), step) or []
        found["graph"] = pack(neighbours)
        async with self.open(self.projects[0]) as tx:
            rows = await order_all(self.stage(tx, 1, unlimited=True), found, self.take)
        graph = _by_key(neighbours)
        hits: list[Chosen] = []
        for place, project in enumerate(self.projects, 1):
            if any(row["place"] == place for row in rows):
                async with self.open(project) as tx:
                    hits += await show(self.stage(tx, place, unlimited=True), rows, graph)
        return hits

    async def rerank(self, reranker: Reranker, hits: list[Chosen]) -> list[Chosen]:
        """The judged first, by their scores; the rest follow in the fused order."""
        first = hits[: self.settings.judged]
        if len(first) < 2:
            return hits
        judged = await judge(reranker, self.plan.words.plain, [hit.text for hit in first], self.settings.rerank_ms)
        if judged.note:
            self.note(judged.note)
            return hits
        scored = [_with_score(first[place], judged.scores[place]) for place in judged.order]
        return [*scored, *hits[len(first) :]]

    def answer(self, hits: Sequence[Chosen]) -> SearchAnswer:
        """The lists, each up to the limit, and what is to be said."""
        if self.pending:
            self.note(f"{self.pending} passages have no vector yet; words, names and links found them all the same.")
        settings, explain = self.settings, self.plan.request.explain
        shown = Shown(
            projects=[project.name for project in self.projects],
            marks=Marks.of(self.plan.words),
            weights={stream: getattr(settings, f"{stream}_weight") for stream in STREAMS},
            k=settings.k,
            found={stream: _by_key(unpack(self.found[stream])) for stream in STREAMS} if explain else {},
            explain=explain,
        )
        limit = self.plan.limit
        hits = [_as_it_was(hit, self.past.get((hit.place, hit.is_page, hit.id))) for hit in hits]
        counts: Mapping[str, int] = {stream: sum(part.count for part in self.found[stream]) for stream in STREAMS if stream != "graph"}
        return SearchAnswer(
            hits=[show_page(hit, shown) for hit in [hit for hit in hits if hit.is_page][:limit]],
            raw_hits=[show_event(hit, shown) for hit in [hit for hit in hits if not hit.is_page][:limit]],
            scope=Scope(self.projects[0].workspace if self.projects else "", list(shown.projects), ""),
            streams_active=[stream for stream in STREAMS if stream in self.active],
            partial=bool(self.truncated),
            truncated=self.truncated,
            notes=list(self.notes),
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
    return WordFacts(frequencies, beginnings, sum(fact.documents for fact in facts), sum(fact.words for fact in facts))
