"""Pages as they were: what `as_of` finds in texts that have changed since.

In: a stage with `as_of`, the plan of words. Out: `OldPage`s and the candidates among them; they have no passages, so their words are
made here, from the first 20,000 characters of each.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from service.memory.scripts import fold_name
from service.memory.words import analyse
from service.search.answer import Found
from service.search.compile import compile_old_words, compile_stage
from service.search.stages import Stage
from service.search.streams.fts import WordPlan

MAX_BODY: Final = 20_000
MAX_PAGES: Final = 300
_ELSEWHERE: Final = ("unchanged", "phrases", "excluded")


class OldPage(msgspec.Struct, frozen=True):
    """A page in the version that stood then."""

    id: int
    path: str
    title: str
    body: str
    created_at: datetime

    @property
    def shown(self) -> dict[str, Any]:
        """What a hit shows instead of the newest version."""
        return {"title": self.title, "updated_at": self.created_at, "text": self.body}


class OldPages(msgspec.Struct, frozen=True):
    """Pages that have changed since, and how many whose version of then is not kept; `more` were not looked at."""

    pages: list[OldPage]
    lost: int
    more: bool


async def read_old_pages(stage: Stage, held: Sequence[int]) -> OldPages:
    """The pages that have changed since, those that changed first before the others."""
    filters = tuple(name for name in stage.plan.filters if name not in _ELSEWHERE)
    rows = await stage.ask(compile_stage("old_pages", filters), {"body": MAX_BODY, "most": MAX_PAGES + 1, "held": held})
    read = [OldPage(**dict(row)) for row in rows[:MAX_PAGES] if row["title"] is not None]
    return OldPages(read, len(rows[:MAX_PAGES]) - len(read), more=len(rows) > MAX_PAGES)


async def find_in_old_pages(stage: Stage, pages: Sequence[OldPage], words: WordPlan | None) -> list[Found]:
    """Text matches in them; what the query gives by id, path or title comes first."""
    scores: dict[int, float] = {}
    if words is not None:
        analysed = [analyse(page.body, page.title) for page in pages]
        values = {
            **words.values(stage.settings),
            "old_ids": [page.id for page in pages],
            "old_words": [text.tsvector for text in analysed],
            "old_lengths": [text.length for text in analysed],
            "required": [term.tsquery for term in stage.plan.words.phrases],
            "refused": [term.tsquery for term in stage.plan.words.excluded],
        }
        scores = {row["id"]: row["score"] for row in await stage.ask(compile_old_words(words.shape_of_words), values)}
    best = max(scores.values(), default=0.0)
    names = stage.plan.names
    for page in pages:
        if page.id in names.page_ids or not {page.path, fold_name(page.title)}.isdisjoint(names.page_names):
            scores[page.id] = best + scores.get(page.id, 1.0)
    return [Found(stage.place, True, number, None, score) for number, score in scores.items() if score > 0]
