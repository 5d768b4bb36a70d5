"""When what a query asks for was: dates in words and in figures.

In: the text of a query. Out: `Moments`, the days, months and years that it names, as a multirange of Postgres.
A month is read only where a word or a figure beside it says that one is meant: May and April are words and people too.
"""

import re
from datetime import UTC, datetime
from typing import Final

import msgspec

from service.memory.scripts import fold_word

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
    rf"|(?<![0-9十年])(?:(?P<year7>{_YEAR})\s*年\s*)?(?P<month7>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])\s*月(?!間|间)(?:\s*(?P<day7>[0-3]?[0-9])\s*[日号號])?"
    rf"|(?P<year8>{_YEAR})\s*年"
)
_HAN: Final = {name: number for number, name in enumerate(["一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"], 1)}
_FIRST_YEAR: Final = 2000  # of those that a month without one is looked for in
_WORD: Final = re.compile(r"[0-9]+|[^\W0-9_]+")
_FIGURE: Final = re.compile(r"[0-9年月]")
_EDGES: Final = ".,;:?!()'\""
_MOST: Final = 8  # dates read from one query


class Moments(msgspec.Struct, frozen=True):
    """Stretches of time as a multirange literal; `words` are those that name them, folded, numbers among them."""

    ranges: str
    words: frozenset[str]


def read_moments(text: str) -> Moments | None:
    """The dates that a text names; None where there is none."""
    words = [fold_word(word) for word in text.split()]
    if not _FIGURE.search(text) and _NUMBER.keys().isdisjoint(word.strip(_EDGES) for word in words):
        return None  # as in most queries
    folded = " ".join(words)
    ranges: list[str] = []
    named: set[str] = set()
    for match, _ in zip(_DATES.finditer(folded), range(_MOST), strict=False):
        ranges.extend(_ranges({name[:-1]: value for name, value in match.groupdict().items() if value}))
        named.update(_WORD.findall(match[0]))
    return Moments("{" + ",".join(ranges) + "}", frozenset(named)) if ranges else None


def _ranges(date: dict[str, str]) -> list[str]:
    month = _NUMBER[date["name"]] if "name" in date else _HAN.get(date.get("month", ""), 0) or int(date.get("month", "0"))
    years = [int(date["year"])] if "year" in date else range(_FIRST_YEAR, datetime.now(UTC).year + 2)
    day = int(date["day"]) if "day" in date else None
    return [f"[{low} 00:00+00,{high} 00:00+00)" for year in years for low, high in [_bounds(year, month, day)] if low]


def _bounds(year: int, month: int, day: int | None) -> tuple[str, str]:
    """Where a day, a month or a year begins and ends; nothing for a day that there is not."""
    if not month:
        return f"{year}-01-01", f"{year + 1}-01-01"
    after = (year, month + 1) if month < 12 else (year + 1, 1)
    if day is None:
        return f"{year}-{month:02}-01", f"{after[0]}-{after[1]:02}-01"
    try:
        low = datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return "", ""
    high = datetime.fromordinal(low.toordinal() + 1)
    return low.date().isoformat(), high.date().isoformat()
