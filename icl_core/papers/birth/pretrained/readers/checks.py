"""What is checked of a model's file before anything is allocated for it, and of every tensor as it
is read. What does not fit is refused by a `BadModel` that says what was expected and what came."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.machine import device
from icl_core.papers.birth.pretrained.readers.model import Shape

FILE = 2 * 2**30  # bytes that the files of a model may have together
PARAMETERS = 400 * 10**6
LAYERS = 100
HEADS = 100
WIDTH = 8192
TOKENS = 300_000
BESIDE = 2**28  # bytes for what a forward pass makes
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
PROTOCOLS = (b"\x02", b"\x03", b"\x04", b"\x05")  # of pickle
LISTED = 3  # names in a sentence


class BadModel(BadSetting):
    """A model that cannot be read; the message is a sentence."""


class NoRoom(BadModel, NotHere):
    """A model for which there is no room just now."""


def check_file(path: Path) -> None:
    """Refuse what is no regular file, is too large, or is pickled: by its name, or by how it
    begins."""
    if not path.is_file():
        raise BadModel(f"expected a file, and there is none at {path.name!r:.80}")
    size = path.stat().st_size
    if size > FILE:
        raise BadModel(f"{path.name} must have at most {FILE / 2**30:.0f} GiB, got {size} bytes")
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


def check_shape(shape: Shape) -> None:
    """Refuse sizes that are out of bounds or do not go together."""
    bounds = {
        "layers": (shape.layers, LAYERS),
        "heads per layer": (shape.heads, HEADS),
        "width of the stream": (shape.d, WIDTH),
        "width of a head": (shape.d_H, WIDTH),
        "width of the feed-forward layer": (shape.hidden, 8 * WIDTH),
        "tokens": (shape.N, TOKENS),
        "positions": (shape.T, 10**7),
    }
    for name, (value, most) in bounds.items():
        if not 1 <= value <= most:
            raise BadModel(f"{name} must be 1 to {most}, got {value}")
    if not 1 <= shape.key_heads <= shape.heads or shape.heads % shape.key_heads:
        raise BadModel(
            f"heads must come in equal groups, got {shape.heads} heads with {shape.key_heads} keys"
        )
    if shape.rotated % 2 or not 0 <= shape.rotated <= shape.d_H:
        raise BadModel(
            f"rotated dimensions must be an even number of at most {shape.d_H}, got {shape.rotated}"
        )
    if not 0 < shape.epsilon < 1 or (shape.rotated and not 1 < shape.base < 1e9):
        raise BadModel(
            f"epsilon must be 0 to 1 and the rotations' base above 1, got {shape.epsilon} and "
            f"{shape.base}"
        )


def check_tensors(
    wanted: Mapping[str, tuple[int, ...]], given: Mapping[str, tuple[int, ...]]
) -> None:
    """Refuse a file whose tensors have other names or shapes, and one of too many parameters."""
    missing = sorted(wanted.keys() - given.keys())
    unknown = sorted(given.keys() - wanted.keys())
    if missing or unknown:
        raise BadModel(
            f"expected {len(wanted)} tensors; missing: {_listed(missing)}; unknown: "
            f"{_listed(unknown)}"
        )
    for name, size in wanted.items():
        if given[name] != size:
            raise BadModel(f"{name} must have shape {size}, got {given[name]}")
    parameters = parameters_of(wanted)
    if parameters > PARAMETERS:
        raise BadModel(
            f"a model may have {PARAMETERS / 1e6:.0f} million parameters, got "
            f"{parameters / 1e6:.0f} million"
        )


def parameters_of(tensors: Mapping[str, tuple[int, ...]]) -> int:
    """Return how many numbers tensors of these shapes hold."""
    return sum(int(np.prod(size)) for size in tensors.values())


def check_room(tensors: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse a model that does not fit the free memory in single precision, with its largest tensor
    twice while it is read."""
    largest = max(int(np.prod(size)) for size in tensors.values())
    needed = 4 * (parameters_of(tensors) + largest) + BESIDE
    free = device.release()
    if needed > free:
        raise NoRoom(
            f"the model needs {needed / 2**30:.1f} GiB of memory, and {free / 2**30:.1f} GiB are "
            "free"
        )


def finite(name: str, values: np.ndarray) -> np.ndarray:
    """Return a tensor's values; refuse one that has NaN or infinity among them."""
    # a sum is finite only if no entry is NaN or infinite, and needs no second array
    if not np.isfinite(values.sum(dtype=np.float64)):
        raise BadModel(f"{name} must hold finite numbers, and some are not")
    return values


def _listed(names: list[str]) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(name[:80] for name in names[:LISTED]) + more
