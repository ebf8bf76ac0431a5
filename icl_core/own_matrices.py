"""A visitor's own matrices of the simplified transformer (Section 4.2): a safetensors file,
checked. No torch.

    W_E [N, d]  P [T, d]  W_U [N, d]     embeddings of characters and of positions, and the
                output's, as rows
    R1 [d, d]                            W_O1 W_V1: what layer 1 makes of the token it attends to
    V2 [d, d]                            W_V2: the values of layer 2
    W_K2 [d, d]  W_O2 [d, d]
    W_K1 [d, d]                          may be left out: then the model has one layer
    W_F [d, d]                           may be left out: then it has no feed-forward layer

Matrices act on columns, and the score of a query x and a key y is x^T W_K y / sqrt d. Row i of W_E
and of W_U stands for the i-th of the N most frequent characters of the text, in the order of
Unicode. The file of a trained run has the same under final/ and frozen/, and is taken too. They are
kept in float32 by the digest of that.

<cache>/matrices/<digest>.safetensors
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from icl_core.contract.knobs import BadSetting, NotHere
from icl_core.machine.folders import cache_folder, read_regular_file

LARGEST = 64 * 2**20  # bytes of a file
SHAPES = {
    "W_E": ("N", "d"),
    "P": ("T", "d"),
    "W_U": ("N", "d"),
    "R1": ("d", "d"),
    "V2": ("d", "d"),
    "W_K1": ("d", "d"),
    "W_K2": ("d", "d"),
    "W_O2": ("d", "d"),
    "W_F": ("d", "d"),
}
OPTIONAL = ("W_K1", "W_F")
SIZES = {"N": (4, 256), "T": (32, 256), "d": (16, 512)}
DECIDED = ("N", "T", "d", "layers", "feed_forward")  # settings of a config
_DTYPES = {"F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8"}
_TAKEN = "float16, bfloat16, float32 or float64"
_OF_A_RUN = ("final", "frozen")  # folders of a run's file
_FEW = 8  # names in a sentence


@dataclass(frozen=True, eq=False)
class Matrices:
    """The matrices by name, float32; of a file just read also what else was in it, `left_out`."""

    named: Mapping[str, np.ndarray]
    left_out: tuple[str, ...] = ()

    @property
    def fields(self) -> dict[str, Any]:
        """The settings of a config that they decide."""
        (N, d), T = self.named["W_E"].shape, len(self.named["P"])
        return dict(
            zip(DECIDED, (N, T, d, 1 + ("W_K1" in self.named), "W_F" in self.named), strict=True)
        )

    @cached_property
    def content(self) -> bytes:
        """The file's bytes, of which there are none others for equal matrices."""
        return save(dict(self.named))

    @cached_property
    def digest(self) -> str:
        """The name by which they are kept."""
        return _digest(self.content)


def check_size(size: int) -> None:
    """Refuse a file of so many bytes if they are too many."""
    if size > LARGEST:
        raise BadSetting(
            f"matrices must be at most {LARGEST:,} bytes ({LARGEST // 2**20} MB), got {size:,} "
            "bytes"
        )


def read(content: bytes) -> Matrices:
    """The matrices of a file. `BadSetting` says what was expected and what came."""
    check_size(len(content))
    try:
        parts = dict(deserialize(content))
    except SafetensorError as problem:
        got = f"{len(content):,} bytes that are none" if content else "an empty file"
        raise BadSetting(
            f"matrices must be a whole safetensors file, got {got} ({problem!s:.120})"
        ) from problem
    named = _named(parts)
    missing = [name for name in SHAPES if name not in named and name not in OPTIONAL]
    if missing:
        found = _few(sorted(parts)) or "none"
        raise BadSetting(
            f"matrices must be named {', '.join(SHAPES)}; missing: {', '.join(missing)}; got "
            f"{found}"
        )
    taken = {name: named[name] for name in SHAPES if name in named}
    _check_shapes({name: tuple(parts[given]["shape"]) for name, given in taken.items()})
    arrays = {name: _array(name, parts[given]) for name, given in taken.items()}
    return Matrices(arrays, _left_out(parts, taken.values()))


def _named(parts: Iterable[str]) -> dict[str, str]:
    """What each matrix is called in a file: by its name, or as in the file of a run."""
    found: dict[str, str] = {}
    for name in sorted(parts):
        folder, _, rest = name.rpartition("/")
        short = rest if folder in _OF_A_RUN else name
        if short in found:
            raise BadSetting(f"{short} must be there once, got {found[short]} and {name}")
        if short in SHAPES:
            found[short] = name
    return found


def _left_out(names: Iterable[str], taken: Collection[str]) -> tuple[str, ...]:
    """What is not read: by name, but the many of a run's file together."""
    run = any(name.partition("/")[0] in _OF_A_RUN for name in taken)
    others = sorted(name for name in names if name not in taken)
    loose = [name for name in others if not (run and "/" in name)]
    return (*loose, *(["the rest of the run's file"] if len(loose) < len(others) else []))


def _check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        if len(shape) != 2:
            raise BadSetting(
                f"{name} must be a matrix [{', '.join(SHAPES[name])}], got the shape {list(shape)}"
            )
    sizes = {"N": shapes["W_E"][0], "T": shapes["P"][0], "d": shapes["W_E"][1]}
    for letter, (low, high) in SIZES.items():
        if not low <= sizes[letter] <= high:
            where = (
                "rows of P" if letter == "T" else f"{'rows' if letter == 'N' else 'columns'} of W_E"
            )
            raise BadSetting(
                f"{letter}, the {where}, must be from {low} to {high}, got {sizes[letter]}"
            )
    for name, shape in shapes.items():
        expected = [sizes[letter] for letter in SHAPES[name]]
        if list(shape) != expected:
            letters = ", ".join(SHAPES[name])
            raise BadSetting(
                f"{name} must have the shape [{letters}] = {expected}, got {list(shape)}"
            )


def _array(name: str, part: Mapping[str, Any]) -> np.ndarray:
    """A part of a file in float32, every number finite."""
    if part["dtype"] not in _DTYPES:
        raise BadSetting(f"{name} must be {_TAKEN}, got {part['dtype']}")
    raw = np.frombuffer(part["data"], _DTYPES[part["dtype"]]).reshape(part["shape"])
    if part["dtype"] == "BF16":  # the upper half of a float32
        raw = (raw.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore"):
        made = raw.astype(np.float32)
    bad = int((~np.isfinite(made)).sum())
    if bad:
        kind = "NaN" if np.isnan(made).any() else "infinite, or too large for float32"
        raise BadSetting(
            f"every number of {name} must be finite, got {bad:,} that "
            f"{'is' if bad == 1 else 'are'} {kind}"
        )
    return made


def describe(found: Matrices) -> list[str]:
    """What was found in a file: sentences for whoever gave it."""
    has = found.fields
    parts = ["one layer, as there is no W_K¹" if has["layers"] == 1 else "two layers"]
    parts.append(
        "a feed-forward layer"
        if has["feed_forward"]
        else "no feed-forward layer, as there is no W_F"
    )
    said = [
        f"{', '.join(found.named)}: N = {has['N']}, T = {has['T']}, d = {has['d']}; "
        f"{'; '.join(parts)}."
    ]
    if found.left_out:
        said.append(f"Not read: {_few(found.left_out)}.")
    return said


def _few(names: Iterable[str]) -> str:
    shown = [f"{name:.40}" for name in names]
    return ", ".join(shown[:_FEW]) + (f" and {len(shown) - _FEW} more" if len(shown) > _FEW else "")


def path_of(digest: str) -> Path:
    """Where the matrices called `digest` lie, if they do."""
    return cache_folder() / "matrices" / f"{digest}.safetensors"


def load(digest: str) -> Matrices:
    """The matrices that are kept here; `NotHere` if they are not."""
    try:
        status = path_of(digest).stat()
        return _load(path_of(digest), (status.st_mtime_ns, status.st_size))
    except OSError as problem:
        raise NotHere(
            f"the matrices {digest} must be ones that were given on this computer, got ones "
            "that are not here"
        ) from problem
    except ValueError as problem:
        raise NotHere(
            f"the matrices {digest} must be as they were kept, got others: give the file again"
        ) from problem


@lru_cache(maxsize=4)
def _load(path: Path, stamp: tuple[int, int]) -> Matrices:
    content = read_regular_file(path, LARGEST)
    if _digest(content) != path.stem:
        raise ValueError(f"the digest must be {path.stem}, got {_digest(content)}")
    found = read(content)
    for array in found.named.values():
        array.flags.writeable = False
    return found


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
