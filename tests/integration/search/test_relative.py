"""What a query tells from now is found as a date is: events around a moment that the tests choose."""

from datetime import UTC, datetime

import pytest

from service.db.scope import ProjectRef
from service.search.parse import SearchSettings
from tests.conftest import Memory, Projects
from tests.integration.search.conftest import Ask, events

NOW = datetime(2026, 5, 14, 9, 30, tzinfo=UTC)  # a Thursday
TIMES = (
    None,
    "2025-11-02T12:00:00Z",
    "2026-04-30T12:00:00Z",
    "2026-05-08T12:00:00Z",
    "2026-05-13T00:30:00+01:00",  # in UTC the day before
    "2026-05-13T23:59:59Z",
    "2026-05-14T00:00:00Z",
)


async def save(memory: Memory, project: ProjectRef) -> list[str]:
    """The same in a session each, at each of the times."""
    texts = [
        {"summary": "Deploy of the api", "session": f"s{number}"} | ({"timestamp": at} if at else {}) for number, at in enumerate(TIMES)
    ]
    return await memory.save(project, texts)


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("what did we deploy today?", 6),
        ("deploy of yesterday", 5),
        ("the deploy gestern", 5),
        ("deploy 昨天", 5),
        ("deploy 2 days ago", 4),
        ("der Deploy vor zwei Tagen", 4),
        ("last week's deploy", 3),
        ("le deploy de la semaine dernière", 3),
        ("先週の deploy", 3),
        ("deploy on Friday", 3),
        ("deploy of last month", 2),
        ("last year's deploy", 1),
    ],
)
async def test_what_is_of_that_time_comes_first(project: ProjectRef, memory: Memory, ask: Ask, query: str, place: int) -> None:
    saved = await save(memory, project)
    found = events(await ask(project, query, now=NOW))
    assert found[0] == saved[place]
    assert set(found) == set(saved)  # evidence, no filter


async def test_a_time_alone_finds_its_events_the_newest_first(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    saved = await save(memory, project)
    assert events(await ask(project, "this week", now=NOW)) == saved[:3:-1]
    few = await ask(project, "this week", now=NOW, settings=SearchSettings(max_postings=2))
    assert events(few)[:2] == saved[:4:-1]
    assert "More than 2 events are of that time: the newest of them were ranked." in few.notes
    assert events(await ask(project, "tomorrow", now=NOW)) == []


async def test_with_as_of_it_is_told_from_then(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    saved = await save(memory, project)
    then = {"as_of": "2100-05-14", "now": NOW}
    late = await memory.save(project, [{"summary": "Deploy of the api", "timestamp": "2100-05-13T12:00:00Z", "session": "late"}])
    assert events(await ask(project, "deploy of yesterday", **then))[0] == late[0]
    assert events(await ask(project, "deploy of yesterday", now=NOW))[0] == saved[5]


async def test_several_projects_are_asked_of_one_time(projects: Projects, memory: Memory, ask: Ask) -> None:
    one, two = projects.make("words"), projects.make("words")
    first, second = await save(memory, one), await memory.save(two, [{"summary": "Kumquats", "timestamp": "2026-05-13T08:00:00Z"}])
    assert set(events(await ask([one, two], "yesterday", now=NOW))) == {first[5], *second}


async def test_an_absurd_time_is_only_words(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    saved = await save(memory, project)
    answer = await ask(project, "deploy 999999999 days ago", now=NOW)
    assert set(events(answer)) == set(saved)
    assert not answer.partial
