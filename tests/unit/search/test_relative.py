"""Times that are told from now, in the languages of queries."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.search.moments import read_moments
from service.search.word_query import read_query

NOW = date(2026, 5, 14)  # a Thursday


def ranges(text: str, today: date = NOW) -> list[tuple[str, str]]:
    """Where each stretch of time begins and ends."""
    moments = read_query(text, today).moments
    if moments is None:
        return []
    bounds = moments.ranges.replace(" 00:00+00", "").strip("{[)}").split("),[")
    return [(low, high) for low, _, high in (bound.partition(",") for bound in bounds)]


@pytest.mark.parametrize(
    ("day", "texts"),
    [
        ("2026-05-12", "the day before yesterday|vorgestern|anteayer|avant-hier|l'altro ieri|anteontem|eergisteren|i förrgår"),
        ("2026-05-12", "позавчера|przedwczoraj|前天的会议|一昨日|おとといの会議|2 days ago|vor zwei Tagen|hace 2 días|il y a deux jours"),
        ("2026-05-12", "due giorni fa|há 2 dias|dois dias atrás|twee dagen geleden|två dagar sedan|два дня назад|2 dni temu|两天前|二日前"),
        (
            "2026-05-13",
            "what did we decide yesterday?|yesterday's bugs|gestern|ayer|hier|la décision d'hier|ieri|ontem|gisteren|igår|i går",
        ),
        (
            "2026-05-13",
            "вчера|wczoraj|昨天|昨日|昨天的部署是谁做的|day-old news: yesterday, late|Was haben wir gestern beschlossen?|a day ago",
        ),
        ("2026-05-14", "today|heute|hoy|aujourd'hui|aujourd\u2019hui|oggi|hoje|vandaag|idag|сегодня|dziś|今天|今日|0 days ago|on Thursday"),
        ("2026-05-15", "tomorrow|demain|domani|amanhã|i morgon|завтра|jutro|明天|明日|next Friday|vendredi prochain|el viernes próximo"),
        (
            "2026-05-16",
            "the day after tomorrow|übermorgen|uebermorgen|pasado mañana|après-demain|dopodomani|overmorgen|послезавтра|pojutrze",
        ),
        ("2026-05-11", "on Monday|last Monday|am Montag|letzten Montag|el lunes|el lunes pasado|décidé lundi|lundi dernier|lunedì scorso"),
        ("2026-05-11", "na segunda-feira|op maandag|i måndags|в понедельник|w poniedziałek|w zeszły poniedziałek|星期一|月曜日の会議"),
        ("2026-05-11", "3 days ago|three days ago|vor drei Tagen|vor 3 Tagen|hace tres días|3日前|三天前|３日前|3 天之前"),
        ("2026-05-07", "last Thursday|letzten Donnerstag|jueves pasado"),
    ],
)
def test_days(day: str, texts: str) -> None:
    high = date.fromordinal(date.fromisoformat(day).toordinal() + 1).isoformat()
    for text in texts.split("|"):
        assert (text, ranges(text)) == (text, [(day, high)])


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (
            "2026-05-04",
            "2026-05-11",
            "last week's deploy|letzte Woche|la semana pasada|la semaine dernière|la settimana scorsa|vorige week",
        ),
        (
            "2026-05-04",
            "2026-05-11",
            "semana passada|förra veckan|на прошлой неделе|w zeszłym tygodniu|上周|上个星期|上週的部署|先週|a week ago",
        ),
        (
            "2026-05-04",
            "2026-05-11",
            "tydzień temu|неделю назад|vor einer Woche|Friday last week|on Friday last week|上星期五|先週の金曜日",
        ),
        (
            "2026-05-11",
            "2026-05-18",
            "this week|diese Woche|esta semana|cette semaine|questa settimana|deze week|den här veckan|на этой неделе",
        ),
        ("2026-05-18", "2026-05-25", "next week|nächste Woche|próxima semana|la semana que viene|la semaine prochaine|下周|来週"),
        ("2026-04-20", "2026-04-27", "3 weeks ago|vor drei Wochen|il y a 3 semaines|3 недели назад|三周前|3週間前|3个星期前"),
        (
            "2026-05-01",
            "2026-06-01",
            "bugs of this month|diesen Monat|este mes|ce mois|neste mês|deze maand|в этом месяце|本月|今月|这个月",
        ),
        (
            "2026-04-01",
            "2026-05-01",
            "last month|mes pasado|le mois dernier|mese scorso|上个月|先月|one month ago|miesiąc temu|месяц назад",
        ),
        ("2026-02-01", "2026-03-01", "3 months ago|vor drei Monaten|hace tres meses|tre mesi fa|3个月前|3ヶ月前|3か月前"),
        ("2026-01-01", "2026-04-01", "last quarter|letztes Quartal|trimestre dernier|上季度|在上个季度"),
        ("2026-04-01", "2026-07-01", "this quarter|dieses Quartal|本季度"),
        (
            "2025-01-01",
            "2026-01-01",
            "last year|Ende letzten Jahres|año pasado|l'an dernier|l'année dernière|i fjol|в прошлом году|去年|rok temu",
        ),
        ("2026-01-01", "2027-01-01", "this year|quest'anno|i år|今年|w tym roku"),
        ("2024-01-01", "2025-01-01", "two years ago|vor 2 Jahren|2年前|два года назад"),
    ],
)
def test_weeks_months_quarters_and_years(low: str, high: str, texts: str) -> None:
    for text in texts.split("|"):
        assert (text, ranges(text)) == (text, [(low, high)])


@pytest.mark.parametrize(
    ("today", "text", "low", "high"),
    [
        ("2026-01-01", "yesterday", "2025-12-31", "2026-01-01"),
        ("2026-01-01", "last month", "2025-12-01", "2026-01-01"),
        ("2026-01-01", "last quarter", "2025-10-01", "2026-01-01"),
        ("2025-12-31", "next quarter", "2026-01-01", "2026-04-01"),
        ("2026-03-31", "last month", "2026-02-01", "2026-03-01"),
        ("2026-03-31", "one month ago", "2026-02-01", "2026-03-01"),
        ("2024-02-29", "last year", "2023-01-01", "2024-01-01"),
        ("2024-03-01", "yesterday", "2024-02-29", "2024-03-01"),
        ("2021-01-03", "this week", "2020-12-28", "2021-01-04"),  # the 53rd
        ("2021-01-04", "last week", "2020-12-28", "2021-01-04"),
        ("2026-05-17", "this week", "2026-05-11", "2026-05-18"),  # of a Sunday
        ("2026-05-18", "last Monday", "2026-05-11", "2026-05-12"),  # of a Monday
        ("2026-05-18", "on Monday", "2026-05-18", "2026-05-19"),
        ("9999-12-30", "today", "9999-12-30", "9999-12-31"),
        ("0001-01-02", "yesterday", "0001-01-01", "0001-01-02"),
    ],
)
def test_ends_of_weeks_months_and_years(today: str, text: str, low: str, high: str) -> None:
    assert ranges(text, date.fromisoformat(today)) == [(low, high)]


@pytest.mark.parametrize(
    ("today", "text"),
    [
        ("2026-05-14", "999999999 days ago"),
        ("2026-05-14", "9999 years ago"),
        ("2026-05-14", "9" * 5_000 + " days ago"),
        ("2026-05-14", "99999日前"),
        ("9999-12-31", "tomorrow"),
        ("9999-12-31", "today"),
        ("9999-12-31", "this year"),
        ("0001-01-01", "yesterday"),
        ("0001-01-01", "last quarter"),
    ],
)
def test_what_no_calendar_has_is_no_time(today: str, text: str) -> None:
    assert ranges(text, date.fromisoformat(today)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Was ist hier nicht in Ordnung?",
        "Wer war hier?",
        "who was here, hier",
        "hoe is het hier",
        "mañana",
        "guten Morgen",
        "the last of the weeks",
        "which week last",
        "which month next to it",
        "last_week",
        "feature/last-week",
        "today.py",
        "yesterday@example.com",
        "Monday meeting",
        "the last day",
        "a few days ago",
        "несколько лет назад",
        "3 days",
        "ha 3 giorni",
        "提前天数",
        "本周期",
        "日本周辺",
        "毎週月曜日",
        "每个星期一",
        "十五天前",
        "la semaine, ce qui compte",
        "",
    ],
)
def test_what_is_not_told_from_now(text: str) -> None:
    assert ranges(text) == []


def test_beside_a_date_only_a_year_is_told_from_now() -> None:
    assert ranges("on Friday, 3 April 2026") == [("2026-04-03", "2026-04-04")]
    assert ranges("the last week of August 2023") == [("2023-08-01", "2023-09-01")]
    assert ranges("last year in May") == ranges("im Mai letzten Jahres") == ranges("去年5月") == [("2025-05-01", "2025-06-01")]
    assert ranges("30 February 2026, yesterday") == [("2026-05-13", "2026-05-14")]


def test_several_times_are_all_meant() -> None:
    assert ranges("yesterday and today") == [("2026-05-13", "2026-05-14"), ("2026-05-14", "2026-05-15")]
    assert len(ranges("yesterday " * 50)) == 8


def test_the_words_that_tell_it_are_named_and_stay_terms() -> None:
    query = read_query("deploy 3 days ago", NOW)
    assert query.moments is not None
    assert query.moments.words == {"3", "days", "ago"}
    assert {term.lexemes[0]: term.share for term in query.terms} == {"deploy": 1.0, "3": 1.0, "day": 1.0, "ago": 1.0}
    for text in ("昨天", "上个月", "last week", "vor drei Tagen", "semaine dernière"):
        query = read_query(text, NOW)
        named = query.moments.words if query.moments else frozenset[str]()
        assert all(term.written in named or named.issuperset(term.lexemes) for term in query.terms)


def test_without_a_day_nothing_is_told_from_it() -> None:
    assert read_moments("last week") is None


PIECES = (
    "last",
    "this",
    "3",
    "999",
    "two",
    "week",
    "weeks",
    "ago",
    "on",
    "monday",
    "hier",
    "vor",
    "tagen",
    "上个",
    "月",
    "日前",
    "今",
    "天",
)
SIGNS = ("#", "_", "-", "'", ".", "年", "lundi", "may", "in", "2026", "year", "next", "昨", "3日前")


@given(
    st.lists(st.sampled_from([*PIECES, *SIGNS, " "])).map("".join) | st.lists(st.sampled_from([*PIECES, *SIGNS])).map(" ".join), st.dates()
)
def test_any_text_is_read_on_any_day(text: str, today: date) -> None:
    moments = read_moments(text, today)
    assert moments is None or moments.ranges.startswith("{[")
    for low, high in ranges(text, today):
        assert date.fromisoformat(low) < date.fromisoformat(high)
