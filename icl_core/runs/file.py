"""The file of a run: one safetensors file whose metadata hold settings and circumstances, and checks on both.

Written here by hand (length, JSON header, buffer), because safetensors' own writer puts metadata in another order
every time, and equal runs must give equal files. Read by safetensors, which checks dtypes, shapes and offsets.
"""

import hashlib
import json
import os
import struct
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

Record = dict[str, Any]

IDENTITY = ("experiment", "version", "config")
_DTYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
}
_LONGEST_HEADER = 16 * 2**20  # bytes; a length beyond it is no header of ours


class Damaged(Exception):
    """A file that is no run, or no longer the one that was written; the message says what was expected and came."""


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
    """SHA-256 of the tensors and of what was asked for, not of when and where: equal digests, equal runs."""
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
    arrays = {name: np.asarray(array) for name, array in tensors.items()}
    for name, array in arrays.items():
        if array.dtype.name not in _DTYPES or array.dtype.byteorder == ">":
            raise TypeError(f"tensor {name!r} must be of one of the dtypes {', '.join(_DTYPES)}, got {array.dtype}")
    meta = {name: json.dumps(value, sort_keys=True) for name, value in record.items()}
    meta["digest"] = digest(arrays, record)
    meta["seal"] = _seal(meta)
    entries: dict[str, Any] = {"__metadata__": dict(sorted(meta.items()))}
    offset = 0
    # the widest types first, so that every tensor is aligned in a mapped file
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    for name in order:
        array, end = arrays[name], offset + arrays[name].nbytes
        entries[name] = {"dtype": _DTYPES[array.dtype.name], "shape": array.shape, "data_offsets": [offset, end]}
        offset = end
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return b"".join([struct.pack("<Q", len(header)), header, *(arrays[name].tobytes() for name in order)])


def _seal(meta: Mapping[str, str]) -> str:
    """A hash of the metadata, which the digest leaves out: a flipped bit in a metric must be seen too."""
    kept = {name: text for name, text in meta.items() if name != "seal"}
    return hashlib.sha256(canonical(kept).encode()).hexdigest()


def read_record(path: Path) -> Record:
    """The record of the file, with its `digest`; reads the header alone. Raises `Damaged`, or `OSError`."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _LONGEST_HEADER:
                raise Damaged(f"expected a safetensors file, got a header of {length} bytes")
            entries = json.loads(file.read(length))
        meta = entries.pop("__metadata__")
        if meta["seal"] != _seal(meta):
            raise Damaged("expected the metadata that were written, got others: their hash differs")
        expected = 8 + length + max((entry["data_offsets"][1] for entry in entries.values()), default=0)
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise Damaged(f"expected the header of a run, got {problem!r:.200}") from problem
    if path.stat().st_size != expected:
        raise Damaged(f"expected {expected} bytes, got {path.stat().st_size}")
    kept = {name: json.loads(text) for name, text in meta.items() if name not in ("digest", "seal")}
    if not set(IDENTITY) <= set(kept) or not isinstance(kept["config"], dict):
        raise Damaged(f"expected a run's {', '.join(IDENTITY)} in the metadata, got {', '.join(sorted(kept))}")
    return {**kept, "digest": meta["digest"]}


def read(path: Path) -> tuple[Record, dict[str, np.ndarray]]:
    """The record and the tensors, read-only, checked against the digest. Raises `Damaged`, or `OSError`."""
    record = read_record(path)
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_tensor(name) for name in sorted(file.keys())}
    except (SafetensorError, TypeError, ValueError) as problem:
        raise Damaged(f"expected a safetensors file, got {problem!r:.200}") from problem
    found = digest(tensors, record)
    if found != record["digest"]:
        raise Damaged(f"expected the digest {record['digest']:.12}…, got {found:.12}…: the content has changed")
    for array in tensors.values():
        array.flags.writeable = False
    return record, tensors


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or its predecessor, also if we are killed on the way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        draft.write_bytes(content)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
