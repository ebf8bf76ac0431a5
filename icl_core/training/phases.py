"""A run of several trainings, one after the other or shared with other processes. A killed one goes
on where it was."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import cast

import numpy as np

from icl_core.contract.experiment import Progress, Tensors
from icl_core.training.loop import State

Made = dict[str, dict[str, np.ndarray]]  # by the name of a phase, what it made
EVALUATING = "evaluating"
Report = Callable[[State, Callable[[], dict[str, np.ndarray]]], None]


@dataclass(frozen=True)
class Phase:
    """One training. `train(*given, resumed, report)` is `loop.train` and what is made of its state.

    `name` holds no slash. `curves` turns the state of the one in training into what `train` would
    return of it. `given` names earlier phases whose results `train` is handed first. `label` is its
    name for people.
    """

    name: str
    steps: int
    train: Callable[..., dict[str, np.ndarray]]
    curves: Callable[[State], dict[str, np.ndarray]] = lambda state: {}
    given: tuple[str, ...] = ()
    label: str = ""


@dataclass(frozen=True, eq=False)
class Wanted:
    """A training that is to be done now: of this phase, on from `resumed`."""

    phase: Phase
    given: tuple[dict[str, np.ndarray], ...]
    resumed: Tensors
    report: Report


def run(
    plan: Sequence[Phase], progress: Progress, show: Callable[[Made], Tensors], loss: str = "loss"
) -> Made:
    """Train all phases, in order where `progress` does not share them, and go on from a checkpoint
    if there is one.

    `show` makes the curves of a run that is still going from what there is so far; `loss` names the
    measure of a batch that is shown as progress, for several seeds their mean. What a checkpoint
    holds of phases that are not in the plan is left: one of another form is none, and the run
    starts anew.
    """
    asking, made = _trainings(plan, progress, show, loss), None
    while True:
        try:
            wanted = asking.send(made)
        except StopIteration as end:
            return end.value
        made = wanted.phase.train(*wanted.given, wanted.resumed, wanted.report)


def run_together(
    plans: Sequence[tuple[Phase, Progress, Callable[[Made], Tensors]]],
    train: Callable[
        [Mapping[int, Wanted]], Iterable[tuple[int, dict[str, np.ndarray] | Exception]]
    ],
    loss: str = "loss",
) -> Iterator[tuple[int, Made | Exception]]:
    """Several runs of one phase each, as `run`: each by its index as it ends, with what it made or
    what ended it. `train` does the trainings that are wanted, as one."""
    asking = {
        index: _trainings([phase], progress, show, loss)
        for index, (phase, progress, show) in enumerate(plans)
    }
    wanted: dict[int, Wanted] = {}
    for index, asks in asking.items():
        found = _next(asks, None)
        if isinstance(found, Wanted):
            wanted[index] = found
        else:
            yield index, found
    for index, made in train(wanted) if wanted else ():
        yield (
            index,
            made
            if isinstance(made, Exception)
            else cast(Made | Exception, _next(asking[index], made)),
        )


_Asking = Generator[Wanted, dict[str, np.ndarray] | None, Made]


def _next(asking: _Asking, made: dict[str, np.ndarray] | None) -> Wanted | Made | Exception:
    """What a run asks for next; if nothing, all that it made, or what ended it."""
    try:
        return asking.send(made)
    except StopIteration as end:
        return end.value
    except Exception as why:
        return why


def _trainings(
    plan: Sequence[Phase], progress: Progress, show: Callable[[Made], Tensors], loss: str
) -> _Asking:
    """Asks for the trainings of a plan one by one, is sent what each made, and returns it all."""
    resumed, names = progress.resume() or {}, {phase.name for phase in plan}
    made, current = (_unfold(kind, resumed, names) for kind in ("phase", "now"))
    while left := [phase for phase in plan if phase.name not in made]:
        ready = {phase.name: phase for phase in left if made.keys() >= set(phase.given)}
        # what was in training is taken up first
        taken = progress.take(sorted(ready, key=lambda name: name not in current))
        if taken.made is not None:
            made[taken.name] = dict(taken.made)
            continue
        phase, before = ready[taken.name], _steps(phase for phase in plan if phase.name in made)
        progress.enter(_label(plan, phase), before, phase.steps)
        report = _reporter(plan, phase, before, progress, made, show, loss)
        resumed = (
            current.get(phase.name) or dict(taken.resumed) or dict(progress.earlier(phase.name))
        )
        found = yield Wanted(phase, tuple(made[name] for name in phase.given), resumed, report)
        made[phase.name] = found or {}
        progress.give(phase.name, made[phase.name])
    progress.enter(EVALUATING)  # what the run measures of all of them
    return {phase.name: made[phase.name] for phase in plan}


def _steps(phases: Iterable[Phase]) -> int:
    return sum(phase.steps for phase in phases)


def _label(plan: Sequence[Phase], phase: Phase) -> str:
    """What people are told is in training; nothing where there is only one."""
    return (phase.label or phase.name) if len(plan) > 1 else ""


def curves(name: str, made: Made) -> dict[str, np.ndarray]:
    """The `curve/…` of one phase, as far as there are any."""
    return {key: array for key, array in made.get(name, {}).items() if key.startswith("curve/")}


def final(tensors: Tensors) -> dict[str, np.ndarray]:
    """What a phase made as `final/…`, by the rest of its name."""
    return {key[6:]: array for key, array in tensors.items() if key.startswith("final/")}


def _reporter(
    plan: Sequence[Phase], phase: Phase, before: int, progress: Progress, made: Made,
    show: Callable[[Made], Tensors], loss: str,
) -> Report:  # fmt: skip
    total = _steps(plan)

    def report(state: State, save: Callable[[], dict[str, np.ndarray]]) -> None:
        def live() -> Tensors:
            sofar = _in_order(
                plan, {**made, phase.name: phase.curves(state)} if state.curve else made
            )
            return show(sofar) if sofar else {}

        def whole() -> Tensors:
            return {**_fold("phase", made), **_fold("now", {phase.name: save()})}

        last = float(np.mean(state.batch[loss][-1])) if loss in state.batch else float("nan")
        progress.report(before + state.step, total, last, live, whole)
        if state.step == phase.steps:
            progress.end(phase.name, save)
            # what is left of it is to evaluate what it has trained
            progress.enter(": ".join(filter(None, (_label(plan, phase), EVALUATING))))

    return report


def _in_order(plan: Sequence[Phase], made: Made) -> Made:
    """What is made, up to the first training of which there is nothing: where several share a run,
    it may be any."""
    return {
        phase.name: made[phase.name] for phase in takewhile(lambda phase: phase.name in made, plan)
    }


def _fold(kind: str, made: Made) -> dict[str, np.ndarray]:
    return {
        f"{kind}/{name}/{inner}": array
        for name, tensors in made.items()
        for inner, array in tensors.items()
    }


def kept(state: Tensors) -> set[str]:
    """The names of the phases whose results a checkpoint holds."""
    return {path.split("/")[1] for path in state if path.startswith("phase/")}


def _unfold(kind: str, folded: Mapping[str, np.ndarray], names: set[str]) -> Made:
    made: Made = {}
    for path, array in folded.items():
        parts = path.split("/", 2)
        if len(parts) == 3 and parts[0] == kind and parts[1] in names:
            made.setdefault(parts[1], {})[parts[2]] = array
    return made
