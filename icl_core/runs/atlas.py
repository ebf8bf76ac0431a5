"""The file of an atlas: all runs of an experiment's grids, thinned to what a stage shows of them.

There is one file an experiment in artifacts/atlas/. It is packed and checked as the file of a run
is. Its record lists the runs as cells; a tensor that several of them have is stored once.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from icl_core import registry
from icl_core.contract.run import PER_SNAPSHOT, Tensors, thinned
from icl_core.runs.file import (
    Damaged,
    Record,
    are_names,
    digest,
    is_run_record,
    pack,
    read,
    read_record,
    read_record_and_sizes,
)
from icl_core.runs.header import (
    Header,
    Stamp,
    header_of,
    key_of_record,
    new_record,
    stamp,
)
from icl_core.runs.least_size import COUNTS, Parts, parts_of

T = TypeVar("T")

ORIGIN = "atlas"  # the `Header.origin` of its runs
SNAPSHOTS = 5  # that a run keeps
FEWER = 3  # where SNAPSHOTS would take more than MOST
MOST = 100 * 2**10  # bytes
LARGE = 1024  # entries; larger tensors are stored in half precision if that hardly shows
WEIGHTS = ("final", "frozen")  # kinds of tensors that are compared with their largest entry
HALF = 1e-3  # the largest relative error that half precision may cause


@dataclass(frozen=True, eq=False)
class Mapped:
    """A run of an atlas: its settings as files hold them, its circumstances, its tensors."""

    config: Mapping[str, Any]
    info: Mapping[str, Any]
    tensors: Tensors


def thin(tensors: Tensors) -> dict[str, np.ndarray]:
    """Return what a stage needs of a run.

    Few snapshots are kept, unless they hold nothing but their steps; large tensors are stored in
    half precision where that hardly shows.
    """
    moving = [name for name in tensors if name.split("/")[0] in PER_SNAPSHOT]
    few = tensors if moving == ["snapshot/step"] else thinned(tensors, SNAPSHOTS)
    size = sum(array.nbytes for name, array in few.items() if name.startswith("snapshot/"))
    if size > MOST:
        few = thinned(few, FEWER)
    return {name: _halved(name, array) for name, array in few.items()}


def _halved(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype != np.float32 or array.size < LARGE:
        return array
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    tolerance = HALF * np.abs(array).max(initial=0.0) if name.split("/")[0] in WEIGHTS else 0.0
    return half if np.allclose(half, array, rtol=HALF, atol=tolerance, equal_nan=True) else array


def pack_atlas(
    experiment_id: str,
    base: Mapping[str, Any],
    runs: Iterable[Mapped],
    metrics: Iterable[Mapping[str, Any]],
) -> bytes:
    """Return the bytes of an atlas's file.

    `runs` are thinned already, `metrics` were measured over all of them, and `base` holds the
    settings that the runs of the first grid share. Raises `TypeError` as `pack` does.
    """
    pool: dict[str, np.ndarray] = {}
    pool_names: dict[str, str] = {}  # a tensor's hash to its name in the pool
    cells = []
    for run in runs:
        at = {
            name: _add_to_pool(array, pool, pool_names)
            for name, array in sorted(run.tensors.items())
        }
        record = new_record(experiment_id, run.config, run.info)
        cells.append({**record, "digest": digest(run.tensors, record), "at": at})
    about = new_record(experiment_id, base, {"metrics": list(metrics)})
    return pack(pool, {**about, "cells": cells})


def _add_to_pool(array: np.ndarray, pool: dict[str, np.ndarray], pool_names: dict[str, str]) -> str:
    """Add a tensor to the pool, unless it is there, and return its name in the pool."""
    whole = np.ascontiguousarray(array)
    content = f"{whole.dtype.name}{whole.shape}".encode() + whole.tobytes()
    hashed = hashlib.sha256(content).hexdigest()
    if hashed not in pool_names:
        pool_names[hashed] = f"{len(pool):x}"
        pool[pool_names[hashed]] = array
    return pool_names[hashed]


class Atlases:
    """The atlases in `folder`. Nothing raises: `report` takes sentences for the visitor."""

    def __init__(self, folder: Path, report: Callable[[str], None]) -> None:
        self.folder = folder
        self._report = report

    def path(self, experiment_id: str) -> Path:
        """Return the file of an experiment's atlas."""
        return self.folder / f"{experiment_id}.safetensors"

    def headers(self, experiment_id: str) -> Mapping[str, Header]:
        """Return the runs of an experiment's atlas by key; none if it is of another version."""
        return self._read_headers(experiment_id)[1]

    def whole(self, experiment_id: str) -> Header | None:
        """Return a header for the atlas itself: what was measured over all its runs."""
        return self._read_headers(experiment_id)[0]

    def tensors(self, header: Header) -> dict[str, np.ndarray] | None:
        """Return a run's tensors, floats in single precision; None if the file is damaged or gone.

        Half precision is for the file alone; all other tensors are as they were packed.
        """
        try:
            record, pool = _read_content(header.path, stamp(header.path))
            cell = next(cell for cell in _cells(record) if key_of_record(cell) == header.key)
            tensors = _from_pool(pool, cell)
        except Damaged as problem:
            self._report(f"{header.path} is ignored: {problem}.")
            return None
        except (OSError, StopIteration):  # deleted or built anew meanwhile
            return None
        if digest(tensors, cell) != header.digest:
            return None
        return {name: _single_precision(array) for name, array in tensors.items()}

    def parts(self, header: Header) -> Parts:
        """Return the bytes of a run's thinned tensors by what they depend on; none if the file is
        damaged or gone."""
        try:
            return _read_parts(header.path, stamp(header.path)).get(header.key, {})
        except (OSError, Damaged):
            return {}

    def _read_headers(self, experiment_id: str) -> tuple[Header | None, Mapping[str, Header]]:
        path = self.path(experiment_id)
        try:
            whole, headers = _read_cells(path, experiment_id, stamp(path))
        except Damaged as problem:
            self._report(f"{path} is ignored: {problem}.")
            return None, {}
        except OSError:
            return None, {}
        if whole.info["version"] != registry.version(experiment_id):
            return None, {}
        return whole, headers


@lru_cache(maxsize=32)
def _read_cells(
    path: Path, experiment_id: str, file_stamp: Stamp
) -> tuple[Header, dict[str, Header]]:
    """Return the header of an atlas and those of its runs by key; read anew when the file's stamp
    changes."""
    record = read_record(path)
    if record["experiment"] != experiment_id:
        raise Damaged(f"expected the atlas of {experiment_id}, got that of {record['experiment']}")
    cells = _cells(record)
    headers = {}
    for cell in cells:
        key = key_of_record(cell)
        about = {name: value for name, value in cell.items() if name != "at"}
        headers[key] = header_of(about, key, ORIGIN, path)
    whole = {name: value for name, value in record.items() if name != "cells"}
    return header_of(whole, key_of_record(whole), ORIGIN, path), headers


@lru_cache(maxsize=32)
def _read_parts(path: Path, file_stamp: Stamp) -> dict[str, Parts]:
    """Return the parts of an atlas's runs by key. Raises `Damaged` and `OSError`."""
    record, pool = read_record_and_sizes(path)
    return {
        key_of_record(cell): parts_of(_from_pool(pool, cell), cell["config"].get("seeds", 1))
        for cell in _cells(record)
    }


def _cells(record: Record) -> list[Record]:
    """Return the runs that the record of an atlas lists; raises `Damaged` if it is none."""
    cells = record.get("cells")
    if not isinstance(cells, list) or not all(map(_is_cell, cells)):
        raise Damaged("expected the runs of an atlas in the metadata, got none or others")
    return cells


def _is_cell(value: Any) -> bool:
    return (
        is_run_record(value)
        and are_names(value.get("at"))
        and all(type(value["config"].get(name, 1)) is int for name in COUNTS)
    )


def _from_pool(pool: Mapping[str, T], cell: Record) -> dict[str, T]:
    """Return what the pool has of each tensor of a run; raises `Damaged` if one is not in it."""
    names = cell["at"]
    if not set(names.values()) <= pool.keys():
        raise Damaged("expected all tensors of an atlas's runs, got a file without some")
    return {name: pool[pool_name] for name, pool_name in names.items()}


@lru_cache(maxsize=4)
def _read_content(path: Path, file_stamp: Stamp) -> tuple[Record, dict[str, np.ndarray]]:
    return read(path)


def _single_precision(array: np.ndarray) -> np.ndarray:
    if array.dtype != np.float16:
        return array
    single = array.astype(np.float32)
    single.flags.writeable = False
    return single
