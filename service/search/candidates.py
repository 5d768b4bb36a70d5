"""What the streams found, as it travels from one statement to the next.

In: rows of a stream that the database has packed into lists; `Found` where a candidate is looked at one by one. Out: `Candidates`, whose
lists stay in Postgres's own writing: thousands of objects a call would cost more than the statements that make and read them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import count, groupby
from math import inf
from typing import Any, TypeAlias

import msgspec

from service.search.answer import STREAMS, Found, Stream

_NONE = "NULL"


class Candidates(msgspec.Struct, frozen=True):
    """Pages or events of one project: `ids`, `passages` and `scores` run side by side, each as `1,2,3`. `place` numbers the project.

    `names` are what matched, of each, where that was asked for; `itself` are those whose id, path or title the query gives; `untold` those
    that carry a name whose text says nothing of it; `held` is the most that a passage scores for the words in it, however long it is.
    """

    place: int
    is_page: bool
    count: int
    ids: str
    passages: str
    scores: str
    names: Sequence[Sequence[str]] = ()
    itself: tuple[int, ...] = ()
    untold: tuple[int, ...] = ()
    held: float = 0.0

    def columns(self) -> tuple[list[str], list[str], list[str]]:
        """Ids, passages and scores, as they are written."""
        return self.ids.split(","), self.passages.split(","), self.scores.split(",")

    def by_id(self) -> dict[int, float]:
        """The score of each id."""
        ids, scores = msgspec.json.decode(f"[[{self.ids}],[{self.scores}]]", type=tuple[list[int], list[float]])
        return dict(zip(ids, scores, strict=True))

    def unpack(self) -> list[Found]:
        """Each candidate by itself."""
        ids, passages, scores = self.columns()
        given = [None if text == _NONE else int(text) for text in passages]
        names = [tuple(each) for each in self.names] or [()] * self.count
        rows = zip(map(int, ids), given, map(float, scores), names, strict=True)
        return [Found(self.place, self.is_page, *row, itself=row[0] in self.itself) for row in rows]


Streams: TypeAlias = Mapping[Stream, Sequence[Candidates]]
"""What each stream found."""


def read_packed(place: int, rows: Iterable[Mapping[str, Any]]) -> list[Candidates]:
    """Rows of a packed statement: pages or events, how many, and the lists."""
    return [Candidates(place, row["is_page"], row["number"], row["ids"], row["passages"], row["scores"]) for row in rows]


def pack(found: Sequence[Found]) -> list[Candidates]:
    """The same for candidates that are known one by one."""
    packed: list[Candidates] = []
    for (place, is_page), items in groupby(sorted(found, key=_owner), key=_owner):
        group = list(items)
        ids, scores = (",".join(map(str, column)) for column in ([item.id for item in group], [item.score for item in group]))
        passages = ",".join(_NONE if item.passage is None else str(item.passage) for item in group)
        itself = tuple(item.id for item in group if item.itself)
        packed.append(Candidates(place, is_page, len(group), ids, passages, scores, [item.names for item in group], itself))
    return packed


def unpack(packed: Iterable[Candidates]) -> list[Found]:
    """Each candidate by itself."""
    return [item for part in packed for item in part.unpack()]


def lift(words: Iterable[Candidates], names: Iterable[Candidates]) -> list[Candidates]:
    """The text matches, of which each project has its pages and its events once, and before them what the query gives by id, path or
    title: no text matches it better."""
    words = list(words)
    best = max((max(map(float, part.scores.split(","))) for part in words), default=0.0)
    return _raise(words, ((part, part.itself) for part in names), lambda score: best + score)


def tell(words: Iterable[Candidates], names: Iterable[Candidates], weigh: Callable[[float], float], most: int) -> list[Candidates]:
    """The same, at most so many of each, where a name that an event or page carries counts as if its text, which has no word of it, said it
    once: `weigh` gives the text's score for that of the name."""
    return [_first(part, most) for part in _raise(words, ((part, part.untold) for part in names), weigh)]


def _raise(
    words: Iterable[Candidates], names: Iterable[tuple[Candidates, Collection[int]]], weigh: Callable[[float], float]
) -> list[Candidates]:
    """The text matches with what some of the named score more as such; those that are none yet become some."""
    raised = {(part.place, part.is_page): part for part in words}
    for part, chosen in names:
        if chosen:
            scores = part.by_id()
            place = (part.place, part.is_page)
            more = {number: weigh(scores[number]) for number in chosen}
            # Who carries a name holds a word of the query, which counts there for as much as one that no text has.
            raised[place] = _raise_part(raised.get(place), part, more, held=weigh(inf))
    return list(raised.values())


def _raise_part(words: Candidates | None, names: Candidates, more: Mapping[int, float], *, held: float) -> Candidates:
    ids, passages, scores = words.columns() if words else ([], [], [])
    places = {number: at for at, number in enumerate(ids)}
    for each, added in more.items():
        at = places.get(str(each))
        if at is None:
            ids.append(str(each))
            passages.append(_NONE)
            scores.append(str(added))
        else:
            scores[at] = str(float(scores[at]) + added)
    held = max(words.held if words else 0.0, held)
    return Candidates(names.place, names.is_page, len(ids), ",".join(ids), ",".join(passages), ",".join(scores), held=held)


def _first(part: Candidates, most: int) -> Candidates:
    if part.count <= most:
        return part
    rows = sorted(zip(*part.columns(), strict=True), key=lambda row: (-float(row[2]), -int(row[0])))[:most]
    ids, passages, scores = (",".join(column) for column in zip(*rows, strict=True))
    return msgspec.structs.replace(part, count=most, ids=ids, passages=passages, scores=scores)


def rank_apart(packed: Iterable[Candidates], groups: Mapping[int, int]) -> list[Candidates]:
    """The same with ranks for scores, -1 the best, where scores say nothing of each other: each candidate's among those of the projects
    whose places are in the same group."""
    found = sorted(unpack(packed), key=lambda item: (-item.score, not item.is_page, item.place, -item.id))
    ranks = {group: count(1) for group in groups.values()}
    return pack([msgspec.structs.replace(item, score=float(-next(ranks[groups[item.place]]))) for item in found])


def candidate_values(found: Streams) -> dict[str, Any]:
    """What fusing takes: for each list the number of its stream and what it holds."""
    lists = [(STREAMS.index(stream) + 1, each) for stream, packed in found.items() for each in packed]
    return {
        "streams": [stream for stream, _ in lists],
        "places": [each.place for _, each in lists],
        "pages": [each.is_page for _, each in lists],
        "ids": ["{" + each.ids + "}" for _, each in lists],
        "passages": ["{" + each.passages + "}" for _, each in lists],
        "scores": ["{" + each.scores + "}" for _, each in lists],
    }


def _owner(item: Found) -> tuple[int, bool]:
    return item.place, item.is_page
