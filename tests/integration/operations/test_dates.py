"""A date as an end includes its day, wherever it is given."""

import pytest

from service.errors import InvalidRequest
from tests.integration.operations.conftest import Desk


@pytest.mark.parametrize(
    ("until", "expected"),
    [("2026-01-02", {"evt_1"}), ("2026-01-01", set()), ("2026-01-02T22:59:59Z", set()), ("2026-01-02T23:00:00Z", {"evt_1"})],
)
async def test_until_is_inclusive(desk: Desk, until: str, expected: set[str]) -> None:
    await desk.save({"summary": "late in the evening", "timestamp": "2026-01-02T23:00:00Z"})
    found = await desk.ask("memory_query", query="evening", until=until)
    assert {hit.id for hit in found.raw_hits} == expected
    listed = await desk.ask("list_memory_timeline", until=until)
    assert {event.id for event in listed.events} == expected


@pytest.mark.parametrize(("name", "more"), [("memory_query", {"query": "evening"}), ("list_memory_timeline", {}), ("list_audit", {})])
async def test_an_end_before_the_beginning_is_refused(desk: Desk, name: str, more: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await desk.ask(name, since="2026-06-01", until="2026-05-01", **more)
    assert caught.value.message.startswith("since: later than until")
    await desk.ask(name, since="2026-06-01T08:00:00Z", until="2026-06-01", **more)  # a date's whole day


async def test_since_is_inclusive_and_knows_zones(desk: Desk) -> None:
    await desk.save({"summary": "at midnight", "timestamp": "2026-01-02T00:00:00+09:00"}, {"summary": "at midnight, undated"})
    for since, expected in (("2026-01-01T15:00:00Z", ["evt_1"]), ("2026-01-01T15:00:01Z", [])):
        assert [event.id for event in (await desk.ask("list_memory_timeline", since=since)).events] == expected


@pytest.mark.parametrize(
    "written", [1767369600, 1767369600.0, 1767369600000, "1767369600", "2026-01-02T16:00:00Z", "2026-01-03T01:00:00+09:00"]
)
async def test_a_memory_takes_the_times_that_a_batch_takes(desk: Desk, written: str | float) -> None:
    await desk.ask("save_memory", summary="one alone", timestamp=written)
    await desk.ask("save_events", events=[{"summary": "one of a batch", "timestamp": written}])
    listed = await desk.ask("list_memory_timeline")
    assert [event.timestamp.isoformat() for event in listed.events] == ["2026-01-02T16:00:00+00:00"] * 2
