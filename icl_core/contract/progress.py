"""The connection of a running experiment to whoever started it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from icl_core.contract.run import Tensors

LazyTensors = Callable[[], Tensors]  # called only when it is due


@dataclass(frozen=True)
class NextTraining:
    """The training that an experiment has to do next.

    name     one of the names that were offered to `Progress.take`
    made     its result if another process has trained it; None if it is to be trained here
    resumed  the state from which it goes on; empty to start afresh
    """

    name: str
    made: Tensors | None = None
    resumed: Tensors = field(default_factory=dict)


@runtime_checkable
class Progress(Protocol):
    """Takes a running experiment's reports and states, and tells it when to stop.

    A run consists of one training or several, each with a name.
    """

    def resume(self) -> Tensors | None:
        """Return the state last given to `report` if an earlier process was killed, else None."""
        ...

    def take(self, trainings: Sequence[str]) -> "NextTraining":
        """Return which training comes next, of the names of all that can begin now.

        If several processes share the run's trainings, wait until there is one for this process.
        """
        ...

    def give(self, name: str, made: Tensors) -> None:
        """Hand in the result of a training that was taken."""
        ...

    def earlier(self, name: str) -> Tensors:
        """Return the state at the end of the same training in a shorter run from which this run can
        go on; empty if there is none."""
        ...

    def end(self, name: str, state: Callable[[], Tensors]) -> None:
        """Hand in the state at the end of a training, before its last evaluation, from which a
        longer run can go on."""
        ...

    def enter(self, what: str, first: int = 0, steps: int = 0) -> None:
        """Name what comes now, in words for visitors.

        A training, "seed 2 of 5", has `steps` steps, after the run's `first` steps. Anything else,
        "evaluating", has none.
        """
        ...

    def report(
        self,
        done: int,
        total: int,
        loss: float,
        live: LazyTensors,
        state: LazyTensors,
        preview: LazyTensors = dict,
    ) -> None:
        """Report that `done` of `total` steps are done. Raises `Cancelled` if a visitor asked for
        it.

        `live` returns the curves so far, `state` all that is needed to go on from here, `preview`
        the model as it is now, for the stage: `snapshot/step` [1] and the tensors that its drawings
        read, or nothing. Each is called only when it is due.
        """
        ...


class Cancelled(Exception):
    """A visitor has cancelled the run."""


class Diverged(Exception):
    """The training has reached infinite or undefined numbers; the message names the step."""
