"""A `/rerank` endpoint, in the shapes of Cohere, Jina and Voyage (vLLM has theirs) and of TEI.

In: a query and texts. Out: the request, and the scores of a reply.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from service.search.rerankers.remote import RemoteReranker


class _Item(msgspec.Struct, frozen=True):
    index: int
    relevance_score: float | None = None
    score: float | None = None


class _Reply(msgspec.Struct, frozen=True):
    results: list[_Item] | None = None
    data: list[_Item] | None = None


_decoder: msgspec.json.Decoder[_Reply | list[_Item]] = msgspec.json.Decoder(_Reply | list[_Item])


class EndpointReranker(RemoteReranker):
    """The endpoint is the address before `/rerank`, or the whole of it."""

    provider = "rerank"
    path: ClassVar[str] = "rerank"

    def forms(self, query: str, texts: Sequence[str]) -> Sequence[Mapping[str, object]]:
        """`documents` and no more, as some refuse what they do not know; then TEI's `texts`."""
        model = {"model": self._options.model} if self._options.model else {}
        return ({**model, "query": query, "documents": list(texts)}, {"query": query, "texts": list(texts), "truncate": True})

    def read(self, reply: bytes) -> list[tuple[int, float]]:
        """The pairs of `results` (Cohere, Jina), of `data` (Voyage), or of the list itself (TEI). Raises `ValueError`."""
        decoded = _decoder.decode(reply)
        items = decoded if isinstance(decoded, list) else decoded.results if decoded.results is not None else decoded.data
        return [(item.index, _score_of(item)) for item in items or []]


def _score_of(item: _Item) -> float:
    score = item.relevance_score if item.relevance_score is not None else item.score
    if score is None:
        raise ValueError("a text without score")
    return score
