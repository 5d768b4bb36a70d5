"""What an embedding provider is, and what a vector must be before it may be stored or asked with.

In: texts. Out: for each text a vector of the provider's space or a `Failed` with a stable reason; a call that fails as a whole
raises `EmbeddingUnavailable`.
"""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias, cast

import msgspec

from service.errors import MunimentError
from service.remote import Reason, Retries, Secret

Vector: TypeAlias = "array[float]"
"""32-bit floats of length one."""

FailureReason: TypeAlias = Literal["wrong_size", "not_numbers", "not_finite", "all_zero", "empty_text", "refused", "no_answer"]
UnavailableReason: TypeAlias = Reason | Literal["refused", "bad_vector"]

_LEAST_NORM = 1e-12


class Space(msgspec.Struct, frozen=True):
    """Where vectors can be compared: those of two spaces never are."""

    provider: str
    model: str
    dim: int


class ProviderOptions(msgspec.Struct, frozen=True):
    """What a server or workspace sets for its provider; a provider reads what concerns it.

    `model_folder` holds `model.onnx` and `tokenizer.json`; the prefixes go before each query and document, for models that want them.
    The rest is for providers that are reached over HTTP: `url` and `key` say where; `dim` the size of the vectors and `window` the
    tokens that the model reads of one text, where they are not known; `batch_items` and `batch_tokens` bound one request.
    `query_time_s` is what a query's vector may take, all tries together, `document_time_s` what the texts of one request may.
    """

    model: str | None = None
    model_folder: str | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    url: str | None = None
    key: Secret | None = None
    dim: int | None = None
    window: int | None = None
    batch_items: int = 32
    batch_tokens: int = 16_000
    query_time_s: float = 10.0
    document_time_s: float = 60.0
    retries: Retries = Retries()


class Failed(msgspec.Struct, frozen=True):
    """One text that got no vector, and why, in words that never come from the provider."""

    reason: FailureReason

    @property
    def lasting(self) -> bool:
        """True when asking again with the same text cannot help."""
        return self.reason == "empty_text"


Embedded: TypeAlias = "Vector | Failed"


SAID: Final[Mapping[UnavailableReason, str]] = {
    "timeout": "it did not answer in time",
    "unreachable": "nothing answers at its address",
    "key_refused": "it refuses the key",
    "payment_required": "it wants to be paid",
    "not_found": "its address knows no such model or path",
    "rate_limited": "it was asked too often",
    "refused": "it takes no text at all",
    "unavailable": "it is not available",
    "bad_vector": "what it gave cannot be compared",
}
"""The reasons in words, which never come from the provider."""


class EmbeddingUnavailable(MunimentError):
    """The embedding provider gives no vector at the moment."""

    code = "embedding_unavailable"
    status = 503
    hint = "Search still answers by words."

    def __init__(self, space: Space, reason: UnavailableReason, message: str | None = None, *, hint: str | None = None) -> None:
        said = message or f"The embedding provider {space.provider} ({space.model}) gives no vector: {SAID[reason]} ({reason})."
        super().__init__(said, hint=hint, provider=space.provider, model=space.model, reason=reason)
        self.space = space
        self.reason: UnavailableReason = reason


class EmbeddingProvider(Protocol):
    """Makes vectors of one space. Instances are compared by identity: two of them may stand for two keys or addresses."""

    @property
    def space(self) -> Space:
        """The triple that every vector of this provider belongs to."""
        ...

    @property
    def window(self) -> int:
        """Tokens the model reads of one text."""
        ...

    @property
    def available(self) -> bool:
        """False when there are no vectors by choice, so that nothing need be asked."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
        """One answer for each text, in order; one bad text fails alone. Raises `EmbeddingUnavailable` when all fail."""
        ...

    async def embed_query(self, text: str) -> Vector:
        """The vector to search with. Raises `EmbeddingUnavailable`."""
        ...

    async def close(self) -> None:
        """Ends threads and connections; the provider cannot be used again."""
        ...


def checked(vector: object, dim: int) -> Embedded:
    """Brings what a provider gave to length one, so that it fits 16-bit floats; refuses what cosine cannot rank.

    Takes any sequence of numbers, or a `Failed`, which it hands on.
    """
    if isinstance(vector, Failed):
        return vector
    try:
        values = array("d", cast("Iterable[float]", vector))
    except (TypeError, ValueError, OverflowError):
        return Failed("not_numbers")
    if len(values) != dim:
        return Failed("wrong_size")
    norm = math.hypot(*values)
    if not math.isfinite(norm):
        return Failed("not_finite")
    if norm < _LEAST_NORM:
        return Failed("all_zero")
    return array("f", [value / norm for value in values])


def vector_text(vector: Vector) -> str:
    """The vector as pgvector reads it; five digits are more than `halfvec` keeps."""
    return f"[{','.join([f'{value:.5g}' for value in vector])}]"
