"""Makes the embedding provider that a setting names.

In: a provider's name and its options. Out: the provider, or an error that says what to set or install. A new provider is one file
in `providers/` and one line here.
"""

from collections.abc import Callable, Mapping

from service.embed.model_files import find_model
from service.embed.provider import EmbeddingProvider, ProviderOptions
from service.embed.providers.none import NoProvider
from service.embed.providers.ollama import OllamaProvider
from service.embed.providers.openai import OpenAIProvider
from service.errors import InvalidSetting


def make_provider(name: str, options: ProviderOptions | None = None) -> EmbeddingProvider:
    """Raises `InvalidSetting` for an unknown name, `EmbeddingUnavailable` when what the provider needs is not there."""
    maker = PROVIDERS.get(name)
    if maker is None:
        raise InvalidSetting(f"There is no embedding provider {name!r}.", hint=f"Choose one of: {', '.join(sorted(PROVIDERS))}.")
    return maker(options or ProviderOptions())


def _make_local(options: ProviderOptions) -> EmbeddingProvider:
    files = find_model(options.model_folder, options.model)
    # Imported late: its libraries are an extra, and take 40 MB that a server without local embeddings need not spend.
    from service.embed.providers.local import LocalProvider

    return LocalProvider(files, options)


PROVIDERS: Mapping[str, Callable[[ProviderOptions], EmbeddingProvider]] = {
    "local": _make_local,
    "none": NoProvider,
    "ollama": OllamaProvider,
    "openai": OpenAIProvider,
}
