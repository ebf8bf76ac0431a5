"""Measure how long the run of a preset takes on this machine, for `estimate`. Called by the
build and by the benchmarks.

A long training is not made to its end. It is timed for a while at its start, then taken forward to
a later step, timed again, and so on: its evaluations are rarer the longer it goes on. The steps
between count at the mean pace of the two times beside them. What is skipped is not trained, so the
tensors of such a run mean nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from icl_core import registry
from icl_core.contract.experiment import Experiment, NextTraining, Run, Tensors
from icl_core.contract.progress import LazyTensors
from icl_core.findings import findings
from icl_core.jobs import estimate
from icl_core.jobs.estimate import PresetSeconds
from icl_core.machine import device
from icl_core.machine.pace import Pace

WHOLE = 3.0  # seconds of a training beyond which it is timed in parts
PART = 0.5  # seconds of each part at least
PART_OF_STEPS = 20  # a part has at least the steps before it, divided by this
FORWARD = 2  # a training is taken forward to so many times the steps that are done
TO_THE_END = 10  # the last part begins at the end of the training, less its steps divided by this


def write_seconds(
    measured: Mapping[str, Mapping[str, float]], here: Pace, before: PresetSeconds | None
) -> None:
    """Write the seconds of presets that were measured on this machine, by experiment and name, at
    its pace `here`; with those that were known `before` of other presets, converted to it.

    Raises `OSError`.
    """
    known = before or PresetSeconds(here, {})
    by_experiment: dict[str, dict[str, float]] = {}
    for experiment_id in registry.experiment_ids():
        experiment = registry.experiment(experiment_id)
        earlier = known.by_experiment.get(experiment_id, {})
        converted = {
            preset.name: known.pace.converted(
                earlier[preset.name], experiment.cost(preset.config), here
            )
            for preset in experiment.presets
            if preset.name in earlier
        }
        by_experiment[experiment_id] = {**converted, **measured.get(experiment_id, {})}
    estimate.write_preset_seconds(PresetSeconds(here, by_experiment))


def time_run(experiment: Experiment, config: Any) -> float:
    """Return the seconds of computing that a run of `config` takes on this machine; with its
    metrics, if all of it was made. Metrics take some hundredths of a second."""
    device.set_threads(1)
    progress = _TimedProgress()
    is_whole = True
    while True:
        progress.start_clock()
        try:
            tensors = experiment.run(config, progress)
        except _TakenForward:
            is_whole = False
            continue
        except ValueError:
            # The curves of a training that was taken forward lack some evaluations, so those of
            # several trainings may differ in length. What puts them together is the run's end.
            if is_whole:
                raise
            return progress.total_seconds()
        if is_whole:
            findings.measure(experiment, Run(config, tensors, {}))
        return progress.total_seconds()


class _TakenForward(BaseException):
    """The training is to be started again at a later step. No `Exception`: of several trainings of
    one program, one that raises such a one ends alone."""


class _TimedProgress:
    """The `Progress` of a run that is timed."""

    def __init__(self) -> None:
        self._seconds = 0.0  # timed so far, and estimated of the steps that were skipped
        self._resumed: Tensors | None = None
        self._skipped = 0  # steps before the part that is being timed, not counted yet
        self._pace_before = 0.0  # seconds of a step in the part before those
        self._first = 0  # the run's step at which the training began
        self._steps = 0  # of the training
        self._start = 0.0  # when the clock was started
        self._part_start: tuple[float, int] | None = None  # time and step

    def start_clock(self) -> None:
        """Count the time from here on, unless a training is taken forward first."""
        self._start = device.clock()

    def total_seconds(self) -> float:
        """Return the seconds of the whole run, which has ended."""
        return self._seconds + device.clock() - self._start

    def resume(self) -> Tensors | None:
        """See `Progress` in the contract."""
        return self._resumed

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
        self._first = first
        self._steps = steps
        self._part_start = None

    def report(
        self,
        done: int,
        total: int,
        loss: float,
        live: LazyTensors,
        state: LazyTensors,
        preview: LazyTensors = dict,
    ) -> None:
        """See `Progress` in the contract. Raises `_TakenForward` once a part was timed."""
        now = device.clock()
        step = done - self._first
        if self._part_start is None:
            if self._resumed is not None:  # getting here again is no part of a run
                self._start = now
                self._resumed = None
            self._part_start = now, step
            return
        start, first_step = self._part_start
        last = self._steps - max(2, self._steps // TO_THE_END)  # where the last part begins
        long_enough = PART if self._skipped else WHOLE
        is_long = now - start > long_enough and (step - first_step) * PART_OF_STEPS > step
        if step < self._steps and not (is_long and step < last):
            return
        pace = (now - start) / (step - first_step)
        self._seconds += self._skipped * (self._pace_before + pace) / 2
        self._skipped = 0
        if step < self._steps:
            checkpoint = state()
            if not _is_in_step(checkpoint):
                self._part_start = now, step
                self._seconds += now - self._start
                self._start = now
                return
            target = min(FORWARD * step, last)
            self._skipped = target - step
            self._pace_before = pace
            self._seconds += now - self._start
            self._resumed = _at_step(checkpoint, step, target)
            raise _TakenForward


def _is_in_step(state: Tensors) -> bool:
    """Return whether all trainings in a checkpoint that have not ended are at one step. They are
    not where one of a program has to be done alone."""
    steps = {
        int(array[0])
        for name, array in state.items()
        if name.startswith("now/") and name.count("/") == 2 and name.endswith("/step")
    }
    return len(steps) == 1


def _at_step(state: Tensors, step: int, target: int) -> dict[str, np.ndarray]:
    """Return a checkpoint at `step` as if it were one at `target`; the measures of the steps
    between are those of the last one. Of several trainings of one program, these are sums."""
    moved = dict(state)
    for name, array in state.items():
        kind, _, rest = name.partition("/")
        phase, _, tensor = rest.partition("/")
        if kind == "now" and tensor == "step":
            moved[name] = array * target // step
        elif kind == "now" and tensor.startswith("batch/"):
            phase_step = int(state[f"now/{phase}/step"][0])
            moved[name] = np.concatenate(
                [array, np.repeat(array[-1:], phase_step * target // step - phase_step, axis=0)]
            )
    return moved
