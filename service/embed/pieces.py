"""Texts cut to what a model reads, and the vectors of the pieces put together again.

In: a text and a number of tokens; the vectors of pieces. Out: pieces, none of them blank; one vector.
"""

from collections.abc import Sequence

from service.embed.provider import Embedded, Failed, checked


def estimate_tokens(text: str) -> float:
    """Tokens that a model sees, rather too many: a third of one for an ASCII character, half of one for each byte of another."""
    ascii_bytes = len(text.encode("ascii", "ignore"))
    return ascii_bytes / 3 + (len(text.encode("utf-8", "replace")) - ascii_bytes) / 2


def fit(text: str, tokens: float) -> list[str]:
    """Pieces of a text that is not blank, in order, each within `tokens` by estimate."""
    if estimate_tokens(text) <= max(tokens, 1.0) or len(text) < 2:
        return [text]
    return [piece for half in halves(text) for piece in fit(half, tokens)]


def halves(text: str) -> list[str]:
    """Both halves, cut between words where there are any; a blank one is left out."""
    middle = len(text) // 2
    space = text.rfind(" ", middle // 2, middle)
    cut = space if space > 0 else middle
    return [half for half in (text[:cut], text[cut:]) if half.strip()]


def mean(pieces: Sequence[str], vectors: Sequence[Embedded], dim: int) -> Embedded:
    """The vector of a text from those of its pieces, each weighing as much as it is long; a piece without vector fails the text."""
    good = [vector for vector in vectors if not isinstance(vector, Failed)]
    if len(good) < len(vectors):
        return next(vector for vector in vectors if isinstance(vector, Failed))
    if len(good) == 1:
        return good[0]
    return checked([sum(len(piece) * vector[at] for piece, vector in zip(pieces, good, strict=True)) for at in range(dim)], dim)
