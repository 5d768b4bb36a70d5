"""When what a query asks for was: dates in words and in figures, and times told from now (`relative.py`).

In: the text of a query, its languages, the day of the call. Out: `Moments`, the days, months and years that it names, as a multirange of
Postgres.
A month is read only where a word or a figure beside it says that one is meant: May and April are words and people too.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from itertools import islice
from typing import Final

import msgspec

from service.memory.scripts import fold_word
from service.search.relative import read_relative

_MONTHS: Final = (
    "january jan januar janner janvier enero ene gennaio janeiro januari январь января январе stycznia styczen styczniu",
    "february feb februar fevrier febrero febbraio fevereiro februari февраль февраля феврале lutego luty lutym",
    "march mar marz maerz mars marzo marco maart март марта марте marca marzec marcu",
    "april apr avril abril aprile апрель апреля апреле kwietnia kwiecien kwietniu",
    "may mai mayo maggio maio mei maj май мая мае maja maju",
    "june jun juni juin junio giugno junho июнь июня июне czerwca czerwiec czerwcu",
    "july jul juli juillet julio luglio julho июль июля июле lipca lipiec lipcu",
    "august aug aout agosto augustus augusti август августа августе sierpnia sierpien sierpniu",
    "september sep sept septembre septiembre setiembre settembre setembro сентябрь сентября сентябре wrzesnia wrzesien wrzesniu",
    "october oct oktober octobre octubre ottobre outubro okt октябрь октября октябре pazdziernika pazdziernik pazdzierniku",
    "november nov novembre noviembre novembro ноябрь ноября ноябре listopada listopad listopadzie",
    "december dec dezember decembre diciembre dicembre dezembro dez декабрь декабря декабре grudnia grudzien grudniu",
)
_NUMBER: Final = {fold_word(name): number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_NAME: Final = "|".join(sorted(_NUMBER, key=len, reverse=True))
_YEAR: Final = r"(?:19|20)[0-9]{2}"
_IN: Final = (
    r"(?:in|since|during|until|till|before|after|by|of|early|late|mid|last|this|im|seit|bis|ende|anfang|mitte|vor|nach"
    r"|en|desde|hasta|de|durante|depuis|jusque|debut|fin|a|em|di|dal|sinds|tot|eind|begin|i|sedan|w|we|od|do|в|во|с|до)"
)
_DAY: Final = r"(?P<day{0}>[0-3]?[0-9])(?:st|nd|rd|th|er|\.)?"
_BETWEEN: Final = r"(?:\s+(?:of|de|di))?\s+"
_OR_NONE: Final = r"(?!,?\s+[0-9]{3})"  # another year than those that are read is no date of any year
_DATES: Final = re.compile(
    rf"\b(?P<year1>{_YEAR})-(?P<month1>0[1-9]|1[0-2])(?:-(?P<day1>[0-3][0-9]))?(?:(?=t[0-2][0-9])|\b(?!-[0-9]))"
    rf"|\b{_DAY.format(2)}{_BETWEEN}(?P<name2>{_NAME})\b\.?(?:,?{_BETWEEN}(?P<year2>{_YEAR})\b|{_OR_NONE})"
    rf"|\b(?P<name3>{_NAME})\b\.?\s+(?:the\s+)?{_DAY.format(3)}\b(?:,?\s+(?P<year3>{_YEAR})\b|{_OR_NONE})"
    rf"|\b(?P<name4>{_NAME})\b\.?,?{_BETWEEN}(?P<year4>{_YEAR})\b"
    rf"|\b{_IN}\s+(?P<name5>{_NAME})\b\.?(?:,?{_BETWEEN}(?P<year5>{_YEAR})\b|{_OR_NONE})"
    rf"|\b(?:in|im jahr|since|during|en|em|nel|i|seit|depuis|desde)\s+(?P<year6>{_YEAR})\b(?!-[0-9])"
    rf"|\b(?P<day9>[0-3]?[0-9])\.\s?(?P<month9>1[0-2]|0?[1-9])\.\s?(?P<year9>{_YEAR})\b"
    rf"|(?<![0-9十])(?<![0-9]年)(?:(?P<year7>{_YEAR})\s*年\s*)?(?P<month7>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])\s*月(?!間|间)(?:\s*(?P<day7>[0-3]?[0-9])\s*[日号號])?"
    rf"|(?P<year8>{_YEAR})\s*年"
)
_HAN: Final = {name: number for number, name in enumerate(["一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"], 1)}
_YEARS: Final = range(2000, 2100)  # that a month without one is looked for in, up to the year after this
_WORD: Final = re.compile(r"[0-9]+|[^\W0-9_]+")
_FIGURE: Final = re.compile(r"[0-9年月]")
_EDGES: Final = ".,;:?!()'\""
_MOST: Final = 8  # dates read from one query


class Moments(msgspec.Struct, frozen=True):
    """Stretches of time as a multirange literal; `words` are those that name them, folded, `figures` the numbers of dates among them."""

    ranges: str
    words: frozenset[str]
    figures: frozenset[str]


def read_moments(text: str, today: date | None = None, languages: Collection[str] | None = None) -> Moments | None:
    """The times that a text names; None where there is none. Without `today` none that is told from it is read.

    Beside a date such times are told from that date, not from now; but a year tells which one it is of, as in "last year in May".
    """
    words = [fold_word(word) for word in text.split()]
    folded = " ".join(words)
    told = [*islice(read_relative(folded, today, languages), _MOST)] if today else []
    years = range(_YEARS.start, min(today.year + 2, _YEARS.stop)) if today else _YEARS
    # In most queries there is neither a figure nor the name of a month.
    dated = _FIGURE.search(text) or not _NUMBER.keys().isdisjoint(word.strip(_EDGES) for word in words)
    dates = [*islice(_DATES.finditer(folded), _MOST)] if dated else []
    told_years = [stretch for stretch in told if stretch.unit == "year"]
    bounds = [bound for match in dates for bound in _read_date(match, [stretch.low.year for stretch in told_years] or years)]
    if bounds:
        told = told_years
    else:
        bounds = [(stretch.low, stretch.high) for stretch in told]
    named = frozenset(word for match in dates for word in _WORD.findall(match[0]))
    figures = frozenset(word for word in named if word.isdecimal())
    ranges = ",".join(f"[{low} 00:00+00,{high} 00:00+00)" for low, high in bounds)
    return Moments("{" + ranges + "}", named.union(*(stretch.words for stretch in told)), figures) if ranges else None


def _read_date(match: re.Match[str], years: Iterable[int]) -> Iterator[tuple[date, date]]:
    """Where a day, a month or a year begins and ends, in each of the years where it names none; nothing for a day that there is not."""
    named = {name[:-1]: value for name, value in match.groupdict().items() if value}
    month = _NUMBER[named["name"]] if "name" in named else _HAN.get(named.get("month", ""), 0) or int(named.get("month", "0"))
    for year in [int(named["year"])] if "year" in named else years:
        if not month:
            yield date(year, 1, 1), date(year + 1, 1, 1)
        elif "day" not in named:
            yield date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)
        else:
            with suppress(ValueError):
                low = date(year, month, int(named["day"]))
                yield low, low + timedelta(days=1)
