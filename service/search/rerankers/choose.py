"""Makes the reranker that the settings name.

In: settings. Out: the reranker, None where there is to be none, or an error that says what to set. A new reranker is one file here and
one line below.
"""

from collections.abc import Mapping
from typing import Final

from service.errors import InvalidSetting
from service.remote import Endpoint, Secret
from service.search.rerankers.chat import ChatReranker
from service.search.rerankers.endpoint import EndpointReranker
from service.search.rerankers.remote import RemoteReranker, RerankOptions
from service.settings import Settings

_OPENAI: Final = "https://api.openai.com/v1"

RERANKERS: Mapping[str, type[RemoteReranker]] = {"chat": ChatReranker, "rerank": EndpointReranker}


def choose_reranker(settings: Settings) -> RemoteReranker | None:
    """Raises `InvalidSetting` where an address or a model is missing."""
    if settings.rerank_provider == "none":
        return None
    maker = RERANKERS[settings.rerank_provider]
    url = settings.rerank_url or (_OPENAI if maker is ChatReranker else None)
    if url is None:
        raise InvalidSetting("The reranker has no address.", hint="Set MUNIMENT_RERANK_URL.")
    if maker is ChatReranker and settings.rerank_model is None:
        raise InvalidSetting("A chat model that judges needs a name.", hint="Set MUNIMENT_RERANK_MODEL.")
    return maker(
        RerankOptions(
            Endpoint(url, Secret(settings.rerank_key) if settings.rerank_key else None),
            settings.rerank_model,
            settings.rerank_deadline_ms / 1000,
            settings.rerank_in_flight,
        )
    )
