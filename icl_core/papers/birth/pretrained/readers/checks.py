"""What is checked of a model's files before anything is allocated for them. What does not fit is
refused by a `BadModel` that says what was expected and what came."""

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import torch

from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.machine import device

BESIDE = 2**28  # bytes for what a forward pass makes
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
PROTOCOLS = (b"\x02", b"\x03", b"\x04", b"\x05")  # of pickle
LISTED = 3  # names in a sentence
INSTALL = "pip install -r icl_core/papers/birth/pretrained/requirements.txt"


class BadModel(BadSetting):
    """A model that cannot be read; the message is a sentence."""


class NoRoom(BadModel, NotHere):
    """A model for which there is no room just now."""


def check_file(path: Path) -> None:
    """Refuse what is no regular file, and what is pickled: by its name, or by how it begins."""
    if not path.is_file():
        raise BadModel(f"expected a file, and there is none at {path.name!r:.80}")
    with path.open("rb") as file:
        beginning = file.read(9)
    # pickle's first bytes, which a safetensors file may have too, but then a brace follows; and
    # those of a zip archive, in which torch.save wraps it
    by_pickle = beginning[:1] == b"\x80" and beginning[1:2] in PROTOCOLS and beginning[8:] != b"{"
    if path.suffix.lower() in PICKLED or by_pickle or beginning[:2] == b"PK":
        raise BadModel(
            f"{path.name} is pickled, and to open such a file may run code: expected GGUF or "
            "safetensors. Convert it where you trust it: safetensors.torch.save_file("
            'torch.load(path, weights_only=True), "model.safetensors")'
        )


def check_packages() -> None:
    """Refuse to open a model where the packages for it are not installed."""
    if find_spec("transformers") is None:
        raise BadModel(f"to open a model needs the package transformers: {INSTALL}")


def check_room(numbers: int, largest: int) -> None:
    """Refuse a model that does not fit the free memory: so many numbers in single precision, with
    the largest tensor twice while it is read."""
    needed = 4 * (numbers + largest) + BESIDE
    free = device.release()
    if needed > free:
        raise NoRoom(
            f"the model needs {needed / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} GiB are "
            "free"
        )


def check_finite(name: str, values: torch.Tensor) -> None:
    """Refuse a tensor that has NaN or infinity among its numbers."""
    # a sum is finite only if no entry is NaN or infinite, and needs no second array
    if not torch.isfinite(values.sum(dtype=torch.float64)):
        raise BadModel(f"{name} must hold finite numbers, and some are not")


def listed(names: Iterable[str]) -> str:
    """Return the first few names for a sentence."""
    every = sorted(names)
    if not every:
        return "none"
    more = f" and {len(every) - LISTED} more" if len(every) > LISTED else ""
    return ", ".join(name[:80] for name in every[:LISTED]) + more
