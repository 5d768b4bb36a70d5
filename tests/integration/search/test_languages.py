"""Words of other languages than English, and dates in words, as they are asked for."""

import pytest

from service.db.scope import ProjectRef
from service.errors import TooLong
from service.search.parse import SearchSettings
from tests.conftest import Memory, Projects
from tests.integration.search.conftest import Ask, events

GERMAN = (
    "Wir haben die Rechnungen geprüft und nicht bezahlt.",
    "Der Vertrag ist unterschrieben und liegt bei Frau Öztürk.",
    "Die Datenbankmigration ist am Sonntag gelaufen.",
    "Wo wir den neuen Stand aufbauen, ist nicht klar.",
    "Das Zertifikat läuft bald ab, und der Server ist alt.",
)
SPANISH = (
    "Los gatitos duermen por la tarde en una caja.",
    "Entregaron las ventanas para los clientes, una por una.",
    "El permiso fue aprobado por los vecinos.",
)


async def save(memory: Memory, project: ProjectRef, summaries: tuple[str, ...]) -> list[str]:
    """Each in a session of its own, so that none lends to another."""
    return await memory.save(project, [{"summary": text, "session": f"s{number}"} for number, text in enumerate(summaries)])


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("Wer hat die Rechnung bezahlt?", 0),
        ("Was ist mit den Verträgen?", 1),
        ("Wo ist der Vertrag von Frau Oeztuerk?", 1),
        ("Wie ist es mit der Datenbank gegangen?", 2),
        ("Was wissen wir von dem Messestand?", 3),
        ("Zertifikate", 4),
        ("Ablauf der Zertifikate", 4),
    ],
)
async def test_german_forms_and_compounds(project: ProjectRef, memory: Memory, ask: Ask, query: str, place: int) -> None:
    saved = await save(memory, project, GERMAN)
    assert events(await ask(project, query))[0] == saved[place]


@pytest.mark.parametrize(("query", "place"), [("¿Dónde está el gatito?", 0), ("¿Cuándo se entregará la ventana?", 1), ("permisos", 2)])
async def test_spanish_forms(project: ProjectRef, memory: Memory, ask: Ask, query: str, place: int) -> None:
    saved = await save(memory, project, SPANISH)
    assert events(await ask(project, query))[0] == saved[place]


async def test_forms_are_marked(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    await save(memory, project, GERMAN)
    assert "<mark>Rechnungen</mark>" in (await ask(project, "Wer hat die Rechnung bezahlt?")).raw_hits[0].snippet
    assert "<mark>Stand</mark>" in (await ask(project, "Was wissen wir von dem Messestand?")).raw_hits[0].snippet


async def test_words_that_bind_others_find_nothing_where_there_are_others(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    saved = await save(memory, project, GERMAN)
    assert events(await ask(project, "Wo ist das Zertifikat?")) == [saved[4]]
    assert set(events(await ask(project, "und der"))) <= set(saved)
    assert events(await ask(project, "wir und nicht der"))  # nothing else is asked for


async def test_one_such_word_tells_no_language_in_an_english_project(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    saved = await save(memory, project, ("The hat was found.", "A size was chosen.", "Files of the bin folder", "Zertifikat"))
    assert set(events(await ask(project, "hat size"))) == set(saved[:2])
    assert events(await ask(project, "bin")) == [saved[2]]
    assert events(await ask(project, "Zertifikaten")) == []


async def test_questions_in_chinese_and_japanese_are_no_evidence(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    saved = await save(
        memory,
        project,
        ("缓存过期时间设成三十分钟", "为什么大家都不来，什么时候再来", "通知は三秒で届きました", "どこのチームですか、いつですか"),
    )
    assert events(await ask(project, "缓存设成什么了"))[0] == saved[0]
    assert events(await ask(project, "通知はいつですか"))[0] == saved[2]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("dinner in March", 1),
        ("dinner in March 2025", 0),
        ("dinner in 2027", 3),
        ("dinner on 14 June 2026", 2),
        ("dinner on June 14th, 2026", 2),
        ("dinner 2026-06-14", 2),
        ("dinner am 14. Juni 2026", 2),
        ("dinner 2026年6月14日", 2),
    ],
)
async def test_dates_are_evidence(project: ProjectRef, memory: Memory, ask: Ask, query: str, place: int) -> None:
    times = ("2025-03-03T10:00:00Z", "2026-03-31T23:59:00Z", "2026-06-14T00:00:00Z", "2027-01-01T00:00:00Z", "2026-05-02T12:00:00Z")
    saved = await memory.save(project, [{"summary": "Dinner with Oskar", "timestamp": at} for at in times])
    assert events(await ask(project, "dinner")) == saved[::-1]
    if query == "dinner in March":
        assert set(events(await ask(project, query))[:2]) == {saved[0], saved[1]}
    else:
        assert events(await ask(project, query))[0] == saved[place]


async def test_a_name_alone_puts_what_carries_it_first(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    greta = [("Greta Holm", "person")]
    texts = [{"summary": "Greta sails"}, {"summary": "The audit is due", "entities": greta}, {"summary": "Holm is an island of Greta"}]
    saved = await memory.save(project, texts)
    named = events(await ask(project, "Greta Holm"))
    assert named[0] == saved[1]
    assert set(named) == set(saved)
    assert events(await ask(project, "Greta Holm island"))[0] == saved[2]


async def test_a_compound_that_begins_with_a_word_counts_half(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    await save(memory, project, GERMAN)
    (checkout, check) = await memory.save(project, [{"summary": "checkout"}, {"summary": "check"}])
    assert events(await ask(project, "check")) == [check, checkout]


async def test_a_phrase_of_stop_words_is_said_to_require_nothing(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    await memory.save(project, [{"summary": "to be or not to be"}, {"summary": "lantern"}])
    note = "A quoted phrase that holds only stop words requires nothing."
    assert note in (await ask(project, '"to be or not" lantern')).notes
    assert note not in (await ask(project, '"lantern to be"')).notes


async def test_a_query_may_not_grow_past_its_limit_as_it_is_read(project: ProjectRef, ask: Ask) -> None:
    with pytest.raises(TooLong):
        await ask(project, "\ufdfa" * 10_000)


async def test_a_date_chooses_events(project: ProjectRef, memory: Memory, ask: Ask) -> None:
    saved = await memory.save(project, [{"summary": f"Meeting {n}", "timestamp": "2026-06-14T00:00:00Z"} for n in range(3)])
    late = await memory.save(project, [{"summary": "Kumquats", "timestamp": "2026-07-14T00:00:00Z"}, {"summary": "14 plums"}])
    await memory.page(project, "meeting.md", "Meeting", "The meeting is weekly.")
    for query in ("2026-06-14", "what was on 14 June?", "im Juni 2026"):
        assert events(await ask(project, query))[:3] == saved[::-1]
    assert late[1] in events(await ask(project, "2026-06-14"))  # its number is a word too, of little weight
    assert events(await ask(project, '"kumquats" in June 2026')) == [late[0]]
    assert events(await ask(project, "june 2026", kinds=["none"])) == []
    assert set(events(await ask(project, "kumquats in June 2026"))) == {*saved, late[0]}
    few = await ask(project, "2026-06-14", settings=SearchSettings(max_postings=2))
    assert events(few)[:2] == saved[:0:-1]
    assert "More than 2 events are of that time: the newest of them were ranked." in few.notes
    answer = await ask(project, "meeting in June 2026", explain=True)
    assert events(answer) == saved[::-1]
    assert [hit.path for hit in answer.hits] == ["meeting.md"]


async def test_forms_and_dates_over_several_projects(projects: Projects, memory: Memory, ask: Ask) -> None:
    german, english = projects.make("words"), projects.make("words")
    saved = await save(memory, german, GERMAN)
    dated = await memory.save(english, [{"summary": f"Zertifikat {at[:4]}", "timestamp": at} for at in ("2026-06-14", "2027-06-14")])
    assert set(events(await ask([german, english], "Ablauf der Zertifikate"))) == {saved[4], *dated}
    assert events(await ask([german, english], "zertifikat in June 2026"))[0] == dated[0]


@pytest.mark.parametrize("query", ["Wer hat die Rechnung bezahlt?", "dinner in March", "Vertrag", "am 3. März mit den Verträgen"])
async def test_the_past_is_searched_the_same_way(project: ProjectRef, memory: Memory, ask: Ask, query: str) -> None:
    await save(memory, project, GERMAN)
    await memory.page(project, "a.md", "Rechnung und Vertrag", "dinner with a Rechnung und Vertrag")
    answer = await ask(project, query, as_of="2100-01-01")
    assert not answer.partial
    assert [hit.path for hit in answer.hits] == ["a.md"]
    assert (await ask(project, query, settings=SearchSettings(max_terms=1))).hits
