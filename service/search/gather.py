"""What is found in one project by the three streams that need no other: words, names, vectors.

In: a stage of that project, what the project says of the words, the query's vector. Out: `Findings`: candidates by stream, what was cut,
what is to be said. Those of several projects are added up in the order of the projects, however they came.
"""

from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Final, TypeVar

import structlog

from service.db.budget import Cut, StatementFailed
from service.search.answer import STREAMS, Stream, Truncated
from service.search.candidates import Candidates, lift, pack, tell
from service.search.forms import add_forms
from service.search.near import Scan, find_vectors
from service.search.stages import Facts, Stage, find_names, find_words
from service.search.streams.fts import WordFacts, WordPlan, limit_candidates, measure_query, plan_words, weigh_name
from service.search.streams.vector import QueryVector, explain_absence
from service.search.versions import MAX_PAGES, OldPage, find_in_old_pages, read_old_pages
from service.search.word_query import Term

T = TypeVar("T")
Key = tuple[int, bool, int]
_FEW: Final = 10  # of so many passages one may be without a vector while vectors are held against text matches
_LOG: Final = structlog.stdlib.get_logger("muniment.search")


class Findings:
    """Candidates by stream, the streams that answered, notes, cuts; `spaces` of the projects whose vectors were searched, by their places.

    `held_whole` is what a text would score that held the whole query; `documents` are the passages of the projects whose vectors were
    searched, and `pending` those of them that have none. `where` is the project's name, for what is said, in a search over several.
    """

    def __init__(self, where: str | None = None) -> None:
        self._where = f" in {where}" if where else ""
        self.found: dict[Stream, list[Candidates]] = {stream: [] for stream in STREAMS}
        self.active: set[Stream] = set()
        self.notes: dict[str, None] = {}
        self.marked: dict[Term, None] = {}
        self.truncated: dict[Truncated, None] = {}
        self.pending = 0
        self.documents = 0
        self.held_whole = 0.0
        self.past: dict[Key, OldPage] = {}
        self.spaces: dict[int, int] = {}

    def note(self, text: str) -> None:
        self.notes[text] = None

    def cut(self, stream: str, reason: str, detail: str) -> None:
        self.truncated[Truncated(stream, reason, detail)] = None

    def add(self, more: "Findings") -> None:
        """Takes in what was found elsewhere, after what is here."""
        for stream, candidates in more.found.items():
            self.found[stream] += candidates
        self.active |= more.active
        self.notes |= more.notes
        self.marked |= more.marked
        self.truncated |= more.truncated
        self.pending += more.pending
        self.documents += more.documents
        self.held_whole = max(self.held_whole, more.held_whole)
        self.past |= more.past
        self.spaces |= more.spaces

    @property
    def comparable(self) -> bool:
        """Whether text matches and vectors can be held against each other: both answered, of one space, and few vectors are missing."""
        answered = {"fts", "vector"} <= self.active and len(set(self.spaces.values())) == 1
        return answered and self.pending * _FEW <= self.documents

    async def attempt(self, streams: Sequence[Stream], asked: Awaitable[T], *, last: bool = True) -> T | None:
        """What a stage finds; None when it is cut, which is said for each stream that it costs, or fails, which the log is told too.

        `last`: with it the streams have answered.
        """
        try:
            result = await asked
        except Cut as cut:
            self.cut_streams(streams, cut)
            return None
        except StatementFailed as failure:
            _LOG.error("stream failed", streams=list(streams), error=failure.kind, sqlstate=failure.sqlstate)
            for stream in streams:
                self.note(f"The {stream} stream failed in the database and is absent{self._where}; the server's log has the kind of error.")
            return None
        if last:
            self.active.update(streams)
        return result

    def cut_streams(self, streams: Sequence[Stream], cut: Cut) -> None:
        """Says of each stream that it was stopped."""
        for stream in streams:
            self.cut(stream, cut.reason, f"The {stream} stream was {cut.message}{self._where}.")


async def gather(
    findings: Findings, stage: Stage, scan: Scan, vector: QueryVector, facts: Facts | None, counted: WordFacts | None = None
) -> None:
    """Searches one project; `counted` are the words of all projects where there are several. Without `facts` by its vectors alone."""
    if facts is not None:
        await _gather_texts(findings, stage, facts, counted or facts.words)
    if stage.plan.to_embed:
        await _gather_vectors(findings, stage, scan, vector, facts)


async def _gather_texts(findings: Findings, stage: Stage, facts: Facts, counted: WordFacts) -> None:
    past = stage.plan.request.as_of is not None
    query = add_forms(stage.plan.words, counted.frequencies, counted.documents)
    findings.marked.update(dict.fromkeys(query.terms))
    words = plan_words(query, counted, stage.settings, past=past)
    findings.found["fts"] += await _gather_words(findings, stage, facts, words)
    findings.held_whole = measure_query(query, counted)
    for name, carried in facts.hubs.items():
        findings.note(f"{name} takes part in {carried} events: the newest {stage.settings.fan} were ranked by it.")
    texts = "fts" in findings.active
    names = await findings.attempt(("entity",), find_names(stage, facts, words.candidates if words else None, texts=texts)) or []
    findings.found["entity"] += names
    if any(part.itself for part in names):
        findings.found["fts"] = lift(findings.found["fts"], names)
    if any(part.untold for part in names):
        weigh = partial(weigh_name, documents=counted.documents)
        findings.found["fts"] = tell(findings.found["fts"], names, weigh, stage.settings.stream_size)
    if past:
        await _gather_past(findings, stage, words, facts.held)


async def _gather_words(findings: Findings, stage: Stage, facts: Facts, words: WordPlan | None) -> list[Candidates]:
    """The text match, and what was cut of it."""
    if words is None:
        findings.active.add("fts")
        return []
    for text in words.notes:
        findings.note(text)
    after = limit_candidates(words, facts.words, facts.last, stage.settings)
    if after:
        most = stage.settings.max_candidates
        findings.cut("fts", "row_budget", f"The words are common: about the newest {most} passages were ranked.")
    return await findings.attempt(("fts",), find_words(stage, words, after, facts.held)) or []


async def _gather_past(findings: Findings, stage: Stage, words: WordPlan | None, held: Sequence[int]) -> None:
    """Text matches in pages as they were at `as_of`."""
    old = await findings.attempt((), read_old_pages(stage, held))
    if old is None:
        return
    if old.more:
        findings.cut("fts", "row_budget", f"More than {MAX_PAGES} pages have changed since `as_of`.")
    if old.lost:
        findings.note(f"Left out, since their version of `as_of` is not kept any more: {old.lost} of the pages that changed most often.")
    if old.pages:
        findings.found["fts"] += pack(await findings.attempt(("fts",), find_in_old_pages(stage, old.pages, words)) or [])
        findings.past.update({(stage.place, True, page.id): page for page in old.pages})


async def _gather_vectors(findings: Findings, stage: Stage, scan: Scan, vector: QueryVector, facts: Facts | None) -> None:
    """The vector stream, when the query has a vector in the project's space."""
    space = stage.tx.space
    absence = explain_absence(space, vector.space, stage.tx.project.name)
    if absence:
        findings.note(absence)
    if absence or space is None or vector.text is None:
        return
    findings.spaces[stage.place] = space.id
    documents, held = (facts.words.documents, facts.held) if facts else (0, ())
    near = await findings.attempt(("vector",), find_vectors(stage, scan, vector.text, documents, held))
    if near is not None:
        findings.found["vector"] += near.candidates
        findings.pending += near.pending
        findings.documents += documents
        if near.cut:
            findings.truncated[near.cut] = None
