"""The file of a run: one safetensors file whose metadata hold settings and circumstances, and
checks on both.

The metadata are one key: safetensors writes several in another order every time, and equal runs
must give equal files. Files are read, not mapped: if somebody cut a mapped file short, the reader
would die of it (SIGBUS).
"""

import hashlib
import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

Record = dict[str, Any]

IDENTITY = ("experiment", "version", "config")
_KEY = "run"  # of the metadata
_WHOLE = (f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_DTYPES = ("float16", "float32", "float64", *_WHOLE, "bool")
_LONGEST_HEADER = 16 * 2**20  # bytes; a length beyond it is no header of ours


class Damaged(Exception):
    """A file that is no run, or no longer the one that was written; the message says what was
    expected and came."""


def canonical(value: Any) -> str:
    """JSON of which there is one for equal values: keys sorted, whole floats as integers."""
    return json.dumps(_whole(value), sort_keys=True, separators=(",", ":"))


def _whole(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _whole(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def digest(tensors: Mapping[str, np.ndarray], record: Mapping[str, Any]) -> str:
    """SHA-256 of the tensors and of what was asked for, not of when and where: equal digests, equal
    runs."""
    total = hashlib.sha256(canonical({name: record[name] for name in IDENTITY}).encode())
    for name in sorted(tensors):
        array = tensors[name]
        total.update(f"\n{name} {array.dtype.name} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


def pack(tensors: Mapping[str, np.ndarray], record: Mapping[str, Any]) -> bytes:
    """The file's bytes. `record` is JSON and names at least `experiment`, `version` and `config`.

    Raises `TypeError` for a dtype that the file cannot hold.
    """
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    for name, array in arrays.items():
        if array.dtype.name not in _DTYPES or array.dtype.byteorder == ">":
            raise TypeError(
                f"tensor {name!r} must be of one of the dtypes {', '.join(_DTYPES)}, got "
                f"{array.dtype}"
            )
    kept = {**record, "digest": digest(arrays, record)}
    return save(arrays, {_KEY: json.dumps({**kept, "seal": _seal(kept)}, sort_keys=True)})


def _seal(kept: Mapping[str, Any]) -> str:
    """A hash of the record, most of which the digest leaves out: a flipped bit in a metric must be
    seen too."""
    return hashlib.sha256(canonical(kept).encode()).hexdigest()


def read_record(path: Path) -> Record:
    """The record of the file, with its `digest`; reads the header alone. Raises `Damaged`, or
    `OSError`."""
    size = _size(path)
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(size, _LONGEST_HEADER):
            raise Damaged(
                f"expected a safetensors file, got {size} bytes with a header of {length}"
            )
        return _record(file.read(length), size)


def read(path: Path) -> tuple[Record, dict[str, np.ndarray]]:
    """The record and the tensors, read-only, checked against the digest. Raises `Damaged`, or
    `OSError`."""
    _size(path)
    return unpack(path.read_bytes())


def unpack(content: bytes) -> tuple[Record, dict[str, np.ndarray]]:
    """What `read` gives, of a file's bytes. Raises `Damaged`."""
    record = _record(content[8 : 8 + int.from_bytes(content[:8], "little")], len(content))
    try:
        tensors = dict(sorted(load(content).items()))
    except (SafetensorError, KeyError, TypeError, ValueError) as problem:
        raise Damaged(f"expected a safetensors file, got {problem!r:.200}") from problem
    found = digest(tensors, record)
    if found != record["digest"]:
        raise Damaged(
            f"expected the digest {record['digest']:.12}…, got {found:.12}…: the content has "
            "changed"
        )
    for array in tensors.values():
        array.flags.writeable = False
    return record, tensors


def _size(path: Path) -> int:
    """The file's bytes. Only a regular file is opened: a pipe would keep its reader waiting for
    ever."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise Damaged(f"expected a regular file, got {stat.filemode(status.st_mode)}")
    return status.st_size


def _record(header: bytes, size: int) -> Record:
    """The record in the header of a file of `size` bytes, checked."""
    try:
        entries = json.loads(header)
        meta = entries.pop("__metadata__")
        kept = (
            json.loads(meta[_KEY]) if _KEY in meta else meta
        )  # former files: a key a field, each JSON
        if kept.pop("seal") != _seal(kept):
            raise Damaged("expected the metadata that were written, got others: their hash differs")
        if _KEY not in meta:
            kept = {
                name: text if name == "digest" else json.loads(text) for name, text in kept.items()
            }
        expected = (
            8
            + len(header)
            + max((entry["data_offsets"][1] for entry in entries.values()), default=0)
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise Damaged(f"expected the header of a run, got {problem!r:.200}") from problem
    if size != expected:
        raise Damaged(f"expected {expected} bytes, got {size}")
    if not {*IDENTITY, "digest"} <= set(kept) or not isinstance(kept["config"], dict):
        raise Damaged(
            f"expected a run's {', '.join(IDENTITY)} in the metadata, got {', '.join(sorted(kept))}"
        )
    return kept
