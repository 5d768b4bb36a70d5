"""The providers that the settings name: the server's own, and those of spaces that projects are still in while they move to it.

In: settings. Out: providers; none where one cannot be had, since search by words goes on without.
"""

import structlog

from service.embed.choose import make_provider
from service.embed.model_files import PACKAGED
from service.embed.provider import EmbeddingProvider, EmbeddingUnavailable, ProviderOptions, Space
from service.errors import InvalidSetting
from service.remote import Secret
from service.settings import Settings

log = structlog.get_logger("muniment.embed")


def choose_provider(settings: Settings) -> EmbeddingProvider:
    """The provider that is set; none, and a warning, where it cannot work."""
    local = settings.embedding_provider == "local"
    options = ProviderOptions(
        model=None if local else settings.embedding_model,
        model_folder=settings.embedding_model if local else None,
        query_prefix=settings.embedding_query_prefix,
        document_prefix=settings.embedding_document_prefix,
        url=settings.embedding_url,
        key=Secret(settings.embedding_key) if settings.embedding_key else None,
        dim=settings.embedding_dim,
        window=settings.embedding_window,
    )
    try:
        return make_provider(settings.embedding_provider, options)
    except EmbeddingUnavailable as error:
        log.warning("no embeddings", provider=settings.embedding_provider, reason=error.message, hint=error.hint)
        return make_provider("none")


def provider_of(settings: Settings, space: Space) -> EmbeddingProvider | None:
    """The provider of another space than the server's own, while projects are in it; None, and a warning, where nothing leads to it.

    It is reached as MUNIMENT_EMBEDDING_PREVIOUS_* say, else like the server's own when both have the same provider.
    """
    local = space.provider == PACKAGED.provider
    if local and space != PACKAGED and not settings.embedding_previous_url:
        log.warning("queries go without vectors until projects have moved", model=space.model, reason="its folder is not known")
        return None
    same = space.provider == settings.embedding_provider
    key = settings.embedding_previous_key or (settings.embedding_key if same else "")
    options = ProviderOptions(
        model=None if local else space.model,  # a local one has its folder's name
        model_folder=settings.embedding_previous_url if local and space != PACKAGED else None,
        query_prefix=settings.embedding_previous_query_prefix,
        document_prefix=settings.embedding_previous_document_prefix,
        url=settings.embedding_previous_url or (settings.embedding_url if same else None),
        key=Secret(key) if key else None,
        dim=space.dim,
    )
    try:
        made = make_provider(space.provider, options)
    except (EmbeddingUnavailable, InvalidSetting) as error:
        log.warning("queries go without vectors until projects have moved", model=space.model, reason=error.message, hint=error.hint)
        return None
    return made if made.space == space else None
