"""No embeddings, by choice: search works by words, entities and links alone.

In: any text. Out: `EmbeddingUnavailable`; nothing should ask, since `available` is false.
"""

from collections.abc import Sequence

from service.embed.provider import Embedded, EmbeddingUnavailable, ProviderOptions, Space, Vector


class NoProvider:
    """The provider of a server or workspace without vectors."""

    space = Space("none", "none", 0)
    window = 0
    available = False

    def __init__(self, options: ProviderOptions) -> None:
        del options

    async def embed_documents(self, texts: Sequence[str]) -> list[Embedded]:
        """Raises `EmbeddingUnavailable` unless there is nothing to embed."""
        if texts:
            raise self._unavailable()
        return []

    async def embed_query(self, text: str) -> Vector:
        """Raises `EmbeddingUnavailable`."""
        raise self._unavailable()

    async def close(self) -> None:
        """Nothing is held."""

    def _unavailable(self) -> EmbeddingUnavailable:
        return EmbeddingUnavailable(
            self.space, "unavailable", "Embeddings are turned off.", hint="Set MUNIMENT_EMBEDDING_PROVIDER to another provider."
        )
