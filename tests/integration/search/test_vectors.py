"""The vector stream on projects that are large enough for indexes: what is near is found, through filters too, or its absence is said."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest
import pytest_asyncio

from service.db.embedded import EmbeddedServer
from service.db.pools import Database
from service.db.scope import ProjectRef
from service.search.answer import SearchAnswer
from service.search.parse import SearchSettings
from service.search.run import memory_query
from service.tenants.migrate import MigrationReport
from service.tenants.owner import owner_connection
from tests.conftest import Memory, Projects
from tests.integration.search.conftest import FixedEmbedder, as_request

DIM = 16
NEAR, FAR = 1_500, 60
CENTRES = np.random.default_rng(5).standard_normal((30, DIM))


def clustered(chance: np.random.Generator, centre: int, spread: float = 0.6) -> list[float]:
    vector = CENTRES[centre] + spread * chance.standard_normal(DIM)
    return [float(number) for number in vector / np.linalg.norm(vector)]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def large(projects: Projects, memory: Memory, server: EmbeddedServer) -> ProjectRef:
    """Notes in 29 clusters, and 60 decisions, tagged, in one that is far from the others; every kind of vector indexed."""
    project = projects.make(dim=DIM)
    chance = np.random.default_rng(6)
    events = [{"summary": f"plain {number}", "tags": ["all/near"]} for number in range(NEAR)]
    events += [{"summary": f"plain {number}", "kind": "decision", "tags": ["all/far"]} for number in range(FAR)]
    saved: list[str] = []
    for first in range(0, len(events), 500):
        saved += await memory.save(project, events[first : first + 500])
    centres = [int(centre) for centre in chance.integers(29, size=NEAR)] + [29] * FAR
    await memory.vectors(project, {event: clustered(chance, centre) for event, centre in zip(saved, centres, strict=True)})
    build_indexes(server, project)
    return project


def build_indexes(server: EmbeddedServer, project: ProjectRef) -> None:
    with owner_connection(server.owner_url) as owner:
        row = owner.execute("SELECT vector_schema FROM control.instance").fetchone()
        space = owner.execute(f"SELECT id FROM {project.schema}.space WHERE current").fetchone()
        assert row is not None
        assert space is not None
        table = f"vector_{space['id']}"
        for kind in range(3):
            owner.execute(
                f"CREATE INDEX {table}_hnsw_{kind} ON {project.schema}.{table} "
                f"USING hnsw (vector {row['vector_schema']}.halfvec_cosine_ops) WHERE kind = {kind}"
            )


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def fresh(migrated: MigrationReport) -> AsyncIterator[Database]:
    opened = await Database.open(migrated.api_url, max_size=2)
    yield opened
    await opened.close()


class Search:
    """Questions that no word answers, so that only vectors rank."""

    def __init__(self, database: Database, project: ProjectRef) -> None:
        self._database = database
        self._project = project

    async def __call__(self, vector: Sequence[float], settings: SearchSettings, **arguments: object) -> SearchAnswer:
        request = as_request({"query": "zzz", "limit": 100, "explain": True, **arguments})
        return await memory_query(self._database, [self._project], request, embedders=[FixedEmbedder(vector)], settings=settings)


@pytest.fixture
def search(fresh: Database, large: ProjectRef) -> Search:
    return Search(fresh, large)


def ranked(answer: SearchAnswer) -> list[str]:
    hits = [(hit.explain.vector_rank, hit.id) for hit in answer.raw_hits if hit.explain and hit.explain.vector_rank]
    return [number for _, number in sorted(hits)]


async def test_the_indexes_find_what_measuring_finds(search: Search) -> None:
    chance = np.random.default_rng(7)
    shares: list[float] = []
    for number in range(20):
        vector = clustered(chance, number)
        exact = ranked(await search(vector, SearchSettings()))
        indexed = ranked(await search(vector, SearchSettings(exact_vectors=100)))
        assert len(indexed) == len(exact) == 100
        shares.append(len(set(indexed[:20]) & set(exact[:20])) / 20)
    assert sum(shares) / len(shares) >= 0.98


async def test_a_connection_s_settings_are_as_before(fresh: Database, large: ProjectRef, search: Search) -> None:
    """A pool's connections are shared, and so would be what a search left in one."""
    settings = SearchSettings(exact_vectors=100, ef_search=321, scanned=654)
    await asyncio.gather(*(search(clustered(np.random.default_rng(14), 1), settings) for _ in range(8)))
    known: set[str] = set()
    async with fresh._connection() as one, fresh._connection() as other:
        for connection in (one, other):
            for row in await connection.fetch("SELECT name, setting, boot_val FROM pg_settings WHERE name ~ '^hnsw|^plan_cache|^enable_'"):
                known.add(row["name"])
                assert row["setting"] == row["boot_val"], row["name"]
    assert known >= {"hnsw.ef_search", "hnsw.iterative_scan", "hnsw.max_scan_tuples", "plan_cache_mode"}


@pytest.mark.parametrize("filters", [{"kinds": ["decision"]}, {"tags": ["all/far"]}, {"tags": ["far"], "since": "2020-01-01"}])
async def test_a_small_scope_far_from_the_query_is_measured_whole(search: Search, filters: dict[str, object]) -> None:
    vector = clustered(np.random.default_rng(8), 0, 0.1)
    answer = await search(vector, SearchSettings(exact_vectors=100, ef_search=10), **filters)
    assert len(ranked(answer)) == FAR
    assert {hit.kind for hit in answer.raw_hits} == {"decision"}
    cosines = [hit.explain.cosine or 0.0 for hit in answer.raw_hits if hit.explain]
    assert cosines == sorted(cosines, reverse=True)
    assert not answer.partial


async def test_a_scope_too_large_to_measure_goes_through_the_index(search: Search) -> None:
    vector = clustered(np.random.default_rng(9), 3)
    answer = await search(vector, SearchSettings(exact_vectors=100), kinds=["note"])
    assert ranked(answer) == ranked(await search(vector, SearchSettings(), kinds=["note"]))
    assert not answer.partial


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def through_index(migrated: MigrationReport) -> AsyncIterator[Database]:
    """As on tables that are too large to be measured for their size alone: Postgres takes the index wherever there is one."""
    joined = "&" if "?" in migrated.api_url else "?"
    opened = await Database.open(f"{migrated.api_url}{joined}enable_seqscan=off&enable_sort=off&enable_bitmapscan=off", max_size=2)
    yield opened
    await opened.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def paged(projects: Projects, memory: Memory, server: EmbeddedServer) -> ProjectRef:
    """60 pages of 12 pieces or so; the pieces of one page lie close together."""
    project = projects.make(dim=DIM)
    chance = np.random.default_rng(12)
    for number in range(60):
        await memory.page(project, f"p{number}.md", f"P{number}", "\n\n".join(f"## H{n}\n\n" + "plain " * 150 for n in range(12)))
    centres = {number: [float(x) for x in chance.standard_normal(DIM)] for number in range(1, 61)}
    async with memory.database.write(project) as tx:
        for row in await tx.fetch("SELECT p.id, p.page_id, p.text_hash FROM m_0.passage AS p"):
            vector = "[" + ",".join(repr(x + 0.01 * float(chance.standard_normal())) for x in centres[row["page_id"]]) + "]"
            sql = "INSERT INTO m_0.vector_0 (passage_id, kind, owner_id, text_hash, vector) VALUES ($1, 2, $2, $3, $4::text::halfvec)"
            await tx.execute(sql, row["id"], row["page_id"], row["text_hash"], vector)
    build_indexes(server, project)
    return project


def assert_full_or_said(answer: SearchAnswer, asked: int) -> None:
    assert answer.stream_counts
    found = answer.stream_counts["vector"]
    said = [cut for cut in answer.truncated if cut.where == "vector"]
    assert found >= asked or said, f"{found} of {asked}, and nothing is said"


@pytest.mark.parametrize(
    ("asked", "candidates", "scanned"),
    [(20, 20, 70), (100, 100, 300), (100, 400, 800), (100, 100, 70), (100, 100, 100), (100, 400, 150), (100, 400, 300), (10, 400, 70)],
)
async def test_fewer_than_asked_for_are_never_given_in_silence(
    through_index: Database, large: ProjectRef, asked: int, candidates: int, scanned: int
) -> None:
    """1,500 notes pass the filter, and the query is at the 60 decisions that do not: the index meets these first and may look at few."""
    vector = clustered(np.random.default_rng(10), 29, 0.05)
    settings = SearchSettings(exact_vectors=100, ef_search=20, scanned=scanned, stream_size=candidates)
    assert_full_or_said(await Search(through_index, large)(vector, settings, kinds=["note"], limit=asked), asked)


@pytest.mark.parametrize("filters", [{}, {"since": "2020-01-01"}], ids=["all", "filtered"])
@pytest.mark.parametrize(("exact", "candidates"), [(100, 20), (100, 100), (20_000, 20)])
async def test_pages_whose_pieces_crowd_out_others_are_never_missing_in_silence(
    through_index: Database, paged: ProjectRef, filters: dict[str, object], exact: int, candidates: int
) -> None:
    """Where all are measured, or the index is asked for enough, the list is full; else it is said."""
    vector = clustered(np.random.default_rng(13), 3)
    settings = SearchSettings(exact_vectors=exact, ef_search=40, stream_size=candidates)
    answer = await Search(through_index, paged)(vector, settings, limit=20, **filters)
    assert answer.stream_counts
    assert bool(answer.truncated) == (answer.stream_counts["vector"] < 20) == ((exact, candidates) == (100, 20))
