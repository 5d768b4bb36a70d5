"""Times that are told from now: yesterday, last week, three months ago, on Monday.

In: the folded words of a query, its languages, the day of the call. Out: `Stretch`es, each a day, or a week, month, quarter or year of the
calendar: three weeks ago is the whole week, from Monday to Sunday, of the day 21 days ago. The phrases of all languages are looked up
together, for none of them says another thing in another language but `hier`; left out is what is a common other word in its own, as Spanish
mañana and German morgen, which are mornings too.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta
from itertools import product
from typing import Final, TypeAlias

import msgspec

from service.memory.scripts import fold_word

# A unit and how many of them from now. Of a day of the week -1 is the last before today, 0 the last up to today, 1 the first after it.
_Meaning: TypeAlias = tuple[str, int]

_UNITS: Final = ("day", "week", "month", "quarter", "year")
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
# Of each language, one after another: words for the last, this and the next; for days, weeks, months, quarters and years; numbers from one
# to twelve; what stands before a day of the week that is past (~ for nothing); these days; how `#` of a unit `%` ago are told.
# Words that may stand for each other have / between them, words of one phrase _.
_LANGUAGES: Final = {
    "en": """
    last/previous this next day/days week/weeks month/months quarter/quarters year/years
    a/an/one two three four five six seven eight nine ten eleven twelve
    on monday tuesday wednesday thursday friday saturday sunday #_%_ago""",
    "de": """
    letzte/letzten/letzter/letztes/vorige/vorigen/voriger/voriges/vergangene/vergangenen/vergangener/vergangenes
    diese/diesen/dieser/dieses/diesem nächste/nächsten/nächster/nächstes/kommende/kommenden/kommender/kommendes
    tag/tage/tagen woche/wochen monat/monate/monaten/monats quartal/quartale/quartalen/quartals jahr/jahre/jahren/jahres
    eine/einem/einer zwei drei vier fünf/fuenf sechs sieben acht neun zehn elf zwölf/zwoelf
    am montag dienstag mittwoch donnerstag freitag samstag/sonnabend sonntag vor_#_%""",
    "es": """
    pasado/pasada este/esta próximo/próxima/que_viene día/días semana/semanas mes/meses trimestre/trimestres año/años
    un/una dos tres cuatro cinco seis siete ocho nueve diez once doce
    el lunes martes miércoles jueves viernes sábado domingo hace_#_% #_%_atrás""",
    "fr": """
    dernier/dernière ce/cette prochain/prochaine jour/jours semaine/semaines mois trimestre/trimestres an/ans/année/années
    un/une deux trois quatre cinq six sept huit neuf dix onze douze
    ~ lundi mardi mercredi jeudi vendredi samedi dimanche il_y_a_#_%""",
    "it": """
    scorso/scorsa questo/questa/quest prossimo/prossima
    giorno/giorni settimana/settimane mese/mesi trimestre/trimestri anno/anni
    un/una due tre quattro cinque sei sette otto nove dieci undici dodici
    ~ lunedì martedì mercoledì giovedì venerdì sabato domenica #_%_fa""",
    "pt": """
    passado/passada este/esta/neste/nesta/deste/desta/esse/essa/nesse/nessa/desse/dessa próximo/próxima/que_vem
    dia/dias semana/semanas mês/meses trimestre/trimestres ano/anos
    um/uma dois/duas três quatro cinco seis sete oito nove dez onze doze
    na/no segunda_feira terça_feira quarta_feira quinta_feira sexta_feira sábado domingo há_#_% #_%_atrás""",
    "nl": """
    vorige/vorig/afgelopen deze/dit volgende/volgend/komende/komend
    dag/dagen week/weken maand/maanden kwartaal/kwartalen jaar/jaren
    een/één twee drie vier vijf zes zeven acht negen tien elf twaalf
    op maandag dinsdag woensdag donderdag vrijdag zaterdag zondag #_%_geleden""",
    "sv": """
    förra denna/detta/den_här/det_här nästa dag/dagar vecka/veckor/veckan månad/månader/månaden kvartal/kvartalet år/året
    en/ett två tre fyra fem sex sju åtta nio tio elva tolv
    i måndags tisdags onsdags torsdags fredags lördags söndags #_%_sedan""",
    "ru": """
    прошлый/прошлой/прошлую/прошлом/прошлого/прошлое этот/этой/эту/этом/этого
    следующий/следующей/следующую/следующем/следующего/следующее день/дня/дней
    неделя/недели/неделе/неделю/недель месяц/месяца/месяце/месяцев квартал/квартала/квартале/кварталов год/года/году/лет
    один/одну два/две три четыре пять шесть семь восемь девять десять одиннадцать двенадцать
    в/во понедельник вторник среду четверг пятницу субботу воскресенье #_%_назад""",
    "pl": """
    zeszły/zeszłym/zeszłego/zeszłą/ubiegły/ubiegłym/ubiegłego/ubiegłą/poprzedni/poprzednim/poprzedniego ten/tym/tego
    przyszły/przyszłym/przyszłego/przyszłą/następny/następnym/następnego/następną dzień/dni
    tydzień/tygodnia/tygodniu/tygodnie/tygodni miesiąc/miesiąca/miesiącu/miesiące/miesięcy kwartał/kwartału/kwartale/kwartały/kwartałów
    rok/roku/lata/lat jeden dwa/dwie trzy cztery pięć sześć siedem osiem dziewięć dziesięć jedenaście dwanaście
    w/we poniedziałek wtorek środę czwartek piątek sobotę niedzielę #_%_temu""",
}
_BEHIND: Final = frozenset({"es", "fr", "it", "pt"})  # where such words stand behind theirs too
_SINGLE: Final[dict[_Meaning, str]] = {
    ("day", -2): """day_before_yesterday vorgestern anteayer antes_de_ayer avant_hier altro_ieri avantieri anteontem eergisteren förrgår
    позавчера przedwczoraj""",
    ("day", -1): "yesterday gestern ayer hier ieri ontem gisteren igår i_går вчера wczoraj день_назад dzień_temu",
    ("day", 0): "today heute hoy aujourd_hui oggi hoje vandaag idag i_dag сегодня dzisiaj dziś",
    ("day", 1): "tomorrow demain domani amanhã imorgon i_morgon завтра jutro",
    ("day", 2): "day_after_tomorrow übermorgen uebermorgen pasado_mañana après_demain dopodomani overmorgen послезавтра pojutrze",
    ("week", -1): "неделю_назад tydzień_temu",
    ("month", -1): "месяц_назад miesiąc_temu",
    ("year", -1): "i_fjol год_назад rok_temu",
    ("year", 0): "i_år",
}
_HERE: Final = "hier"  # in German and Dutch
_LONGEST: Final = 5  # words of a phrase
_DIGITS: Final = 4  # of a count
_SPLIT: Final = re.compile(r"[\s'-]+")
_EDGES: Final = '.,;:?!()[]"¿¡«»„“”…'

_HAN_NUMBERS: Final = {character: number for number, character in enumerate("一二三四五六七八九十", 1)} | {"两": 2, "兩": 2}
_HAN_UNITS: Final = {"日": "day", "天": "day", "年": "year", "月": "month", "季": "quarter"}  # others are weeks
_HAN_OFFSETS: Final = dict.fromkeys("昨上先去", -1) | dict.fromkeys("今本这這", 0) | dict.fromkeys("明下来來", 1)
_HAN_WEEK: Final = "周(?!期)|週(?!期)|星期|礼拜|禮拜"
_HAN: Final = re.compile(
    r"(?P<before>一昨日|おととい|(?<!提)前天)|(?P<which1>[今昨明])(?P<unit1>[天日年])|(?P<which2>[去来來])(?P<unit2>年)"
    r"|(?P<which3>[先今来來])(?P<unit3>週|周(?!期)|月)"
    rf"|(?<![日以])(?P<which4>[上下本这這])一?[个個]?(?P<unit4>{_HAN_WEEK}|月|季)"
    r"|(?<![0-9一二三四五六七八九十几幾数數月第])(?P<number>[0-9]{1,3}|[一二两兩三四五六七八九十])\s*"
    r"(?:(?P<unit5>[天日周週年])間?|[个個](?P<unit6>月|星期|礼拜|禮拜)|[かカヶケ箇](?P<unit7>月))[之以]?前"
    r"|(?<![每週个個一])(?:星期(?P<day1>[一二三四五六日天])|(?P<day2>[月火水木金土日])曜日)"
)


class Stretch(msgspec.Struct, frozen=True):
    """From `low` up to `high`, which is no part of it; `unit` is a day, week, month, quarter or year, `words` are those that name it."""

    unit: str
    low: date
    high: date
    words: frozenset[str]


def read_relative(text: str, today: date, languages: Collection[str] | None) -> Iterator[Stretch]:
    """What a folded text tells from a day on, `languages` as `tell_languages` gives them; days of the week only where no week is named."""
    told = [*_read_phrases(text, languages), *(() if text.isascii() else _read_han(text))]
    week = any(unit == "week" for (unit, _), _ in told)
    for (unit, offset), words in told:
        bounds = None if week and unit in _WEEKDAYS else _bounds(today, unit, offset)
        if bounds:
            yield Stretch("day" if unit in _WEEKDAYS else unit, *bounds, words)


def _read_phrases(text: str, languages: Collection[str] | None) -> Iterator[tuple[_Meaning, frozenset[str]]]:
    """The longest phrase at each place. What has other signs within is an identifier, a path or an address, and no word of a phrase."""
    words = [word.strip(_EDGES) for word in _SPLIT.split(text)]
    forms = ["#" if word.isdecimal() and len(word) <= _DIGITS else word for word in words]
    place = 0
    while place < len(forms):
        for length in range(_LONGEST, 0, -1) if forms[place] in _FIRST else ():
            meaning = _PHRASES.get(" ".join(forms[place : place + length]))
            if meaning and (words[place] != _HERE or languages is None or "fr" in languages):
                (unit, offset), named = meaning, words[place : place + length]
                number = next((int(word) for word in named if word.isdecimal()), 1)
                yield (unit, offset * number), frozenset(named)
                place += length - 1
                break
        place += 1


def _read_han(text: str) -> Iterator[tuple[_Meaning, frozenset[str]]]:
    """The same in Chinese and Japanese, whose words are pairs of characters."""
    for match in _HAN.finditer(text):
        found = {name.rstrip("1234567"): value for name, value in match.groupdict().items() if value}
        unit = _HAN_UNITS.get(found.get("unit", "")[:1], "week")
        if "before" in found:
            meaning = ("day", -2)
        elif "day" in found:
            days = "一二三四五六日" if match["day1"] else "月火水木金土日"
            meaning = (_WEEKDAYS[days.index(found["day"].replace("天", "日"))], 0)
        elif "number" in found:
            number = found["number"]
            meaning = (unit, -(_HAN_NUMBERS.get(number) or int(number)))
        else:
            meaning = (unit, _HAN_OFFSETS[found["which"]])
        yield meaning, frozenset((match[0], *re.findall("[0-9]+", match[0]), *map("".join, zip(match[0], match[0][1:], strict=False))))


def _bounds(today: date, unit: str, offset: int) -> tuple[date, date] | None:
    """Where it begins and ends; None for what lies outside of all calendars."""
    try:
        if unit in _MONTHS:
            size = _MONTHS[unit]
            first = (today.year * 12 + today.month - 1) // size * size + offset * size
            low, high = (date(number // 12, number % 12 + 1, 1) for number in (first, first + size))
            return low, high
        if unit == "week":
            low = today + timedelta(days=7 * offset - today.weekday())
            return low, low + timedelta(days=7)
        if unit in _WEEKDAYS:
            since = (today.weekday() - _WEEKDAYS.index(unit)) % 7
            offset = {-1: -(since or 7), 0: -since, 1: 7 - since}[offset]
        low = today + timedelta(days=offset)
        return low, low + timedelta(days=1)
    except (OverflowError, ValueError):
        return None


def _phrases() -> Iterator[tuple[str, _Meaning]]:
    """Every phrase with its meaning; a count in figures is written #, and means one."""
    for code, language in _LANGUAGES.items():
        fields = [field.split("/") for field in fold_word(language).split()]
        (last, this, following), units, numbers, (on, *days), patterns = fields[:3], fields[3:8], fields[8:20], fields[20:28], fields[28:]
        on = ["" if word == "~" else f"{word} " for word in on]
        for unit, name in (*_each(_UNITS[1:], units[1:]), *_each(_WEEKDAYS, days)):
            before = ("", *on) if unit in _WEEKDAYS else ("",)
            yield from ((f"{word}{name}", (unit, 0)) for word in (on if unit in _WEEKDAYS else [f"{word} " for word in this]))
            for offset, word in (*product((-1,), last), *product((1,), following)):
                yield f"{word} {name}", (unit, offset)
                yield from ((f"{begin}{name} {word}", (unit, offset)) for begin in before if code in _BEHIND)
        for (pattern,), (unit, name) in product(patterns, _each(_UNITS, units)):
            for number, words in ((1, ["#"]), *enumerate(numbers, 1)):
                yield from ((pattern.replace("#", word).replace("%", name), (unit, -number)) for word in words)
    for meaning, phrases in _SINGLE.items():
        yield from ((phrase, meaning) for phrase in fold_word(phrases).split())


def _each(units: Sequence[str], names: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Each of the names of each unit."""
    return ((unit, name) for unit, same in zip(units, names, strict=True) for name in same)


_PHRASES: Final = {phrase.replace("_", " "): meaning for phrase, meaning in _phrases()}
_FIRST: Final = frozenset(phrase.split(" ", 1)[0] for phrase in _PHRASES)
