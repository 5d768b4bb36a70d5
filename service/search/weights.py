"""What each stream counts in the fusion of one query.

In: what the streams found, how much of the query the texts hold, the settings. Out: the weights. They are the settings' own, but where
the vectors say that the text matches are beside the point: there the vectors lead, and words order what they leave open.
"""

from collections.abc import Sequence
from typing import Final

from service.search.answer import STREAMS, Stream
from service.search.candidates import Candidates, Streams
from service.search.parse import SearchSettings
from service.search.plan import SearchPlan

HELD: Final = 0.8  # of the query; a text that holds so much of it is what was asked for, whatever its vector says
OF_TIME: Final = 0.01  # of their weights that streams other than the text match count where a time alone is asked for: it alone knows times


def set_weights(plan: SearchPlan, settings: SearchSettings) -> dict[Stream, float]:
    """The weights as they are set, and as far as the query's text alone decides."""
    others = OF_TIME if plan.words.asks_when else 1.0
    return {stream: getattr(settings, f"{stream}_weight") * (1.0 if stream == "fts" else others) for stream in STREAMS}


def weigh_streams(plan: SearchPlan, found: Streams, whole: float, settings: SearchSettings) -> dict[Stream, float]:
    """The weights for one query over all its projects, where text matches and vectors can be held against each other.

    `whole` is what a text would score that has each word of the query once, those included that no text has.
    """
    weights = set_weights(plan, settings)
    if _may_lead(plan, found, whole) and is_beside(found["fts"], found["vector"], settings.beside):
        weights["vector"] *= settings.vector_lead
    return weights


def is_beside(texts: Sequence[Candidates], vectors: Sequence[Candidates], part: float) -> bool:
    """Whether the text matches are, each by its score, less than a part as near to the query as the nearest, or there are none.

    One that is not among the nearest counts as near as the last of them, since no more is known of it.
    """
    near = {(each.place, each.is_page): each.by_id() for each in vectors if each.count}
    best = max((max(cosines.values()) for cosines in near.values()), default=0.0)
    if best <= 0 or not any(each.count for each in texts):
        return best > 0
    scores = nearness = 0.0
    for each in texts:
        cosines = near.get((each.place, each.is_page))
        if cosines:
            last = min(cosines.values())
            for number, score in each.by_id().items():
                scores += score
                nearness += score * cosines.get(number, last)
    return nearness < part * best * scores


def _may_lead(plan: SearchPlan, found: Streams, whole: float) -> bool:
    """Vectors know nothing of ids, paths and titles, of times and of earlier versions, and a text that holds the query needs none."""
    if plan.words.moments is not None or plan.request.as_of is not None or any(each.itself for each in found["entity"]):
        return False
    return max((each.held for each in found["fts"]), default=0.0) < HELD * whole
