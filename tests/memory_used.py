"""What a run takes of memory beside what its settings are said to need: `python -m
tests.memory_used birth.induction '{"d": 512}'`, in a process of its own.

Prints JSON: bytes `said`, bytes `used` (the peak of this process's own memory above what it had
before). Of trainings ten steps are made: an optimiser's state is there after the first, a pool of
prompts holds eight batches.
"""

import json
import sys
from dataclasses import replace
from threading import Event, Thread
from typing import Any

from icl_core import registry
from icl_core.contract.experiment import Run
from icl_core.contract.knobs import BadSetting, knobs_of, values
from icl_core.machine import device, malloc
from tests.recorder import Recorder

STEPS = ("steps", "tuning", "gate_steps", "first_steps")
FEW = 10


def largest(experiment: Any, **chosen: Any) -> Any:
    """The config with every count at its upper end and every number of steps at its lower, but for
    what is `chosen`."""
    fields = values(experiment.presets[0].config)
    for name, knob in knobs_of(experiment.config).items():
        if knob.kind == "slider" and isinstance(knob.default, int) and name != "seed":
            fields[name] = knob.low if name in (*STEPS, "freeze_until", "K", "N") else knob.high
    return experiment.config(**{**fields, **chosen})


class Silent(Recorder):
    """Keeps no state of a training, which would count as the run's."""

    def end(self, name, state):
        pass


class Peak:
    """The most that is resident while it is watched, looked at every other millisecond."""

    def __enter__(self) -> "Peak":
        self.most = malloc.resident_bytes()
        self._ended = Event()
        self._watch = Thread(target=self._look)
        self._watch.start()
        return self

    def _look(self) -> None:
        while not self._ended.wait(0.002):
            self.most = max(self.most, malloc.resident_bytes())

    def __exit__(self, *_: Any) -> None:
        self._ended.set()
        self._watch.join()


def _shortened(config: Any) -> Any:
    """Fewer steps than can be asked for."""
    shorter = replace(config)
    for name in STEPS:
        if hasattr(shorter, name):
            object.__setattr__(shorter, name, FEW)
    return shorter


def measure(id: str, chosen: dict[str, Any]) -> dict[str, int]:
    """Bytes said and used of the largest run of an experiment with these settings."""
    experiment = registry.experiment(id)
    estimate = device.estimated(lambda: largest(experiment, **chosen))
    device.prepare()
    device.set_threads(1)
    config = largest(experiment, **chosen)
    shorter = _shortened(config)
    device.release()
    before = malloc.resident_bytes()
    with malloc.bounded_heap(), Peak() as peak:
        try:
            tensors = experiment.run(shorter, Silent())
        except BadSetting:  # its parts have settings of their own, with a lower end
            tensors = experiment.run(config, Silent())
        trained = peak.most - before
        experiment.metrics(Run(config, tensors, {}))
    return {"said": estimate, "trained": trained, "used": peak.most - before}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], json.loads(sys.argv[2]))))
