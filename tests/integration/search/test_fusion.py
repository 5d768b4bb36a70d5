"""One fused ranking: streams, ranks, ties, filters, several projects."""

import asyncio
import math
import random
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.search.parse import SearchSettings
from tests.conftest import Memory, Projects
from tests.integration.search.conftest import Ask, FixedEmbedder, events, paths

STREAMS = ("fts", "entity", "graph", "vector")


async def test_names_find_what_carries_them_rarest_first(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    saved = await memory.save(
        project,
        [
            {"summary": "one", "entities": [("Ledger Service", "component")]},
            {"summary": "two", "entities": [("Ledger Service", "component"), ("Ada", "person")]},
            {"summary": "three", "tags": ["ops/ledger"]},
            {"summary": "four"},
        ],
    )
    exact = await ask(project, "what about Ledger Service and Ada", explain=True)
    assert events(exact)[:2] == [saved[1], saved[0]]
    assert exact.raw_hits[0].explain.matched_entities == ["Ada", "Ledger Service"]
    assert exact.raw_hits[0].explain.entity_rank == 1
    assert saved[0] in events(await ask(project, "ledg"))
    assert saved[0] in events(await ask(project, "servi"))
    assert saved[2] in events(await ask(project, "ops/ledger"))


async def test_ids_paths_titles_and_sessions_are_found_exactly(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    saved = await memory.save(project, [{"summary": "quiet", "session": "night-shift"}, {"summary": "mentions evt_1 and notes/plan.md"}])
    page = await memory.page(project, "notes/plan.md", "Harvest Plan", "Nothing of the kind.")
    for number in range(3):
        await memory.page(project, f"other{number}.md", f"Other {number}", "The harvest plan of the harvest: plan the harvest plan.")
    assert events(await ask(project, "evt_1"))[0] == saved[0]
    assert (await ask(project, page.page_id)).hits[0].path == "notes/plan.md"
    assert paths(await ask(project, "notes/plan.md"))[0] == "notes/plan.md"
    assert paths(await ask(project, "harvest plan"))[0] == "notes/plan.md"
    by_name = await ask(project, "night-shift")
    assert saved[0] in events(by_name)
    assert by_name.raw_hits[0].session == "night-shift"
    session_id = next(hit.session_id for hit in by_name.raw_hits if hit.id == saved[0])
    assert saved[0] in events(await ask(project, str(session_id)))


def _cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


async def test_vectors_rank_as_an_exact_scan(projects: Projects, memory: Memory, ask: Ask) -> None:
    project = projects.make(dim=8)
    random.seed(7)
    vectors = [[random.gauss(0, 1) for _ in range(8)] for _ in range(60)]
    saved = await memory.save(project, [{"summary": f"plain {number}"} for number in range(60)])
    await memory.vectors(project, dict(zip(saved, vectors, strict=True)))
    asked = [random.gauss(0, 1) for _ in range(8)]
    answer = await ask(project, "something else entirely", embed=FixedEmbedder(asked), limit=60, explain=True)
    expected = sorted(((_cosine(asked, vector), event) for event, vector in zip(saved, vectors, strict=True)), reverse=True)
    ranked = sorted((hit for hit in answer.raw_hits if hit.explain.vector_rank), key=lambda hit: hit.explain.vector_rank)
    assert [hit.id for hit in ranked] == [event for _, event in expected]
    assert [hit.explain.cosine for hit in ranked] == pytest.approx([cosine for cosine, _ in expected], abs=2e-3)
    assert [hit.explain.vector_rank for hit in ranked] == list(range(1, 61))
    assert answer.streams_active == list(STREAMS)
    assert all(hit.summary and hit.snippet == hit.summary for hit in answer.raw_hits)


async def test_the_best_passage_of_a_page_stands_for_it(projects: Projects, memory: Memory, database: Database, ask: Ask) -> None:
    project = projects.make(dim=2)
    sections = "\n\n".join(f"## Part {number}\n\n" + f"Sentence {number} of this part. " * 40 for number in range(4))
    await memory.page(project, "long.md", "Long", sections)
    await memory.page(project, "short.md", "Short", "Brief.")
    async with database.write(project) as tx:
        rows = await tx.fetch("SELECT p.id, p.page_id, p.number, p.text FROM m_0.passage AS p ORDER BY p.id")
        best = max(row["number"] for row in rows if row["page_id"] == 1)
        for row in rows:
            vector = "[1,0]" if (row["page_id"], row["number"]) == (1, best) else "[0.2,1]" if row["page_id"] == 1 else "[1,1]"
            await tx.execute(
                "INSERT INTO m_0.vector_0 (passage_id, kind, owner_id, text_hash, vector) VALUES ($1, 2, $2, 0, $3::text::halfvec)",
                row["id"],
                row["page_id"],
                vector,
            )
    answer = await ask(project, "entirely unlike", embed=FixedEmbedder([1.0, 0.0]), explain=True)
    assert [(hit.path, hit.explain.vector_rank) for hit in answer.hits] == [("long.md", 1), ("short.md", 2)]
    assert [hit.explain.cosine for hit in answer.hits] == pytest.approx([1.0, math.sqrt(0.5)], abs=2e-3)
    shown = next(row["text"] for row in rows if (row["page_id"], row["number"]) == (1, best))
    assert answer.hits[0].snippet.startswith(shown[:100].strip())
    assert all(hit.title and hit.snippet for hit in answer.hits)
    assert not any("no vector yet" in note for note in answer.notes)


async def test_projects_of_other_spaces_answer_by_words(projects: Projects, memory: Memory, ask: Ask) -> None:
    first, second = projects.make("spaces", dim=2), projects.make("spaces", dim=3)
    one = await memory.save(first, [{"summary": "gannet"}])
    two = await memory.save(second, [{"summary": "gannet"}])
    await memory.vectors(first, {one[0]: [1.0, 0.0]})
    await memory.vectors(second, {two[0]: [1.0, 0.0, 0.0]})
    answer = await ask([first, second], "gannet", embed=FixedEmbedder([1.0, 0.0]), explain=True)
    assert {hit.project: hit.explain.vector_rank for hit in answer.raw_hits} == {first.project: 1, second.project: None}
    assert any(second.project in note and "vector stream is absent" in note for note in answer.notes)


@pytest.fixture
async def busy(projects: Projects, memory: Memory) -> ProjectRef:
    """Forty events and thirty pages about the same few things, with vectors and links."""
    project = projects.make(dim=4)
    random.seed(3)
    words = ["tide", "harbour", "crane", "signal", "rope"]
    saved = await memory.save(
        project,
        [
            {
                "summary": " ".join(random.choices(words, k=4)),
                "session": f"s{number % 5}",
                "entities": [(random.choice(["Pier Nine", "Buoy"]), "place")],
            }
            for number in range(40)
        ],
    )
    await memory.vectors(project, {event: [random.gauss(0, 1) for _ in range(4)] for event in saved[:30]})
    for number in range(30):
        await memory.page(project, f"p{number}.md", f"Page {number}", f"{' '.join(random.choices(words, k=5))} [[p{(number * 7) % 30}]]")
    return project


async def test_the_rank_is_what_reciprocal_rank_fusion_says(busy: ProjectRef, ask: Ask) -> None:
    settings = SearchSettings(k=20.0, fts_weight=1.0, entity_weight=0.7, graph_weight=0.4, vector_weight=0.2)
    answer = await ask(
        busy, "crane at Pier Nine with the signal", embed=FixedEmbedder([1, 0, 0, 0]), limit=100, explain=True, settings=settings
    )
    hits = [*answer.hits, *answer.raw_hits]
    weights = {stream: getattr(settings, f"{stream}_weight") for stream in STREAMS}
    for hit in hits:
        ranks = {stream: getattr(hit.explain, f"{stream}_rank") for stream in STREAMS}
        expected = {stream: rank and weights[stream] / (20.0 + rank) for stream, rank in ranks.items()}
        assert hit.explain.rrf == pytest.approx(expected)
        assert hit.rank == hit.explain.fused == pytest.approx(sum(part for part in expected.values() if part))
    for stream in STREAMS:
        ranks = sorted(rank for hit in hits if (rank := getattr(hit.explain, f"{stream}_rank")))
        assert ranks == list(range(1, len(ranks) + 1))
    for listed in (answer.hits, answer.raw_hits):
        assert [hit.rank for hit in listed] == sorted((hit.rank for hit in listed), reverse=True)


async def test_the_graph_starts_from_the_fused_order_without_it(busy: ProjectRef, ask: Ask) -> None:
    few = await ask(busy, "crane signal", explain=True, limit=100, settings=SearchSettings(seeds=1))
    via = {step for hit in [*few.hits, *few.raw_hits] for step in hit.explain.graph_via or [] if not step.startswith("SHARES")}
    assert len({step.split()[-1] for step in via}) <= 1


async def test_the_same_query_gives_the_same_order(busy: ProjectRef, memory: Memory, ask: Ask) -> None:
    async def order(limit: int) -> tuple[list[str], list[str]]:
        answer = await ask(busy, "crane signal tide", embed=FixedEmbedder([0, 1, 0, 0]), limit=limit)
        return paths(answer), events(answer)

    first = await order(10)
    assert all(item == first for item in await asyncio.gather(*(order(10) for _ in range(20))))
    five = await order(5)
    assert five == (first[0][:5], first[1][:5])
    assert len(set(first[0])) == len(first[0]) == 10
    assert len(set(first[1])) == len(first[1]) == 10


async def test_two_streams_beat_one(projects: Projects, memory: Memory, ask: Ask) -> None:
    project = projects.make(dim=2)
    both, words = await memory.save(project, [{"summary": "granite cliff"}, {"summary": "granite cliff"}])
    await memory.vectors(project, {both: [1.0, 0.0]})
    answer = await ask(project, "granite", embed=FixedEmbedder([1.0, 0.0]), explain=True)
    assert events(answer) == [both, words]
    top = answer.raw_hits[0].explain
    assert top.cosine == pytest.approx(1.0)
    assert top.fused < 0.1


@pytest.mark.parametrize(("limit", "given"), [(0, 1), (-3, 1), (1_000, 40)])
async def test_a_limit_out_of_bounds_is_brought_within(busy: ProjectRef, ask: Ask, limit: int, given: int) -> None:
    answer = await ask(busy, "crane signal tide rope harbour", limit=limit)
    assert len(answer.raw_hits) == given
    assert any(f"limit {limit} was brought to" in note for note in answer.notes)


async def test_filters_hold_in_every_stream(projects: Projects, memory: Memory, ask: Ask) -> None:
    project = projects.make(dim=2)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    saved = await memory.save(
        project,
        [
            {
                "summary": f"owl sighting {number}",
                "kind": "note" if number % 2 else "decision",
                "timestamp": (start + timedelta(days=number)).isoformat(),
                "tags": ["birds/owls"] if number < 4 else ["birds/geese"],
                "entities": [("Forest", "place")],
            }
            for number in range(8)
        ],
    )
    await memory.vectors(project, {event: [1.0, number / 10] for number, event in enumerate(saved)})
    await memory.page(project, "owls.md", "Owls", "An owl in the Forest.", tags=["birds/owls"], entities=[])
    embed = FixedEmbedder([1.0, 0.0])

    async def found(**filters: object) -> tuple[list[str], list[str]]:
        answer = await ask(project, "owl Forest", embed=embed, **filters)
        return sorted(events(answer)), paths(answer)

    assert await found() == (saved, ["owls.md"])
    assert await found(kinds=["decision"]) == (saved[::2], [])
    assert await found(kinds=["decision", "page"]) == (saved[::2], ["owls.md"])
    assert await found(tags=["birds/owls"]) == (saved[:4], ["owls.md"])
    assert await found(tags=["Birds"]) == (saved, ["owls.md"])
    assert await found(tags=["absent"]) == ([], [])
    assert await found(since="2026-01-03", until="2026-01-05") == (saved[2:5], [])
    assert await found(since="2026-01-03T00:00:00Z", until="2026-01-05T00:00:00Z", kinds=["note"]) == ([saved[3]], [])
    assert await found(as_of="2020-01-01") == ([], [])
    assert await found(as_of="2100-01-01") == (saved, ["owls.md"])


async def test_as_of_reads_pages_as_they_were(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    await memory.page(project, "moon.md", "Moonlight", "The lantern is made of quartz glass.")
    await memory.page(project, "still.md", "Still", "A lantern that never changed.")
    rows = await memory.rows(project, "SELECT clock_timestamp() AS now")
    then = rows[0]["now"].isoformat()
    await memory.page(project, "moon.md", "Sunlight", "The torch is made of brass.")
    await memory.page(project, "new.md", "New", "A lantern made later.")
    assert sorted(paths(await ask(project, "lantern"))) == ["new.md", "still.md"]
    past = await ask(project, "lantern", as_of=then)
    assert sorted(paths(past)) == ["moon.md", "still.md"]
    hit = next(hit for hit in past.hits if hit.path == "moon.md")
    assert (hit.title, hit.snippet) == ("Moonlight", "The <mark>lantern</mark> is made of quartz glass.")
    assert paths(await ask(project, "quartz", as_of=then)) == ["moon.md"]
    assert paths(await ask(project, '"quartz glass" lantern', as_of=then)) == ["moon.md"]
    assert paths(await ask(project, "lantern -quartz", as_of=then)) == ["still.md"]
    assert "moon.md" not in paths(await ask(project, "brass", as_of=then))
    assert paths(await ask(project, "moon.md", as_of=then))[0] == "moon.md"


async def test_as_of_says_of_which_pages_nothing_is_kept(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    await memory.page(project, "still.md", "Still", "A lantern that never changed.")
    await memory.page(project, "ledger.md", "Ledger", "The lantern is at entry 0.")
    rows = await memory.rows(project, "SELECT clock_timestamp() AS now")
    await memory.page(project, "ledger.md", "Ledger", "The lantern is at entry 1.")
    await memory.age_page(project, "ledger.md", 1000)
    await memory.page(project, "ledger.md", "Ledger", "The lantern is at entry 1001.")
    await memory.page(project, "ledger.md", "Ledger", "The lantern is at entry 1002.")
    past = await ask(project, "lantern", as_of=rows[0]["now"].isoformat())
    assert paths(past) == ["still.md"]
    assert past.notes[1:] == ["Left out, since their version of `as_of` is not kept any more: 1 of the pages that changed most often."]
    assert not past.partial
    since = await memory.rows(project, "SELECT min(created_at) AS first FROM m_0.page_version")
    assert sorted(paths(await ask(project, "lantern", as_of=since[0]["first"].isoformat()))) == ["ledger.md", "still.md"]


async def test_several_projects_are_one_ranking(projects: Projects, memory: Memory, ask: Ask) -> None:
    first, second = projects.make("shared", dim=2), projects.make("shared", dim=2)
    one = await memory.save(first, [{"summary": "walrus walrus"}, {"summary": "filler"}])
    two = await memory.save(second, [{"summary": "walrus and other matters of a long day at sea"}, {"summary": "a seal"}])
    await memory.vectors(first, {one[0]: [0.0, 1.0]})
    await memory.vectors(second, {two[1]: [1.0, 0.0]})
    await memory.page(second, "sea.md", "Sea", "The walrus, [[shore]].")
    await memory.page(second, "shore.md", "Shore", "Sand.")
    answer = await ask([first, second], "walrus", embed=FixedEmbedder([1.0, 0.0]), explain=True)
    found = [(hit.project, hit.id) for hit in answer.raw_hits]
    assert found[:2] == [(first.project, one[0]), (second.project, two[0])]
    assert (second.project, two[1]) in found
    assert {hit.path: hit.project for hit in answer.hits} == {"sea.md": second.project, "shore.md": second.project}
    assert answer.scope.projects == [first.project, second.project]
    ranks = sorted(hit.explain.fts_rank for hit in [*answer.hits, *answer.raw_hits] if hit.explain.fts_rank)
    assert ranks == list(range(1, len(ranks) + 1))
    for hit in [*answer.hits, *answer.raw_hits]:
        assert hit.rank == pytest.approx(sum(part for part in hit.explain.rrf.values() if part))
    alone = await ask([second], "walrus", embed=FixedEmbedder([1.0, 0.0]))
    assert {hit.project for hit in [*alone.hits, *alone.raw_hits]} == {second.project}


async def test_the_answer_is_json(busy: ProjectRef, ask: Ask) -> None:
    answer = msgspec.json.decode(msgspec.json.encode(await ask(busy, "crane")))
    assert set(answer) == {"hits", "raw_hits", "scope", "streams_active", "partial", "truncated", "notes"}
    assert set(answer["hits"][0]) == {"page_id", "path", "title", "snippet", "rank", "project", "updated_at"}
    event = {"id", "session_id", "session", "kind", "summary", "snippet", "rank", "project", "timestamp"}
    assert set(answer["raw_hits"][0]) == event
