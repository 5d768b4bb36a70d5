"""Embeddings by OpenAI's API: OpenAI itself, and what speaks like it (vLLM, TEI, LiteLLM, LM Studio, Azure).

In: texts. Out: the body that asks for their vectors, and the vectors of a reply.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from service.embed.provider import ProviderOptions
from service.embed.remote_provider import Model, RemoteProvider
from service.errors import InvalidSetting

_WINDOW: Final = 8_191


class _Item(msgspec.Struct, frozen=True):
    embedding: Any  # checked for each text: one that is not numbers must not spoil the others
    index: int | None = None


class _Reply(msgspec.Struct, frozen=True):
    data: list[_Item]


_decoder = msgspec.json.Decoder(_Reply)


class OpenAIProvider(RemoteProvider):
    """`url` is the address before `/embeddings`; for Azure that of the deployment, with its `api-version`."""

    name = "openai"
    default_url = "https://api.openai.com/v1"
    default_model = "text-embedding-3-small"
    path = "embeddings"
    models: ClassVar[Mapping[str, Model]] = {
        "text-embedding-3-small": Model(1536, _WINDOW, shortens=True),
        "text-embedding-3-large": Model(3072, _WINDOW, shortens=True),
        "text-embedding-ada-002": Model(1536, _WINDOW),
    }

    def __init__(self, options: ProviderOptions) -> None:
        """Raises `InvalidSetting` without a key where OpenAI itself is meant."""
        if options.url is None and options.key is None:
            raise InvalidSetting("OpenAI wants a key.", hint="Set MUNIMENT_EMBEDDING_KEY, or MUNIMENT_EMBEDDING_URL for another server.")
        super().__init__(options)

    def body(self, texts: Sequence[str]) -> Mapping[str, object]:
        """The request for the vectors of texts."""
        shortened = {"dimensions": self._shortened} if self._shortened else {}
        return {"model": self._model, "input": list(texts), "encoding_format": "float", **shortened}

    def read(self, reply: bytes) -> list[object]:
        """The vectors in the order of the texts, by `index` where it is given. Raises `ValueError`."""
        items = _decoder.decode(reply).data
        if all(item.index is None for item in items):
            return [item.embedding for item in items]
        found = {item.index: item.embedding for item in items}
        if set(found) != set(range(len(items))):
            raise ValueError("the indexes are not those of the texts")
        return [found[place] for place in range(len(items))]
