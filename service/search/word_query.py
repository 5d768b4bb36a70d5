"""A query as words: what may match, what must, what must not.

In: a query as people and agents write it. Out: `WordQuery`, whose terms are written as tsquery literals.
"""

import re
from collections.abc import Iterator
from datetime import date
from functools import cached_property
from typing import Final

import msgspec

from service.memory.scripts import HANGUL, HIRAGANA, KATAKANA, UNSPACED, fold_word, normalise
from service.memory.words import MAX_COMPOUND, PIECE, TOKEN, Word, quote, read_words, split_token, split_unspaced
from service.search.languages import BINDING_PAIRS, bind, tell_languages
from service.search.moments import Moments, read_moments

MAX_TERMS: Final = 4_000  # distinct terms read from one query
MAX_OPERATORS: Final = 32  # phrases, and excluded words, read from one query; lexemes in one phrase
LONGEST_TYPED: Final = 100  # words; a longer query is a pasted text, whose quotes and dashes are its own
_OPERATOR: Final = re.compile(
    r'(?P<not>(?<!\S)-)?["\u201c\u201d](?P<phrase>[^"\u201c\u201d]*)["\u201c\u201d]'
    rf'|(?<!\S)-(?P<word>(?:[^\W\d_]\w|[{UNSPACED}])[^\s"\u201c\u201d]*)'  # one letter is an option, one character may be a word
)
_WRITTEN: Final = re.compile(r"[^\W\d_]+")
_FIGURE: Final = 0.2  # of its weight that a number in a date counts
_GRAMMAR: Final = 0.3  # of its weight that a pair of hiragana counts: mostly an ending or a particle
_ONE_CHARACTER: Final = re.compile(rf"[{UNSPACED}]")


class Term(msgspec.Struct, frozen=True, dict=True):
    """What a query asks for: one lexeme, or several at given distances from the first; `prefix` for their beginnings.

    `written` is the word as it stood, folded; `forms` are lexemes as good as the one; `share` is the part of its weight that counts,
    which is that of a word that stands as often as the term and the lexemes `beside` it together.
    """

    lexemes: tuple[str, ...]
    distances: tuple[int, ...] = (0,)
    prefix: bool = False
    written: str = ""
    forms: tuple[str, ...] = ()
    share: float = 1.0
    beside: tuple[str, ...] = ()

    @cached_property
    def tsquery(self) -> str:
        """The term as a tsquery literal, which each search with the term takes twice."""
        if self.forms:
            return " | ".join(map(quote, (*self.lexemes, *self.forms)))
        words = [quote(lexeme) + (":*" if self.prefix else "") for lexeme in self.lexemes]
        gaps = [after - before for before, after in zip(self.distances, self.distances[1:], strict=False)]
        return words[0] + "".join(f" <{gap}> {word}" for gap, word in zip(gaps, words[1:], strict=True))


class WordQuery(msgspec.Struct, frozen=True):
    """A query as words: `terms` of which any may match, `phrases` that must, `excluded` that must not.

    `plain` is the text without what is excluded: what is embedded. `cut` counts the terms beyond the first 4,000. `pasted`: the query
    is so long that it was read as text, without phrases and exclusions. `languages` are those that its binding words tell, none for
    English, None where they tell nothing; `moments` is when what is asked for was.
    `empty_phrase`: there is a phrase without a word that is stored.
    """

    terms: tuple[Term, ...]
    phrases: tuple[Term, ...]
    excluded: tuple[Term, ...]
    plain: str
    cut: int = 0
    pasted: bool = False
    languages: tuple[str, ...] | None = ()
    moments: Moments | None = None
    empty_phrase: bool = False

    def names_time(self, term: Term) -> bool:
        """Whether the term is part of what names a time."""
        named = self.moments.words if self.moments else frozenset[str]()
        return term.written in named or named.issuperset(term.lexemes)

    @property
    def asks_when(self) -> bool:
        """Whether it names a time and nothing else."""
        return self.moments is not None and not self.phrases and all(map(self.names_time, self.terms))


def read_query(text: str, today: date | None = None) -> WordQuery:
    """A query as people write it: words, "quoted phrases", -excluded words. Times are told from `today`; without it those are not read."""
    normal = normalise(text)
    phrases: list[Term] = []
    excluded: list[Term] = []
    plain: list[str] = []
    empty = False
    after = 0
    pasted = len(normal.split(maxsplit=LONGEST_TYPED)) > LONGEST_TYPED
    for match in () if pasted else _OPERATOR.finditer(normal):
        plain.append(normal[after : match.start()])
        after = match.end()
        if match["word"] is not None or match["not"]:
            excluded.extend(_read_excluded(match["word"] or match["phrase"], quoted=match["word"] is None))
        else:
            phrase = _read_phrase(match["phrase"])
            phrases.extend([phrase] if phrase else [])
            empty = empty or (phrase is None and bool(match["phrase"].strip()))
            plain.append(match["phrase"])
    plain.append(normal[after:])
    words = " ".join(plain)
    languages = tell_languages({fold_word(word) for word in _WRITTEN.findall(words)}) if not pasted else ()
    moments = None if pasted else read_moments(words, today, languages)
    terms = _without_binding(tuple({term.lexemes: term for term in _read_terms(words)}.values()), languages or ())
    if moments is not None:
        terms = tuple(_lessen(term, moments) for term in terms)
    return WordQuery(
        terms[:MAX_TERMS],
        tuple(dict.fromkeys(phrases))[:MAX_OPERATORS],
        tuple(dict.fromkeys(excluded))[:MAX_OPERATORS],
        words.strip(),
        max(0, len(terms) - MAX_TERMS),
        pasted and _OPERATOR.search(normal) is not None,
        languages,
        moments,
        empty,
    )


def _lessen(term: Term, moments: Moments) -> Term:
    """A day's or a year's number says little as a word: it stands in versions, counts and other dates too."""
    return msgspec.structs.replace(term, share=_FIGURE) if moments.figures.issuperset(term.lexemes) else term


def _without_binding(terms: tuple[Term, ...], languages: tuple[str, ...]) -> tuple[Term, ...]:
    """Words that only bind others say nothing where there are others; English ones are no terms at all."""
    binding = bind(languages) | BINDING_PAIRS
    telling = tuple(term for term in terms if term.written not in binding)
    return telling or terms


def _read_excluded(text: str, *, quoted: bool) -> list[Term]:
    """What must not occur: the phrase, or the word or identifier as a whole."""
    words = list(read_words(text))
    wholes = [word for word in words if word.main is None and word.others]
    if wholes and not quoted:
        return [Term(wholes[0].others[:1])]
    phrase = _read_phrase(text)
    return [phrase] if phrase else []


def _read_phrase(text: str) -> Term | None:
    words = [word for word in read_words(text) if word.main is not None]
    pairs = [(word.position, word.main or "") for word in _without_last_characters(words)][:MAX_OPERATORS]
    pairs = [pair for pair in pairs if pair[0] - pairs[0][0] < 1_000]
    if not pairs:
        wholes = [word.others[0] for word in read_words(text) if word.others]
        return Term((wholes[0],)) if wholes else None
    if len(pairs) == 1 and len(words) == 1 and _ONE_CHARACTER.fullmatch(pairs[0][1]):
        return Term((pairs[0][1],), prefix=True)
    return Term(tuple(lexeme for _, lexeme in pairs), tuple(position - pairs[0][0] for position, _ in pairs))


def _without_last_characters(words: list[Word]) -> list[Word]:
    """In a query the last character of a run of pairs says nothing that its last pair does not, and hides what follows."""
    kept: list[Word] = []
    for word in words:
        last = kept[-1] if kept else None
        if last and last.end == word.end and last.end - last.start == 2 and word.end - word.start == 1:
            continue
        kept.append(word)
    return kept


def _read_terms(text: str) -> Iterator[Term]:
    """The terms of which any may match: lexemes, and words of unspaced scripts as phrases of pairs."""
    for match in TOKEN.finditer(text):
        token = match.group()
        for piece in PIECE.finditer(token[:MAX_COMPOUND]):
            if piece.lastgroup:
                yield from _read_unspaced_terms(piece.group())
        for word in split_token(token)[0]:
            if word.main and not _ONE_CHARACTER.match(word.main):
                yield Term((word.main,), written=fold_word(token[word.start : word.end]))
            for other in word.others:
                yield Term((other,))


def _read_unspaced_terms(run: str) -> Iterator[Term]:
    """A short word, or one in katakana, is one phrase; in a longer run each pair may be a word."""
    pairs = [word.main or "" for word in split_unspaced(run, 0, 0)]
    if len(run) == 1:
        yield Term((pairs[0],), prefix=True)
    elif (len(run) == 3 and not HANGUL.search(run)) or KATAKANA.fullmatch(run):
        yield Term(tuple(pairs[:-1]), tuple(range(len(run) - 1)))
    else:
        for pair in pairs[:-1]:
            yield Term((pair,), written=pair, share=_GRAMMAR if HIRAGANA.fullmatch(pair) else 1.0)
