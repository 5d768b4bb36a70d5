"""Embeddings by Ollama.

In: texts. Out: the body that asks for their vectors, and the vectors of a reply.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from service.embed.remote_provider import Model, RemoteProvider


class _Reply(msgspec.Struct, frozen=True):
    embeddings: list[Any]


_decoder = msgspec.json.Decoder(_Reply)


class OllamaProvider(RemoteProvider):
    """`url` is the server's address, before `/api/embed`."""

    name = "ollama"
    default_url = "http://127.0.0.1:11434"
    default_model = "nomic-embed-text"
    path = "api/embed"
    models: ClassVar[Mapping[str, Model]] = {
        "nomic-embed-text": Model(768, 2_048),
        "mxbai-embed-large": Model(1024, 512),
        "all-minilm": Model(384, 256),
        "bge-m3": Model(1024, 8_192),
    }

    def body(self, texts: Sequence[str]) -> Mapping[str, object]:
        """The request for the vectors of texts; `truncate` is off, so that what is too long is said and not cut."""
        return {"model": self._model, "input": list(texts), "truncate": False}

    def read(self, reply: bytes) -> list[object]:
        """The vectors in the order of the texts. Raises `ValueError`."""
        return list(_decoder.decode(reply).embeddings)
