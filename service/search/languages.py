"""Languages other than English, on the side of the query: which one it is in, which of its words say nothing, what its words may end in.

In: the folded words of a query, words that a project knows. Out: languages by their codes, words that only bind others, forms of a word.
What is stored is read the same way whatever the language; so the forms are looked for among the words that are there.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

import Stemmer

from service.memory.scripts import STOP_WORDS

SHORTEST: Final = 4  # letters of a word whose forms are looked for
_SHORTEST_STEM: Final = 3
_SHORTEST_PART: Final = 4  # letters of a part of a compound
_LONGEST: Final = 40

# Words that bind others or ask, written as they are compared: without accents, so that a few stand for two.
_BINDING: Final = {
    "de": """
    ab aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da dabei dafur damit dann daran darauf darin das
    dass davon dazu dein deine dem den denn der des deren dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein
    eine einem einen einer eines er es etwas euch euer eure fur gab gegen gibt habe haben habt hast hat hatte hatten ich ihm ihn ihnen ihr
    ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes kann kein keine keinem keinen keiner konnen man mehr mein meine
    meinem meinen meiner mich mir mit muss mussen nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit sich
    sie sind so soll sollen sollte uber um und uns unser unsere unter vom von vor wann war waren warum was wegen weil welche welchem welchen
    welcher welches wem wen wenn wer werden wessen weshalb wie wieso wieviel will wir wird wo wobei wodurch wofur wogegen woher wohin womit
    woran worauf woraus woruber wovon wozu wurde wurden zu zum zur zwischen
    """,
    "es": """
    a adonde al algo algun alguna algunas algunos ante aquel aquella asi aun aunque cada como con contra cual cuales cuando cuanta cuantas
    cuanto cuantos cuyo de debe del desde donde durante e el ella ellas ellos en entre era eran es esa esas ese eso esos esta estaba estan
    estar estas este esto estos fue fueron ha habia han hasta hay he la las le les lo los mas me mi mis muy ni nos nosotros nuestra nuestro
    o os otra otro para pero por porque que quien quienes se sea segun ser si sido sin sobre son su sus tambien tan te tenemos tiene tienen
    tu tus un una unas uno unos y ya yo
    """,
    "fr": """
    a ai ainsi alors apres as au aucun aucune aussi autre aux avait avant avec avez avoir avons c ce cela celle celui ces cet cette ceux
    chaque chez combien comme comment d dans de depuis des dont du elle elles en encore entre es est et etaient etait ete etes etre eu eux
    fait font furent fut il ils j je jusqu l la laquelle le lequel les lesquels leur leurs lors lui m ma mais me meme mes moi mon n ne ni
    nos notre nous on ont ou par parce pas pendant peut plus pour pourquoi puis qu quand que quel quelle quelles quels qui quoi s sa sans
    se sera ses si sommes son sont sous suis sur t ta te tes toi ton tous tout toute toutes tres tu un une vers vos votre vous y
    """,
    "it": """
    a abbiamo ai al alla alle allo anche ancora avere c che chi ci come con contro cosa cui d da dai dal dalla dalle dei del della delle
    dello di dopo dove e ed era erano essere fino fra fu gli ha hanno ho i il in io l la le lei lo loro lui ma me mi mia mio ne nei nel
    nella nelle no noi non nostra nostro o ogni per perche piu prima quale quali quando quanta quante quanti quanto quella quello questa
    queste questi questo qui se sei senza si sia siamo sono sta stata stato su sua sue sugli sui sul sulla suo suoi tra tu tutti tutto un
    una uno vi
    """,
    "pt": """
    a ao aos apos aquela aquele as ate com como contra cada da das de dela dele depois desde do dos e ela elas ele eles em entre era eram
    essa esse esta estao estar estas estava este estes eu foi foram ha isso isto ja la lhe mais mas me mesmo meu minha muito na nao nas
    nem no nos nossa nosso num numa o onde os ou para pela pelas pelo pelos perante por porque pra qual quais quando quanta quantas quanto
    quantos que quem sao se sem ser seu seus si sido sim so sobre sua suas tambem te tem temos ter teu tinha tu um uma umas uns voce voces
    """,
    "nl": """
    aan al alle als altijd andere ben bij daar dan dat de deze die dit doch doen door dus een en er ge geen haar had hadden heb hebben
    heeft hem het hier hij hoe hoeveel hun ik in is ja je jij jullie kan kon kunnen maar me meer men met mij mijn moet moeten na naar niet
    niets nog nu of om omdat onder ons onze ook op over reeds te tegen toch toen tot u uit uw van veel voor waar waarom wanneer want waren
    was wat we wel welk welke werd werden wie wij wilde worden wordt zal ze zelf zich zij zijn zo zonder zou zouden
    """,
    "sv": """
    alla allt att av bara blev bli blir da de dem den denna deras dess dessa det detta dig din dina ditt du efter ej eller en er ett fran
    for ha hade han hans har henne hennes hon honom hur hos i icke ingen inom inte jag ju kan kunde man med mellan men mig min mina mitt
    mot mycket nar ni nu nagon nagot nagra och om oss pa sa sadan samma sedan sig sin sina sitt sjalv ska skulle som till under upp ut utan
    vad var vara varfor varit varje vars vart vem vi vid vilken vilka vilket ar at over
    """,
    "ru": """
    а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если есть еще же за здесь и из
    или им их к как какая какие какой какого когда кого кому кто ли либо мне может мы на над надо наш не него нее нет ни них но ну о об
    однако он она они оно от откуда очень по под после почему при с сам свой себя со сколько так также такой там те тем то того тоже той
    только том ты у уже чего чей чем что чтобы чья эта эти это этого этой этом этот я
    """,
    "pl": """
    a aby ale albo bardzo bez bo by byc byl byla bylo byly ci cie co czego czy czyj czym dla dlaczego do gdy gdzie go i ich ile im inny ja
    jak jaka jaki jakie jako je jego jej jest jeszcze jesli juz kiedy kogo komu kto ktora ktore ktory ktorych ku lub ma mam mi mial mnie
    moj moze my na nad nam nas nasz nasza nie nich niej nim niz o od on ona oni ono oraz po pod poniewaz przed przez przy sa sie skad swoj
    ta tak takze tam te tego tej temu ten to tu ty tych tylko tym u w we wszystko z za ze zeby
    """,
}
BINDING: Final = {code: frozenset(words.split()) for code, words in _BINDING.items()}
_BINDING_PAIRS: Final = """
什么 甚麼 什麼 是什 么是 哪里 哪裡 哪个 哪些 怎么 怎樣 怎样 如何 为何 为什 為什 多少 是否 何时 谁在 是谁 吗 呢 すか ます です した でし
"""
# Pairs of characters by which Chinese and Japanese ask, and which say nothing of what.
BINDING_PAIRS: Final = frozenset(_BINDING_PAIRS.split())
# Of each language a few that texts are full of and that no other has.
MARKERS: Final = {
    "de": ("und", "der", "ist", "nicht", "wir"),
    "es": ("el", "los", "por", "una", "para"),
    "fr": ("les", "est", "une", "nous", "vous"),
    "it": ("che", "della", "sono", "gli", "non"),
    "pt": ("nao", "uma", "voce", "pelo", "sao"),
    "nl": ("het", "een", "van", "niet", "wij"),
    "sv": ("och", "att", "det", "som", "av"),
    "ru": ("и", "не", "на", "что", "в"),
    "pl": ("nie", "jest", "sie", "oraz", "jak"),
}
_STEMMED: Final = {
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
    "sv": "swedish",
    "ru": "russian",
    "pl": "polish",
}
_STEMMERS: Final = {code: Stemmer.Stemmer(name, 0) for code, name in _STEMMED.items()}
_COMPOUNDING: Final = frozenset({"de", "nl", "sv"})
PRESENT: Final = 0.02  # of a project's passages that hold a marker


def tell_languages(words: Collection[str]) -> tuple[str, ...] | None:
    """The languages whose binding words a query has the most of; none for English, None where no word tells.

    One such word does not tell: war, hat, van and bin are words of English too, as in and was are of German.
    """
    english = STOP_WORDS.intersection(words)
    bound = {code: len(binding.intersection(words)) for code, binding in BINDING.items()}
    most = max(bound.values())
    if most > max(len(english), 1):
        return tuple(code for code, count in bound.items() if count == most)
    return () if english and not any(map(english.issubset, BINDING.values())) else None


def languages_of(frequencies: Mapping[str, int], documents: int) -> tuple[str, ...]:
    """The languages that a project's texts are in: those of which two markers each stand in some of its passages."""
    least = max(2, PRESENT * documents)
    return tuple(code for code, markers in MARKERS.items() if sorted(frequencies.get(marker, 0) for marker in markers)[-2] >= least)


def bind(languages: Iterable[str]) -> frozenset[str]:
    """The words that only bind others in one of the languages."""
    return frozenset[str]().union(*(BINDING[code] for code in languages))


@lru_cache(maxsize=1 << 12)
def stem_as(code: str, word: str) -> str:
    """A folded word without the endings of a language."""
    return _STEMMERS[code].stemWord(word)


def beginning_of(word: str, languages: Collection[str] | None) -> str | None:
    """What the forms of a word begin with in each of the languages, in all where None is given; None for a word without forms."""
    if not word.isalpha() or not SHORTEST <= len(word) <= _LONGEST:
        return None
    stems = [stem_as(code, word) for code in (_STEMMERS if languages is None else languages)]
    shortest = min(map(len, stems), default=0)
    begin = word[:shortest]
    return begin if shortest >= _SHORTEST_STEM and all(stem[:shortest] == begin for stem in stems) else None


def forms_of(word: str, known: Sequence[str], languages: Iterable[str]) -> Iterator[str]:
    """Of known words those that are another form of this one."""
    for code in languages:
        stem = stem_as(code, word)
        yield from (other for other in known if stem_as(code, other) == stem)


def compounds_of(word: str, known: Sequence[str], languages: Collection[str]) -> Iterator[str]:
    """Of known words those that are a compound that begins with this one."""
    for code in _COMPOUNDING.intersection(languages) if len(word) > _SHORTEST_PART else ():
        stem = stem_as(code, word)
        begin = stem if len(stem) > _SHORTEST_PART else word
        yield from (other for other in known if other.startswith(begin) and stem_as(code, other) != stem)


def spellings_of(word: str) -> tuple[str, ...]:
    """The other spelling of a word whose umlauts are written out."""
    short = word.replace("ae", "a").replace("oe", "o").replace("ue", "u")
    return (short,) if short != word and len(word) >= SHORTEST else ()


def parts_of(word: str, languages: Collection[str] | None) -> tuple[str, ...]:
    """What a compound may begin or end with."""
    joined = languages is None or not _COMPOUNDING.isdisjoint(languages)
    if not joined or not word.isalpha() or not 2 * _SHORTEST_PART <= len(word) <= _LONGEST:
        return ()
    cuts = range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1)
    return tuple(part for cut in cuts for part in (word[:cut], word[cut:]))
