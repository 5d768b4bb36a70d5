"""The statements of memory_query, one function each, within a transaction in one project.

In: a transaction, the plan, what earlier stages found. Out: `Found` by stream, `Chosen` in the fused order. Each raises `Cut` when its
time is over, which costs only that stage.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from service.db.budget import Budget
from service.db.transaction import Tx
from service.search.answer import Chosen, Found, Stream
from service.search.candidates import Candidates, Streams, candidate_values, read_packed
from service.search.compile import (
    Compiled,
    compile_facts,
    compile_fusion,
    compile_names,
    compile_neighbours,
    compile_order,
    compile_seeds,
    compile_shown,
    compile_words,
)
from service.search.parse import SearchSettings
from service.search.plan import SearchPlan
from service.search.streams.entity import choose_starts, is_telling, started_values
from service.search.streams.fts import WordFacts, WordPlan
from service.search.streams.graph import Seed, fusion_values, graph_values, seed_values


class Facts(msgspec.Struct, frozen=True):
    """What a project says of the query: its words, the entities and tags it spells, the tags it is held to.

    `last` is its last passage, `hubs` are spelled entities with more events than are ranked by them.
    """

    words: WordFacts
    last: int
    entities: Mapping[int, str]
    tags: Mapping[int, str]
    held: tuple[int, ...]
    hubs: Mapping[str, int]


class Stage(msgspec.Struct, frozen=True):
    """Where a stage runs: its transaction, the number of the project, what is asked, and the time it has."""

    tx: Tx
    place: int
    plan: SearchPlan
    settings: SearchSettings
    budget: Budget | None

    async def ask(self, statement: Compiled, values: Mapping[str, Any]) -> list[Any]:
        """Runs a statement with the filters' values and these."""
        return await self.tx.fetch(statement.sql, *statement.bind({**self.plan.values, **values}), budget=self.budget)


def unlimited(stage: Stage) -> Stage:
    """The same without a time of its own: what was found is shown though the search's time is over."""
    return msgspec.structs.replace(stage, budget=None)


async def read_facts(stage: Stage) -> Facts:
    """How rare the words are, and which names are spelled exactly."""
    reading, dated = stage.plan.reading, stage.plan.words.moments is not None
    settings = stage.settings
    values = {**reading.facts, "fan": settings.fan, "forms": settings.forms, "counted": settings.max_candidates}
    more = (*(("facts_forms",) if reading.facts_forms else ()), *(("facts_dated",) if dated else ()))
    kinds = ("word", "start", "documents", "length", "last", "entity", "tag", "held", "hub", "dated")
    topics: dict[str, dict[Any, Any]] = {name: {} for name in kinds}
    for row in await stage.ask(compile_facts(more), values):
        topic, key, number = row
        if topic in ("entity", "tag", "held"):
            topics[topic][number] = key
        else:
            topics[topic][key] = number
    documents, length, of_then = (topics[topic].get(None, 0) for topic in ("documents", "length", "dated"))
    counted = WordFacts(topics["word"], topics["start"], documents, length, of_then)
    return Facts(counted, topics["last"].get(None, 0), topics["entity"], topics["tag"], tuple(topics["held"]), topics["hub"])


async def find_words(stage: Stage, words: WordPlan, after: int, held: Sequence[int]) -> list[Candidates]:
    """The `fts` stream, over the passages after one that `limit_candidates` gives."""
    values = {**words.values(stage.settings), "after": after, "held": held}
    rows = await stage.ask(compile_words(stage.plan.filters, words.shape), values)
    found = zip(read_packed(stage.place, rows), rows, strict=True)
    return [msgspec.structs.replace(candidates, held=row["held"] or 0.0) for candidates, row in found]


async def find_names(stage: Stage, facts: Facts, candidates: str | None, *, texts: bool = True) -> list[Candidates]:
    """The `entity` stream; `candidates` is the tsquery by which texts are chosen, where any are. Not `texts`: they could not be read."""
    names = stage.plan.names
    frequencies = dict(facts.words.frequencies)
    of_time = stage.plan.words.moments.words if stage.plan.words.moments else frozenset()
    values = {
        **names.values(),
        "entities": list(facts.entities),
        "telling": [number for number, name in facts.entities.items() if is_telling(name)],
        "tag_ids": list(facts.tags),
        **started_values(choose_starts(names, (*facts.entities.values(), *facts.tags.values()), frequencies, of_time)),
        "started": stage.settings.started,
        "fan": stage.settings.fan,
        "held": facts.held,
        "rare": stage.settings.rare,
        "candidates": candidates,
        "stream_size": stage.settings.stream_size,
    }
    explain = stage.plan.request.explain
    rows = await stage.ask(compile_names(stage.plan.name_filters, explain, texts), values)
    return [_named(row, candidates, explain, texts) for row, candidates in zip(rows, read_packed(stage.place, rows), strict=True)]


def _named(row: Any, candidates: Candidates, explain: bool, texts: bool) -> Candidates:
    matched = msgspec.json.decode(row["matched"], type=list[list[str]]) if explain else ()
    untold = tuple(row["untold"] or ()) if texts else ()
    return msgspec.structs.replace(candidates, itself=tuple(row["itself"] or ()), untold=untold, names=matched)


async def fuse_one(stage: Stage, found: Streams, weights: Mapping[Stream, float], held: Sequence[int], take: int) -> list[Chosen]:
    """For one project: neighbours, fusion and what is shown, in one statement."""
    fusion = fusion_values(stage.settings, weights)
    values = {**candidate_values(found), **fusion, **graph_values(stage.settings), "take": take, "held": held}
    explain = stage.plan.request.explain
    rows = await stage.ask(compile_fusion(stage.plan.filters, explain), values)
    return [_chosen(stage.place, row, row, _steps(row, explain)) for row in rows]


async def find_seeds(stage: Stage, found: Streams, weights: Mapping[Stream, float]) -> list[Seed]:
    """For several projects: where the graph stream starts."""
    values = {**candidate_values(found), **fusion_values(stage.settings, weights), "seeds": stage.settings.seeds}
    return [Seed(row["place"], row["is_page"], row["id"], row["fused"]) for row in await stage.ask(compile_seeds(), values)]


async def find_neighbours(stage: Stage, seeds: Sequence[Seed], held: Sequence[int]) -> list[Found]:
    """For several projects: the `graph` stream in this one."""
    values = {**seed_values(seeds), **graph_values(stage.settings), "held": held}
    explain = stage.plan.request.explain
    rows = await stage.ask(compile_neighbours(stage.plan.filters, explain), values)
    return [Found(stage.place, row["is_page"], row["id"], None, row["score"], _steps(row, explain)) for row in rows]


def _steps(row: Any, explain: bool) -> tuple[str, ...]:
    """How the graph stream came to it, where that was asked for."""
    return tuple(row["via"] or ()) if explain else ()


async def order_all(stage: Stage, found: Streams, weights: Mapping[Stream, float], take: int) -> list[Any]:
    """For several projects: the fused order, without what is shown."""
    values = {**candidate_values(found), **fusion_values(stage.settings, weights), "take": take}
    return await stage.ask(compile_order(stage.plan.request.explain), values)


async def show(stage: Stage, rows: Sequence[Any], graph: Mapping[tuple[int, bool, int], Found]) -> list[Chosen]:
    """For several projects: what is shown of this one's hits."""
    mine = {(row["is_page"], row["id"]): row for row in rows if row["place"] == stage.place}
    values = {
        "chosen_pages": [is_page for is_page, _ in mine],
        "chosen_ids": [number for _, number in mine],
        "chosen_passages": [row["passage"] for row in mine.values()],
    }
    shown = await stage.ask(compile_shown(), values)
    hits: list[Chosen] = []
    for row in shown:
        step = graph.get((stage.place, row["is_page"], row["id"]))
        hits.append(_chosen(stage.place, mine[row["is_page"], row["id"]], row, step.names if step else ()))
    return hits


def _chosen(place: int, order: Any, row: Any, via: tuple[str, ...]) -> Chosen:
    return Chosen(
        place=place,
        is_page=order["is_page"],
        id=order["id"],
        fused=order["fused"],
        order=order,
        row=row,
        via=via,
    )
