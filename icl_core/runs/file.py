"""The file format of a run: one safetensors file whose metadata hold settings and circumstances.

The metadata are one key, because safetensors writes several keys in a different order every time
and equal runs must give equal files. Files are read, not mapped: if another process cut a mapped
file short, the reader would be killed (SIGBUS).

A shipped file may leave out tensors that other shipped runs have too; its record says under
`shared` by which name `icl_core.runs.shared_tensors` stores each of them.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from icl_core.figures.character_labels import shown_name

Record = dict[str, Any]
Entries = dict[str, Any]  # of a file's header: by tensor its dtype, shape and offsets
TensorSizes = dict[str, tuple[tuple[int, ...], int]]  # the shape and the bytes of each tensor
ReadShared = Callable[[str], np.ndarray]  # the name of a shared tensor to the tensor

IDENTITY = ("experiment", "version", "config")
_METADATA_ENTRY = "__metadata__"  # in a header, beside the tensors
_METADATA_KEY = "run"
_INTEGERS = (f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_DTYPES = ("float16", "float32", "float64", *_INTEGERS, "bool")
_NOT_OF_THIS_FORM = (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)
_LONGEST_HEADER = 16 * 2**20  # bytes; a file that states a longer header is not one of ours


class Damaged(Exception):
    """A file that is not a run, or no longer the run that was written.

    The message says what was expected and what was read instead.
    """


def canonical(value: Any) -> str:
    """Return the one JSON text of equal values: keys sorted, whole floats written as integers."""
    return json.dumps(_with_integers(value), sort_keys=True, separators=(",", ":"))


def _with_integers(value: Any) -> Any:
    if value is None or isinstance(value, (str, int)):  # first: most values, and quick to tell
        return value
    if isinstance(value, Mapping):
        return {str(name): _with_integers(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_integers(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def digest(tensors: Mapping[str, np.ndarray], record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the tensors, the experiment, its version and the settings.

    When and where the run was computed does not count: equal digests mean equal runs.
    """
    hashed = hashlib.sha256(canonical({name: record[name] for name in IDENTITY}).encode())
    for name in sorted(tensors):
        array = tensors[name]
        hashed.update(f"\n{name} {array.dtype.name} {array.shape}\n".encode())
        hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()


def pack(tensors: Mapping[str, np.ndarray], record: Mapping[str, Any]) -> bytes:
    """Return the bytes of the file that holds `tensors` and `record`.

    `record` is JSON and has at least `experiment`, `version` and `config`. The tensors that its
    `shared` names, if any, count in the digest but are left out of the file.

    Raises `TypeError` for a dtype that the file cannot hold.
    """
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    for name, array in arrays.items():
        if array.dtype.name not in _DTYPES or array.dtype.byteorder == ">":
            raise TypeError(
                f"tensor {name!r} must be of one of the dtypes {', '.join(_DTYPES)}, got "
                f"{array.dtype}"
            )
    sealed = {**record, "digest": digest(arrays, record)}
    metadata = json.dumps({**sealed, "seal": _seal(sealed)}, sort_keys=True)
    shared = record.get("shared", {})
    stored = {name: array for name, array in arrays.items() if name not in shared}
    return save(stored, {_METADATA_KEY: metadata})


def _seal(record: Mapping[str, Any]) -> str:
    """Return a hash of the whole record.

    The digest leaves most of the record out, and a flipped bit in a metric must be noticed too.
    """
    return hashlib.sha256(canonical(record).encode()).hexdigest()


def read_record(path: Path) -> Record:
    """Return the record of a file, with its `digest`. Only the file's header is read.

    Raises `Damaged`, and `OSError` if the file cannot be read.
    """
    return _record_in(_read_entries(path))


def read_record_and_sizes(path: Path) -> tuple[Record, TensorSizes]:
    """Return the record of a file, and the shape and the bytes of each tensor in it. Only the
    file's header is read.

    Raises `Damaged`, and `OSError` if the file cannot be read.
    """
    entries = _read_entries(path)
    return _record_in(entries), _sizes_in(entries)


def tensor_sizes(path: Path) -> TensorSizes:
    """Return the shape and the bytes of each tensor in a file, which needs no record. Only the
    file's header is read.

    Raises `Damaged`, and `OSError` if the file cannot be read.
    """
    return _sizes_in(_read_entries(path))


def read(path: Path, read_shared: ReadShared | None = None) -> tuple[Record, dict[str, np.ndarray]]:
    """Return the record and the tensors of a file; see `unpack`.

    Raises `Damaged`, and `OSError` if the file cannot be read.
    """
    return unpack(path.read_bytes(), read_shared)


def unpack(
    content: bytes, read_shared: ReadShared | None = None
) -> tuple[Record, dict[str, np.ndarray]]:
    """Return the record and the tensors in a file's bytes, checked against the digest.

    The tensors are in the order of their names and read-only. `read_shared` returns a tensor that
    the file leaves out, by its name among the shared ones. Raises `Damaged`.
    """
    header = content[8 : 8 + int.from_bytes(content[:8], "little")]
    record = _record_in(_parse_entries(header, len(content)))
    try:
        tensors = load(content)
    except (SafetensorError, KeyError, TypeError, ValueError) as problem:
        raise Damaged(f"expected a safetensors file, got {problem!r:.200}") from problem
    for name, shared_name in record.get("shared", {}).items():
        if read_shared is None:
            raise Damaged(f"expected a file with all its tensors, got one without {name}")
        tensors[name] = read_shared(shared_name)
    tensors = dict(sorted(tensors.items()))
    actual_digest = digest(tensors, record)
    if actual_digest != record["digest"]:
        raise Damaged(
            f"expected the digest {record['digest']:.12}…, got {actual_digest:.12}…: the content "
            "has changed"
        )
    for array in tensors.values():
        array.flags.writeable = False
    return record, tensors


def _read_entries(path: Path) -> Entries:
    """Return the entries in the header of a file; raises `Damaged` and `OSError`."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if length > min(size, _LONGEST_HEADER):
            raise Damaged(
                f"expected a safetensors file, got {size} bytes with a header of {length}"
            )
        return _parse_entries(file.read(length), size)


def _parse_entries(header: bytes, size: int) -> Entries:
    """Return the entries in the header of a file of `size` bytes, those of its tensors and the
    metadata; raises `Damaged`."""
    try:
        entries = json.loads(header)
        ends = [
            entry["data_offsets"][1] for name, entry in entries.items() if name != _METADATA_ENTRY
        ]
        expected_size = 8 + len(header) + max(ends, default=0)
    except _NOT_OF_THIS_FORM as problem:
        raise Damaged(f"expected the header of a run, got {problem!r:.200}") from problem
    if size != expected_size:
        raise Damaged(f"expected {expected_size} bytes, got {size}")
    return entries


def _record_in(entries: Entries) -> Record:
    """Return the record in the entries of a header; raises `Damaged`."""
    try:
        record = json.loads(entries[_METADATA_ENTRY][_METADATA_KEY])
        if record.pop("seal") != _seal(record):
            raise Damaged("expected the metadata that were written, got others: their hash differs")
    except _NOT_OF_THIS_FORM as problem:
        raise Damaged(f"expected the header of a run, got {problem!r:.200}") from problem
    if not is_run_record(record):
        raise Damaged(
            f"expected a run's {', '.join(IDENTITY)} in the metadata, got "
            f"{shown_name(', '.join(sorted(record)), 200)}"
        )
    return record


def is_run_record(value: Any) -> bool:
    """Return whether a value has what the record of every run has, each of its type."""
    if not isinstance(value, dict) or not {*IDENTITY, "digest"} <= set(value):
        return False
    return (
        isinstance(value["experiment"], str)
        and isinstance(value["config"], dict)
        and are_names(value.get("shared", {}))
    )


def are_names(value: Any) -> bool:
    """Return whether a value gives the stored name of each of some tensors."""
    return isinstance(value, dict) and all(isinstance(name, str) for name in value.values())


def _sizes_in(entries: Entries) -> TensorSizes:
    """Return the shape and the bytes of each tensor in the entries of a header; raises `Damaged`
    unless they are whole numbers."""
    sizes = {}
    for name, entry in entries.items():
        if name == _METADATA_ENTRY:
            continue
        shape = entry.get("shape")
        offsets = entry["data_offsets"]
        if not (_are_counts(shape) and _are_counts(offsets) and len(offsets) == 2):
            raise Damaged(
                "expected a shape and two offsets of whole numbers, got "
                f"{shape!r:.80} and {offsets!r:.80}"
            )
        begin, end = offsets
        sizes[name] = (tuple(shape), max(end - begin, 0))
    return sizes


def _are_counts(value: Any) -> bool:
    """Return whether a value is a list of whole numbers from 0."""
    return isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)
