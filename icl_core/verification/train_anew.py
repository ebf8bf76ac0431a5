"""Train a stored run anew, from nothing: no run, checkpoint or cache is read."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from icl_core import registry
from icl_core.contract.experiment import NextTraining, Run, Tensors
from icl_core.contract.progress import LazyTensors
from icl_core.contract.run import thinned
from icl_core.evidence import measurements
from icl_core.machine import device
from icl_core.runs.file import digest
from icl_core.runs.header import Header, new_record, typed_config
from icl_core.runs.store import Store

OnStep = Callable[[int, int], None]  # takes the steps that are done, and all


class OutOfTime(BaseException):
    """The time limit has come. No `Exception`: of several trainings of one program, one that raises
    such a one ends alone."""


@dataclass(frozen=True)
class TrainedAnew:
    """A run that was trained anew: what it measured, as a run's file has it, its seconds, and
    whether its tensors are those of the stored run to the last bit (None if that one is gone)."""

    records: tuple[dict[str, Any], ...]
    seconds: float
    is_same: bool | None


def train_anew(header: Header, store: Store, deadline: float, on_step: OnStep) -> TrainedAnew:
    """Train the run of a header anew and measure it.

    `deadline` is a time of `time.monotonic`, at which it raises `OutOfTime`. Raises what the
    training raises.
    """
    experiment = registry.experiment(header.experiment)
    config = typed_config(header)
    device.set_threads(1)
    start = time.monotonic()
    tensors = experiment.run(config, _Progress(deadline, on_step))
    shipped = store.shipped_runs(header.experiment)
    records = measurements.measure(experiment, Run(config, tensors, {}, shipped=shipped))
    return TrainedAnew(tuple(records), time.monotonic() - start, _is_same(header, store, tensors))


def _is_same(header: Header, store: Store, tensors: Tensors) -> bool | None:
    """Return whether the tensors of a stored run are those of the new one. A stored run may lack
    snapshots and other seeds' models, which are then not compared."""
    stored = store.load(header, typed=False)
    if stored is None:
        return None
    few = thinned(tensors, max(len(stored.snapshot_steps), 1))
    held = {name: few[name] for name in stored.tensors if name in few}
    return digest(held, new_record(header.experiment, header.config, header.info)) == header.digest


class _Progress:
    """The `Progress` of a training that keeps nothing and stops at a deadline."""

    def __init__(self, deadline: float, on_step: OnStep) -> None:
        self._deadline = deadline
        self._on_step = on_step

    def resume(self) -> Tensors | None:
        """See `Progress` in the contract."""
        return None

    def take(self, trainings: Sequence[str]) -> NextTraining:
        """See `Progress` in the contract."""
        return NextTraining(trainings[0])

    def give(self, name: str, made: Tensors) -> None:
        """See `Progress` in the contract."""

    def earlier(self, name: str) -> Tensors:
        """See `Progress` in the contract."""
        return {}

    def end(self, name: str, state: LazyTensors) -> None:
        """See `Progress` in the contract."""

    def enter(self, what: str, first: int = 0, steps: int = 0) -> None:
        """See `Progress` in the contract."""
        self._check()

    def report(
        self,
        done: int,
        total: int,
        loss: float,
        live: LazyTensors,
        state: LazyTensors,
        preview: LazyTensors = dict,
    ) -> None:
        """See `Progress` in the contract. Raises `OutOfTime`."""
        self._check()
        self._on_step(done, total)

    def _check(self) -> None:
        if time.monotonic() > self._deadline:
            raise OutOfTime
