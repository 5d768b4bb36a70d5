"""Every form of START on a real database: order, counts, what was covered, and the notes."""

import random
from typing import Any

import msgspec
import pytest

from service.db.pools import Database
from service.db.scope import ProjectRef
from service.embed.provider import EmbeddingUnavailable, Space
from service.graph.answer import NOT_COVERED, Candidates
from service.graph.limits import GraphLimits
from service.tenants.owner import owner_connection


def ids(answer: Any) -> list[str]:
    return [row[0]["id"] for row in answer.rows]


def start(answer: Any) -> dict[str, Any]:
    return msgspec.to_builtins(answer)["start"]


@pytest.fixture
async def team(memory: Any, small: ProjectRef) -> list[str]:
    """Six events: five of kafka, tags of both kinds, vectors for all but the last."""
    saved = await memory.save(
        small,
        [
            {"summary": "one", "entities": [("kafka", "tool")], "tags": ["area/auth"], "timestamp": "2026-01-01T00:00:00Z"},
            {"summary": "two", "entities": [("kafka", "tool")], "tags": [("area/auth", "refers"), "area/auth"]},
            {"summary": "three", "entities": [("kafka", "topic")], "tags": ["area/auth/login"], "timestamp": "2026-01-03T00:00:00Z"},
            {"summary": "four", "entities": [("kafka", "tool"), ("kafka", "topic")], "timestamp": "2026-01-03T00:00:00Z"},
            {"summary": "five", "entities": [("bob", "person")], "tags": ["auth"], "timestamp": "2026-01-05T00:00:00Z"},
            {"summary": "six", "entities": [("kafka", "tool")], "timestamp": "2026-01-02T00:00:00Z"},
        ],
    )
    await memory.vectors(small, dict(zip(saved, [(1, 0, 0), (1, 1, 0), (0, 1, 0), (-1, 0, 0), (0, 0, 1)], strict=False)))
    return saved


async def test_ids_come_as_given_each_once_and_unknown_ones_are_counted(ask: Any, team: list[str]) -> None:
    answer = await ask("START a = events(ids: $ids, k: 1) RETURN a", ids=["evt_3", "evt_1", "evt_3", "evt_99", "nonsense", "ent_1"])
    assert ids(answer) == ["evt_3", "evt_1"]
    assert answer.notes == ["start: 3 of 5 ids are not in this project and were dropped"]
    assert not answer.partial
    assert start(answer) == {"kind": "ids", "k": 5, "returned": 2}


async def test_ids_may_be_a_list_of_literals_and_parameters(ask: Any, team: list[str]) -> None:
    assert ids(await ask("START a = events(ids: [$x, 'evt_2']) RETURN a", x="evt_4")) == ["evt_4", "evt_2"]


async def test_entity_is_newest_first_over_all_types_of_the_name(ask: Any, team: list[str]) -> None:
    answer = await ask("START a = events(entity: '  kafka ', k: 200) RETURN a")
    assert ids(answer) == ["evt_4", "evt_3", "evt_6", "evt_1", "evt_2"]
    assert start(answer) == {"kind": "entity", "k": 200, "returned": 5, "hub": False}
    assert answer.notes == []


async def test_entity_says_when_there_are_more(ask: Any, team: list[str]) -> None:
    answer = await ask("START a = events(entity: 'kafka', k: 2) RETURN a")
    assert ids(answer) == ["evt_4", "evt_3"]
    assert start(answer)["hub"] is True
    assert (answer.notes, answer.partial) == ([], False)


async def test_names_match_case_sensitively(ask: Any, team: list[str]) -> None:
    answer = await ask("START a = events(entity: 'Kafka') RETURN a")
    assert (answer.rows, answer.partial) == ([], False)
    assert answer.notes == ["start: no entity is named 'Kafka' (names match exactly; find_memories_by_entity finds those alike)"]


async def test_names_are_composed_before_they_are_matched(ask: Any, memory: Any, small: ProjectRef) -> None:
    (saved,) = await memory.save(small, [{"summary": "x", "entities": [("Zoë", "person")]}])
    assert ids(await ask("START a = events(entity: $n) RETURN a", n="Zoe\u0308")) == [saved]


async def test_tag_by_leaf_or_path_without_descendants_each_event_once(ask: Any, team: list[str]) -> None:
    by_leaf = await ask("START a = events(tag: 'auth', k: 200) RETURN a")
    assert ids(by_leaf) == ["evt_5", "evt_1", "evt_2"]
    by_path = await ask("START a = events(tag: 'area/auth', k: 200) RETURN a")
    assert ids(by_path) == ["evt_1", "evt_2"]
    assert start(by_path) == {
        "kind": "tag", "k": 200, "returned": 2, "candidates": {"count": 2, "exact": True}, "has_more": False, "hub": False,
    }  # fmt: skip
    assert by_path.notes == []


async def test_tag_counts_to_one_more_than_k(ask: Any, team: list[str]) -> None:
    answer = await ask("START a = events(tag: 'auth', k: 2) RETURN a")
    assert answer.start.candidates == Candidates(3, False)
    assert (answer.start.has_more, answer.start.hub, answer.partial) == (True, True, False)
    assert answer.notes == ["start: top-2 of 3+ candidates; 1+ more exist in scope (not a budget cut)"]


async def test_text_is_closest_first_and_names_what_has_no_vector(ask: Any, team: list[str]) -> None:
    answer = await ask("START a = events(text: $q, k: 3) RETURN a, a.score", q="1,0,0")
    assert ids(answer) == ["evt_1", "evt_2", "evt_3"]
    assert [round(row[1], 3) for row in answer.rows] == [1.0, 0.707, 0.0]
    assert start(answer) == {"kind": "text", "k": 3, "returned": 3, "unembedded": 1}
    assert answer.notes == ["start: 1 events in scope have no vector yet and were not candidates"]


async def test_entity_and_text_measures_the_scope(ask: Any, team: list[str]) -> None:
    answer = await ask("START a = events(entity: 'kafka', text: $q, k: 2) RETURN a, a.score ORDER BY a.score DESC, a.id", q="0,1,0")
    assert ids(answer) == ["evt_3", "evt_2"]
    assert start(answer) == {
        "kind": "entity+text", "k": 2, "returned": 2, "candidates": {"count": 4, "exact": True}, "has_more": True,
        "scoped_mode": "exact", "filled": True, "unembedded": 1,
    }  # fmt: skip
    assert answer.notes == [
        "start: top-2 of 4 candidates; 2 more exist in scope (not a budget cut)",
        "start: 1 events in scope have no vector yet and were not candidates",
    ]


async def test_tag_and_text(ask: Any, team: list[str]) -> None:
    answer = await ask("START a = events(tag: 'auth', text: $q, k: 20) RETURN a", q="0,0,1")
    assert ids(answer)[0] == "evt_5"
    assert (answer.start.has_more, answer.start.candidates) == (False, Candidates(3, True))


async def test_a_scope_over_the_limit_goes_through_the_index(ask: Any, team: list[str]) -> None:
    answer = await ask("START a = events(entity: 'kafka', text: $q, k: 2) RETURN a", q="0,1,0", limits=GraphLimits(exact_candidates=2))
    assert ids(answer) == ["evt_3", "evt_2"]
    assert start(answer)["scoped_mode"] == "filtered_ann"
    assert answer.start.candidates == Candidates(4, False)
    assert answer.start.filled is True


async def test_text_over_the_limit_goes_through_the_index(ask: Any, team: list[str]) -> None:
    answer = await ask("START a = events(text: $q, k: 2) RETURN a", q="0,0,1", limits=GraphLimits(exact_candidates=2))
    assert ids(answer)[0] == "evt_5"


async def test_only_unembedded_events_confirm_nothing(ask: Any, memory: Any, small: ProjectRef) -> None:
    await memory.save(small, [{"summary": "x", "entities": [("lone", "tool")]}])
    answer = await ask("START a = events(entity: 'lone', text: $q) RETURN a", q="1,0,0")
    assert (answer.rows, answer.partial) == ([], False)
    assert answer.notes == [
        "start: 1 events in scope have no vector yet and were not candidates",
        "events without a vector were left out - 0 rows means 'not confirmed here', not 'none exist'",
    ]


async def test_without_a_query_vector_nothing_is_confirmed(ask: Any, team: list[str]) -> None:
    class Failing:
        space = Space("openai", "small", 3)

        async def __call__(self, text: str, /) -> str:
            raise EmbeddingUnavailable(self.space, "timeout")

    answer = await ask("START a = events(entity: 'kafka', text: 'x') RETURN a", embed=Failing())
    assert (answer.rows, answer.partial) == ([], True)
    assert [(cut.where, cut.reason) for cut in answer.truncated] == [("start", "no_embedding")]
    assert answer.notes == [NOT_COVERED, "start: no query vector from openai small (timeout)"]


async def test_without_an_embedder_the_note_names_the_space(ask: Any, team: list[str]) -> None:
    answer = await ask("START a = events(text: 'x') RETURN count(*)", embed=None)
    assert (answer.rows, answer.truncated[0].reason) == ([], "no_embedding")
    assert answer.notes[1] == "start: no query vector from test vectors (no embedding provider is set up)"
    assert answer.notes[2] == "aggregates cover only what was walked before the cut"


async def test_vectors_of_another_space_are_never_compared(ask: Any, team: list[str]) -> None:
    class Other:
        space = Space("test", "another", 3)

        async def __call__(self, text: str, /) -> str:
            return "[1,0,0]"

    answer = await ask("START a = events(text: 'x') RETURN a", embed=Other())
    assert (answer.rows, answer.truncated[0].reason) == ([], "no_embedding")
    assert answer.notes[1] == "start: no query vector from test another (the project's vectors are from test vectors)"


@pytest.mark.parametrize("vector", ["0,0,0", "1,0", "nan,0,0", "x"])
async def test_a_vector_that_cannot_be_compared_is_none(ask: Any, team: list[str], vector: str) -> None:
    answer = await ask("START a = events(text: $q) RETURN a", q=vector)
    assert (answer.rows, answer.truncated[0].reason) == ([], "no_embedding")


async def test_a_name_of_more_than_twenty_entities_is_cut(ask: Any, memory: Any, small: ProjectRef) -> None:
    await memory.save(small, [{"summary": f"n{i}", "entities": [("many", f"type{i:02}")]} for i in range(22)])
    answer = await ask("START a = events(entity: 'many', k: 200) RETURN a LIMIT 200")
    assert len(answer.rows) == 20
    assert (answer.start.entities_truncated, answer.partial) == (True, True)
    assert [(cut.where, cut.reason) for cut in answer.truncated] == [("start", "names_cap")]
    assert answer.notes == [NOT_COVERED]


async def test_a_name_of_more_than_twenty_tags_is_cut(ask: Any, memory: Any, small: ProjectRef) -> None:
    await memory.save(small, [{"summary": f"n{i}", "tags": [f"area{i}/same"]} for i in range(21)])
    answer = await ask("START a = events(tag: 'same', k: 200) RETURN a LIMIT 200")
    assert (len(answer.rows), answer.start.tags_truncated) == (20, True)
    assert answer.notes == [NOT_COVERED]


async def test_a_start_at_the_deadline_gives_nothing_and_says_so(ask: Any, team: list[str]) -> None:
    answer = await ask("START a = events(entity: 'kafka') RETURN a", limits=GraphLimits(deadline_ms=0))
    assert (answer.rows, answer.partial) == ([], True)
    assert [(cut.where, cut.reason) for cut in answer.truncated] == [("start", "deadline")]
    assert answer.notes == [NOT_COVERED]


async def test_k_is_clamped_with_a_note(ask: Any, team: list[str]) -> None:
    answer = await ask("START a = events(text: $q, k: 50) RETURN a LIMIT 500", q="1,0,0")
    assert answer.notes[:2] == ["start.k clamped 50 -> 20", "limit clamped 500 -> 200"]
    assert answer.start.k == 20
    assert (await ask("START a = events(entity: 'kafka', k: 201) RETURN a")).notes == ["start.k clamped 201 -> 200"]


async def test_another_project_s_rows_are_never_reached(ask: Any, team: list[str], memory: Any, projects: Any, small: ProjectRef) -> None:
    other = projects.make(small.workspace, dim=3)
    await memory.save(other, [{"summary": f"other {i}", "entities": [("kafka", "tool"), ("secret", "tool")]} for i in range(8)])
    assert ids(await ask("START a = events(ids: ['evt_8']) RETURN a")) == []
    answer = await ask("START a = events(entity: 'kafka', k: 200) MATCH (a)-[:SHARES]-(b)-[:PARTICIPATED_IN]-(e) RETURN DISTINCT e.name")
    assert ["secret"] not in answer.rows
    assert (await ask("START a = events(entity: 'secret') RETURN a")).rows == []


async def test_without_a_space_cosines_are_null_and_texts_find_nothing(
    ask: Any, team: list[str], database: Database, small: ProjectRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(database._spaces, small.project_id, (float("inf"), None))
    answer = await ask("START a = events(ids: ['evt_1']) MATCH (a)-[:SHARES]-(b) RETURN b.id, cos(a, b)")
    assert {row[1] for row in answer.rows} == {None}
    assert (await ask("START a = events(ids: ['evt_1']) MATCH (a)-[:SIMILAR]-(b) RETURN b")).rows == []
    assert (await ask("START a = events(text: '1,0,0') RETURN a")).truncated[0].reason == "no_embedding"


async def test_a_small_scope_far_from_the_query_is_filled_through_the_index(
    ask: Any, database: Database, projects: Any, small: ProjectRef
) -> None:
    """Twenty events of one name, all farther from the query than two thousand others."""
    async with database.write(small) as tx:
        await tx.fetch("INSERT INTO m_0.event (id, summary) SELECT n, 'event ' || n FROM generate_series(1, 2020) AS n")
        await tx.fetch("INSERT INTO m_0.entity (id, name, type, folded) VALUES (1, 'rare', 't', 'rare')")
        await tx.fetch("INSERT INTO m_0.participation (event_id, entity_id) SELECT n, 1 FROM generate_series(2001, 2020) AS n")
        await tx.fetch(
            "INSERT INTO m_0.passage (id, event_id, number, text, words, length) SELECT n, n, 0, 'x', '', 1 FROM generate_series(1, 2020) AS n"
        )
        await tx.fetch(
            "INSERT INTO m_0.vector_0 (passage_id, kind, owner_id, text_hash, vector) SELECT n, 0, n, 0, "
            "ARRAY[CASE WHEN n > 2000 THEN -1 ELSE 1 END, sin(n) / 2, cos(n) / 2]::real[]::halfvec FROM generate_series(1, 2020) AS n"
        )
        space = tx.space
    assert space is not None
    with owner_connection(projects._owner_url) as owner:
        found = owner.execute("SELECT extnamespace::regnamespace::text AS place FROM pg_extension WHERE extname = 'vector'").fetchone()
        assert found is not None
        owner.execute(f"SET search_path = {found['place']}")
        owner.execute(f"CREATE INDEX ON {small.schema}.vector_{space.id} USING hnsw (vector halfvec_cosine_ops) WHERE kind = 0")
    query = "START a = events(entity: 'rare', text: '1,0,0', k: 20) RETURN a.id ORDER BY a.id LIMIT 20"
    answer = await ask(query, limits=GraphLimits(exact_candidates=10))
    assert start(answer)["scoped_mode"] == "filtered_ann"
    if answer.start.filled:
        assert [row[0] for row in answer.rows] == [f"evt_{n}" for n in range(2001, 2021)]
    else:
        assert [(cut.where, cut.reason) for cut in answer.truncated] == [("start", "unfilled")]
        assert answer.notes == [NOT_COVERED]
    exact = await ask(query)
    assert (start(exact)["scoped_mode"], len(exact.rows)) == ("exact", 20)
    nearest = await ask("START a = events(ids: ['evt_2001']) MATCH (a)-[f:SIMILAR {k: 20}]-(b) RETURN b.id, f.cos")
    assert len(nearest.rows) == 20
    async with database.read(small) as tx:
        assert await tx.fetchval("SELECT coalesce(nullif(current_setting('hnsw.iterative_scan', true), ''), 'off')") == "off"


async def test_through_the_index_the_first_of_many_are_those_of_few(ask: Any, memory: Any, projects: Any) -> None:
    project = projects.make(dim=3)
    ids = await memory.save(project, [{"summary": f"event {n}", "entities": [("wide", "t")] if n % 3 else []} for n in range(1500)])
    chance = random.Random(3)
    await memory.vectors(project, {each: [chance.gauss(0, 1) for _ in range(3)] for each in ids})
    async with memory.database.read(project) as tx:
        space = tx.space
    assert space is not None
    with owner_connection(projects._owner_url) as owner:
        owner.execute(
            "SELECT set_config('search_path', extnamespace::regnamespace::text, false) FROM pg_extension WHERE extname = 'vector'"
        )
        owner.execute(f"CREATE INDEX ON {project.schema}.vector_{space.id} USING hnsw (vector halfvec_cosine_ops) WHERE kind = 0")
    for scope in ("entity: 'wide', ", ""):
        for vector in ("1,0,0", "-0.3,0.8,0.1", "0.1,-1,0.5"):
            found = [
                [row[0] for row in (await ask(_wide(scope, vector, k), project=project, limits=GraphLimits(exact_candidates=50))).rows]
                for k in (1, 4, 11, 20)
            ]
            assert [len(rows) for rows in found] == [1, 4, 11, 20]
            assert all(found[3][: len(rows)] == rows for rows in found)


def _wide(scope: str, vector: str, k: int) -> str:
    return f"START a = events({scope}text: '{vector}', k: {k}) RETURN a.id, a.score ORDER BY a.score DESC, a.id LIMIT 20"
