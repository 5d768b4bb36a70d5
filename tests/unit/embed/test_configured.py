"""Which provider the settings lead to for a space that projects are still in."""

import pytest

from service.embed.configured import choose_provider, provider_of
from service.embed.model_files import PACKAGED
from service.embed.provider import Space
from service.settings import Settings

SMALL = Space("openai", "text-embedding-3-small", 1536)
LARGE = Space("openai", "text-embedding-3-large", 3072)


def test_a_model_of_the_same_provider_is_reached_like_the_new_one() -> None:
    settings = Settings(embedding_provider="openai", embedding_key="k", embedding_model="text-embedding-3-large")
    found = provider_of(settings, SMALL)
    assert found is not None
    assert (choose_provider(settings).space, found.space) == (LARGE, SMALL)


def test_the_packaged_model_needs_no_setting() -> None:
    found = provider_of(Settings(embedding_provider="openai", embedding_key="k"), PACKAGED)
    assert found is not None
    assert found.space == PACKAGED


@pytest.mark.parametrize(("previous_key", "reached"), [("", False), ("k", True)])
def test_another_provider_is_reached_by_settings_of_its_own(previous_key: str, reached: bool) -> None:
    found = provider_of(Settings(embedding_previous_key=previous_key), SMALL)
    assert (found is not None and found.space == SMALL) is reached


@pytest.mark.parametrize("space", [Space("local", "a-folder-that-is-gone", 384), Space("gone", "model", 3)])
def test_a_model_that_is_not_to_be_had_is_none(space: Space) -> None:
    assert provider_of(Settings(embedding_previous_url="/nowhere"), space) is None
    assert provider_of(Settings(), space) is None
