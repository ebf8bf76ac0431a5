"""Which trainings are done in compiled segments: many steps in one call, where numba is installed.

torch's form of a training is the reference, and the only one for what a segment does not cover and
on a GPU. A segment is given the same prompts and makes the same steps; sums are rounded otherwise.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from icl_core.contract.experiment import Experiment
from icl_core.contract.knobs import BadSetting
from icl_core.machine import device

VARIABLE = "ICL_FAST"
COMPILER = "numba"
_broken: set[str] = set()  # compilers that are there and do not work in this process


def wanted() -> bool:
    """Return whether trainings that have segments go in them: where numba is installed, unless
    `ICL_FAST` is 0. Raises `BadSetting` if it is neither 0 nor 1."""
    value = os.environ.get(VARIABLE) or "1"
    if value not in ("0", "1"):
        raise BadSetting(f"{VARIABLE} must be 0 or 1, got {value!r:.60}")
    return value == "1" and not _broken and _numba() is not None and not device.is_gpu()


def compiler(experiment: Experiment, config: Any) -> str | None:
    """Return the version of numba with which a run is trained, None if that is done by torch."""
    return _numba() if experiment.has_segments(config) and wanted() else None


def prepare() -> None:
    """Have this process load numba, and compile what all segments have in common, before a training
    needs them: half a second, and 110 MiB."""
    if wanted():
        try:
            from icl_core.training import compiled_adam

            compiled_adam.prepare()
        except Exception:  # of another release of NumPy, say, or without a place for compiled code
            _broken.add(COMPILER)


def is_compiled(info: Mapping[str, Any]) -> bool:
    """Return whether a run with these circumstances was trained in compiled segments."""
    return COMPILER in info.get("packages", {})


@cache
def _numba() -> str | None:
    try:
        return version(COMPILER)
    except PackageNotFoundError:
        return None


@contextmanager
def reference() -> Iterator[None]:
    """Train by torch alone in this context, here and in the jobs that are asked for."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
