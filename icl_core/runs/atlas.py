"""Atlases: of an experiment one file in artifacts/atlas/, the runs of a grid, thinned to what a
stage shows of them.

The file is packed and checked as that of a run is. Its record lists the runs; a tensor that several
have is there once.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from icl_core import registry
from icl_core.contract.run import Tensors, thinned
from icl_core.runs.file import Damaged, Record, digest, pack, read, read_record
from icl_core.runs.header import Header, header_of, key_of_record, new_record
from icl_core.runs.headers import stamp

ORIGIN = "atlas"
SNAPSHOTS, FEWER = 5, 3  # the latter where they would take more than
MOST = 100 * 2**10  # bytes
LARGE = 1024  # numbers, from which on a tensor's precision counts among the bytes
WEIGHTS = ("final", "frozen")
HALF = 1e-3  # the most that half precision may change another number, relative to it


@dataclass(frozen=True, eq=False)
class Mapped:
    """A run of an atlas: its settings as files keep them, what its file said, its tensors."""

    config: Mapping[str, Any]
    info: Mapping[str, Any]
    tensors: Tensors


def thin(tensors: Tensors) -> dict[str, np.ndarray]:
    """What a stage needs of a run: few snapshots, large matrices in half precision, curves where
    that hardly shows."""
    few = thinned(tensors, SNAPSHOTS)
    size = sum(array.nbytes for name, array in few.items() if name.startswith("snapshot/"))
    return {
        name: _halved(name, array)
        for name, array in (few if size <= MOST else thinned(few, FEWER)).items()
    }


def _halved(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype != np.float32 or array.size < LARGE:
        return array
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    apart = HALF * np.abs(array).max(initial=0.0) if name.split("/")[0] in WEIGHTS else 0.0
    return half if np.allclose(half, array, rtol=HALF, atol=apart, equal_nan=True) else array


def pack_atlas(
    experiment_id: str,
    base: Mapping[str, Any],
    runs: Iterable[Mapped],
    metrics: Iterable[Mapping[str, Any]],
) -> bytes:
    """The file's bytes: the runs, thinned already, and what was measured over all of them; `base`
    is what the runs of its first grid share. `TypeError` as `pack`."""
    pool: dict[str, np.ndarray] = {}
    places: dict[str, str] = {}  # of a content its place in the pool
    cells = []
    for run in runs:
        at = {name: _place(array, pool, places) for name, array in sorted(run.tensors.items())}
        record = new_record(experiment_id, run.config, run.info)
        cells.append({**record, "digest": digest(run.tensors, record), "at": at})
    about = new_record(experiment_id, base, {"metrics": list(metrics)})
    return pack(pool, {**about, "cells": cells})


def _place(array: np.ndarray, pool: dict[str, np.ndarray], places: dict[str, str]) -> str:
    whole = np.ascontiguousarray(array)
    content = hashlib.sha256(
        f"{whole.dtype.name}{whole.shape}".encode() + whole.tobytes()
    ).hexdigest()
    if content not in places:
        places[content] = f"{len(pool):x}"
        pool[places[content]] = array
    return places[content]


class Atlases:
    """The atlases in `folder`; `tell` gets sentences for the visitor. Nothing raises."""

    def __init__(self, folder: Path, tell: Callable[[str], None]) -> None:
        self.folder, self._tell = folder, tell

    def path(self, experiment_id: str) -> Path:
        """The file of an experiment's atlas."""
        return self.folder / f"{experiment_id}.safetensors"

    def headers(self, experiment_id: str) -> Mapping[str, Header]:
        """The runs of an experiment's atlas by key, if it is of the experiment's
        present version."""
        return self._known(experiment_id)[1]

    def whole(self, experiment_id: str) -> Header | None:
        """The atlas as a header of its own: what was measured over all its runs."""
        return self._known(experiment_id)[0]

    def tensors(self, header: Header) -> tuple[int, dict[str, np.ndarray]] | None:
        """The form of a run's tensors and these, floats in single precision; None if the file is
        damaged or gone."""
        try:
            record, pool = _content(header.path, stamp(header.path))
            cell = next(each for each in record["cells"] if key_of_record(each) == header.key)
            found = {name: pool[place] for name, place in cell["at"].items()}
        except Damaged as problem:
            self._tell(f"{header.path} is ignored: {problem}.")
        except (OSError, StopIteration):  # gone or made anew meanwhile
            pass
        else:
            if digest(found, cell) == header.digest:
                return record["form"], {name: _single(array) for name, array in found.items()}
        return None

    def _known(self, experiment_id: str) -> tuple[Header | None, Mapping[str, Header]]:
        path = self.path(experiment_id)
        try:
            whole, headers = _listed(path, experiment_id, stamp(path))
        except Damaged as problem:
            self._tell(f"{path} is ignored: {problem}.")
        except OSError:
            pass
        else:
            if whole.info["version"] == registry.version(experiment_id):
                return whole, headers
        return None, {}


@lru_cache(maxsize=32)
def _listed(
    path: Path, experiment_id: str, changed: tuple[int, int]
) -> tuple[Header, dict[str, Header]]:
    record = read_record(path)
    if record["experiment"] != experiment_id:
        raise Damaged(f"expected the atlas of {experiment_id}, got that of {record['experiment']}")
    cells = [{name: cell[name] for name in cell if name != "at"} for cell in record.pop("cells")]
    whole = header_of(record, key_of_record(record), ORIGIN, path)
    return whole, {
        key: header_of(cell, key, ORIGIN, path)
        for key, cell in zip(map(key_of_record, cells), cells, strict=True)
    }


@lru_cache(maxsize=4)
def _content(path: Path, changed: tuple[int, int]) -> tuple[Record, dict[str, np.ndarray]]:
    return read(path)


def _single(array: np.ndarray) -> np.ndarray:
    if array.dtype != np.float16:
        return array
    single = array.astype(np.float32)
    single.flags.writeable = False
    return single
