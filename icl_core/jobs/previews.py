"""Previews: the model of a run that is still training, for the stage.

    <job>/preview.safetensors   `snapshot/step` [1], the step that it shows, and the tensors that
                                the stage's drawings read, which `Progress.report` was given

The file is small, and written as a whole: numbers are rounded to half precision or, where that
takes too much room, to a byte an entry. A page reads it as a `Run` that is not finished. Called by
`job_progress` and by the pages.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from icl_core import registry
from icl_core.contract import seeds
from icl_core.contract.experiment import Run, Tensors
from icl_core.contract.run import compact
from icl_core.contract.settings_io import from_stored
from icl_core.jobs.folder import Job
from icl_core.runs.disk import write_whole
from icl_core.runs.file import Damaged, pack, read

LARGEST = 300_000  # bytes of a file
INTERVAL = 1.0  # seconds between the beginnings of two writes, at least
SHARE = 0.03  # of the training's time, at most
_FINAL = "final/"


class PreviewWriter:
    """Writes the previews of one job, as often as they may be written.

    `clock` returns seconds. `together` is the number of runs that the process trains at the same
    time: they share the time that previews may take.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.together = 1
        self._path = path
        self._clock = clock
        self._due = clock() + INTERVAL

    def write(
        self,
        preview: Callable[[], Tensors],
        record: Callable[[], Mapping[str, Any]],
        at_once: bool = False,
    ) -> bool:
        """Write the file if it is due, or `at_once` as the training is cancelled, and if there is a
        model that fits into it; return whether it was written. A file that cannot be written ends
        no training: the one before stays."""
        start = self._clock()
        if start < self._due and not at_once:
            return False
        content = packed(preview(), record())
        written = False
        if content:
            with suppress(OSError):
                write_whole(self._path, content)
                written = True
        end = self._clock()
        # `took` of `took + pause` is at most SHARE
        pause = (end - start) * self.together * (1 - SHARE) / SHARE
        self._due = max(start + INTERVAL, end + pause)
        return written


def packed(tensors: Tensors, record: Mapping[str, Any]) -> bytes:
    """Return the bytes of a preview's file; none if there is no model, or it does not fit."""
    if not tensors:
        return b""
    half = {name: seeds.half(array) for name, array in tensors.items()}
    if sum(array.nbytes for array in half.values()) < LARGEST:
        content = pack(half, record)
        if len(content) <= LARGEST:
            return content
    small = dict(half)
    for name, array in tensors.items():
        if name.startswith(_FINAL) and np.ndim(array) >= 2:
            del small[name]
            small |= compact(name, np.asarray(array, np.float32))
    if sum(array.nbytes for array in small.values()) < LARGEST:
        content = pack(small, record)
        if len(content) <= LARGEST:
            return content
    return b""


def stamp(key: str) -> int:
    """Return a number that changes whenever the preview of a job is written: the time of that, in
    ns since 1970; 0 if there is none."""
    with suppress(OSError):  # there is none, or it was deleted meanwhile
        return Job(key).preview.stat().st_mtime_ns
    return 0


def read_preview(key: str) -> Run | None:
    """Return the model of a job as it was at its last preview, as a run that is not finished; None
    if there is none.

    `info` has the job's `step`, `total` and `seconds` at that time. The run also holds what its
    drawings need that follows from the settings alone (`Experiment.preview`).
    """
    try:
        record, stored = read(Job(key).preview)
        experiment = registry.experiment(record["experiment"])
        config = from_stored(experiment.config, record["config"])
        info = {name: record[name] for name in ("version", "step", "total", "seconds")}
    except (OSError, Damaged, ValueError, TypeError, KeyError):  # KeyError: it is another file
        return None
    curves: Tensors = {}
    with suppress(OSError, Damaged):  # they are written apart, and may be gone
        _, curves = read(Job(key).live)
    tensors = _unpacked(stored)
    known = experiment.preview(config, tensors)
    return Run(config, {**curves, **known, **tensors}, info, record["digest"], finished=False)


def _unpacked(stored: Tensors) -> dict[str, np.ndarray]:
    """Return the tensors of a preview, floats in single precision."""
    tensors: dict[str, np.ndarray] = {}
    for name, array in stored.items():
        inner = name.removeprefix("snapshot/")
        if name.startswith("scale/"):
            continue
        if name.startswith("snapshot/") and f"scale/{inner}" in stored:
            tensors[inner] = array.astype(np.float32) * stored[f"scale/{inner}"].astype(np.float32)
        elif np.issubdtype(array.dtype, np.floating):
            tensors[name] = array.astype(np.float32)
        else:
            tensors[name] = array
    return tensors
