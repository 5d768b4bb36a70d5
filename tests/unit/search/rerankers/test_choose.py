"""Settings make a reranker, or name what is missing."""

import pytest

from service.errors import InvalidSetting
from service.search.rerankers.choose import choose_reranker
from service.settings import Settings

KEY = "a key"


@pytest.mark.parametrize("settings", [Settings(rerank_provider="rerank"), Settings(rerank_provider="chat")])
def test_what_is_missing_is_named(settings: Settings) -> None:
    with pytest.raises(InvalidSetting) as caught:
        choose_reranker(settings)
    assert "MUNIMENT_RERANK_" in str(caught.value.hint)


async def test_settings_make_a_reranker() -> None:
    assert choose_reranker(Settings()) is None
    made = choose_reranker(Settings(rerank_provider="chat", rerank_model="m", rerank_key=KEY))
    assert made is not None
    assert (made.provider, made.model) == ("chat", "m")
    await made.close()
