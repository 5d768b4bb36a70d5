"""Trying a provider's settings out before they are kept.

In: a provider's name and its options. Out: the space that its vectors belong to, or an `InvalidRequest` in our own words.
"""

import asyncio
from typing import Final

import msgspec

from service.embed.choose import make_provider
from service.embed.provider import SAID, EmbeddingUnavailable, Failed, ProviderOptions, Space, checked
from service.errors import InvalidRequest, InvalidSetting

_TIME_S: Final = 10.0
_TEXT: Final = "ok"
_SAID: Final = {"wrong_size": "its vectors are of another size than `dim`", "refused": SAID["refused"]}


async def try_out(name: str, options: ProviderOptions) -> Space | None:
    """Has one text embedded, as a query and as a document; None for a provider that is none by choice. Raises `InvalidRequest`."""
    options = msgspec.structs.replace(options, query_time_s=_TIME_S, document_time_s=_TIME_S)
    try:
        made = await asyncio.to_thread(make_provider, name, options)
    except (InvalidSetting, EmbeddingUnavailable) as error:
        raise InvalidRequest(f"The provider cannot be used: {error.message}", hint="Look at url, key, model and dim.") from None
    try:
        if not made.available:
            return None
        async with asyncio.timeout(2 * _TIME_S):
            (answer,) = await made.embed_documents([_TEXT])
            if isinstance(answer := checked(answer, made.space.dim), Failed):
                raise _refused(made.space, answer.reason, _SAID.get(answer.reason, SAID["bad_vector"]))
            await made.embed_query(_TEXT)
    except TimeoutError:
        raise _refused(made.space, "timeout", SAID["timeout"]) from None
    except EmbeddingUnavailable as error:
        raise _refused(made.space, error.reason, SAID[error.reason]) from None
    finally:
        await made.close()
    return made.space


def _refused(space: Space, reason: str, said: str) -> InvalidRequest:
    return InvalidRequest(
        f"The provider gave no vector with these settings: {said}. Nothing was changed.",
        hint="Look at url, key, model and dim; without dim the size is measured.",
        provider=space.provider,
        model=space.model,
        reason=reason,
    )
