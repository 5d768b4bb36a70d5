from service.db.scope import ProjectRef
from service.memory.events import read_events
from service.sample.load import load_sample
from service.sample.loader import read_sample
from tests.conftest import Memory


async def counts(memory: Memory, project: ProjectRef) -> dict[str, int]:
    (row,) = await memory.rows(
        project,
        "SELECT (SELECT count(*) FROM m_0.event) AS events, (SELECT count(*) FROM m_0.page) AS pages, "
        "(SELECT count(*) FROM m_0.page_version) AS versions, (SELECT count(*) FROM m_0.alias) AS aliases, "
        "(SELECT count(*) FROM m_0.next_link) AS threads, (SELECT count(*) FROM m_0.resolution) AS resolutions",
    )
    return dict(row)


async def test_the_sample_is_stored_whole_and_once(memory: Memory, project: ProjectRef) -> None:
    sample = read_sample()
    loaded = await load_sample(memory.database, project)
    assert (loaded.events, loaded.pages, loaded.aliases) == (len(sample.events), len(sample.pages), len(sample.aliases))
    assert loaded.fresh == loaded.events + loaded.pages
    stored = await counts(memory, project)
    assert stored["events"] == loaded.events
    assert stored["pages"] == loaded.pages
    assert stored["aliases"] == loaded.aliases
    assert stored["threads"] == sum(item.previous_key is not None for item in sample.events)
    assert stored["resolutions"] == sum(len(item.resolves_keys) for item in sample.events)
    assert (await load_sample(memory.database, project)).fresh == 0
    assert await counts(memory, project) == stored


async def test_numbers_follow_the_order_of_the_file(memory: Memory, project: ProjectRef) -> None:
    await load_sample(memory.database, project)
    events, _ = await read_events(memory.database, project, ["evt_2", "evt_78"])
    first = next(item for item in read_sample().events if item.event.ingest_key == "sample-002")
    assert events[0].summary == first.event.summary
    assert events[0].previous == ["evt_1"]
    rows = await memory.rows(project, "SELECT id, ingest_key FROM m_0.event ORDER BY id")
    assert [row["ingest_key"] for row in rows] == [f"sample-{row['id']:03d}" for row in rows]
