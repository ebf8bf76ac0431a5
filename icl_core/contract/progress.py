"""How a running experiment reports, saves its state and learns that it should stop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from icl_core.contract.run import Tensors


@dataclass(frozen=True)
class NextTraining:
    """A training that comes next: to be done here, from `resumed` if that holds anything, or `made`
    elsewhere."""

    name: str
    made: Tensors | None = None
    resumed: Tensors = field(default_factory=dict)


@runtime_checkable
class Progress(Protocol):
    """How a running experiment reports, saves its state and learns that it should stop."""

    def resume(self) -> Tensors | None:
        """The state last given to `report`, if an earlier process was killed; else None."""
        ...

    def take(self, trainings: Sequence[str]) -> "NextTraining":
        """Which of the trainings of a run, by the names of all that can be begun, comes next. Where
        several processes share them it waits until there is one."""
        ...

    def give(self, name: str, made: Tensors) -> None:
        """Tell what the training that was taken has made."""
        ...

    def earlier(self, name: str) -> Tensors:
        """The state in which that training of a shorter run ended, if this run can go on from it;
        else empty."""
        ...

    def end(self, name: str, state: Callable[[], Tensors]) -> None:
        """Tell the state in which a training ends, before its last evaluation: a longer run may go
        on from it."""
        ...

    def enter(self, what: str, first: int = 0, steps: int = 0) -> None:
        """Name for people what comes now: a training, "seed 2 of 5", of `steps` steps, which follow
        the `first` ones of the run; or, without steps, what is no training, "evaluating"."""
        ...

    def report(
        self,
        done: int,
        total: int,
        loss: float,
        live: Callable[[], Tensors],
        state: Callable[[], Tensors],
    ) -> None:
        """Tell how far the run is. `live` gives the curves so far, `state` all that is needed to go
        on from here; either is called only when due. Raises `Cancelled` if the visitor asked for
        it."""
        ...


class Cancelled(Exception):
    """The run was cancelled by the visitor."""


class Diverged(Exception):
    """The training left the finite numbers; the message names the step."""
