"""A run of several trainings, one after the other or shared with other processes; a killed run goes
on where it was."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import cast

import numpy as np

from icl_core.contract.experiment import Progress, Tensors
from icl_core.training.loop import State

Made = dict[str, dict[str, np.ndarray]]  # by the name of a phase, its results
EVALUATING = "evaluating"
Report = Callable[[State, Callable[[], dict[str, np.ndarray]]], None]
Show = Callable[[Made], Tensors]


def no_preview(results: Made) -> Tensors:
    """Return nothing: only the curves of such a run are drawn while it trains."""
    return {}


@dataclass(frozen=True)
class Phase:
    """One training of a run.

    name    its identity in checkpoints and among processes that share the run; without a slash
    steps   how many it takes
    train   called as `train(*given, resumed, report)`; calls `loop.train` with the latter two and
            returns its results
    curves  turns the state of the phase while it trains into those results of it that are shown
    given   names of earlier phases, whose results `train` takes as its first arguments
    label   its name for people
    model   turns the state of the phase while it trains into the model as it is now, for previews
    """

    name: str
    steps: int
    train: Callable[..., dict[str, np.ndarray]]
    curves: Callable[[State], dict[str, np.ndarray]] = lambda state: {}
    given: tuple[str, ...] = ()
    label: str = ""
    model: Callable[[State], dict[str, np.ndarray]] = State.now


@dataclass(frozen=True, eq=False)
class Wanted:
    """A training that is due: the arguments of `phase.train`."""

    phase: Phase
    given: tuple[dict[str, np.ndarray], ...]
    resumed: Tensors
    report: Report


def run(
    plan: Sequence[Phase],
    progress: Progress,
    show: Show,
    loss: str = "loss",
    preview: Show = no_preview,
) -> Made:
    """Train all phases, from a checkpoint if there is one, and return their results by name.

    plan      in order; where `progress` shares the run, other processes may train some of it
    show      makes the curves that are drawn while the run goes on, of the results so far
    loss      the measure of a batch that is shown as progress; of several seeds the mean
    preview   makes the tensors of the model that is drawn while the run goes on: `snapshot/step`
              [1] and what the stage's drawings read. It is given the results of the phases that
              have ended and, last, `Phase.model` of the one in training

    Phases in a checkpoint that the plan does not name are ignored: if the plan has changed its
    names, the run starts anew.
    """
    trainings = _trainings(plan, progress, show, loss, preview)
    results = None
    while True:
        try:
            wanted = trainings.send(results)
        except StopIteration as end:
            return end.value
        results = wanted.phase.train(*wanted.given, wanted.resumed, wanted.report)


def run_together(
    plans: Sequence[tuple[Phase, Progress, Show]],
    train: Callable[
        [Mapping[int, Wanted]], Iterable[tuple[int, dict[str, np.ndarray] | Exception]]
    ],
    loss: str = "loss",
    previews: Sequence[Show] = (),
) -> Iterator[tuple[int, Made | Exception]]:
    """Train several runs of one phase each in one batch. Yield, as each ends, its index and what
    `run` would return or raise.

    plans     of each run its phase, its progress, and `show` as of `run`
    train     takes all trainings that are due, by index, and yields the results of each, or the
              exception that ended it
    previews  of each run `preview` as of `run`; none if left out
    """
    made_previews = previews or [no_preview] * len(plans)
    runs = {
        index: _trainings([phase], progress, show, loss, made_previews[index])
        for index, (phase, progress, show) in enumerate(plans)
    }
    due: dict[int, Wanted] = {}
    for index, trainings in runs.items():
        first = _next(trainings, None)
        if isinstance(first, Wanted):
            due[index] = first
        else:
            yield index, first
    if not due:
        return
    for index, results in train(due):
        if isinstance(results, Exception):
            yield index, results
        else:  # a run of one phase has no next training
            yield index, cast(Made | Exception, _next(runs[index], results))


_Trainings = Generator[Wanted, dict[str, np.ndarray] | None, Made]


def _next(
    trainings: _Trainings, results: dict[str, np.ndarray] | None
) -> Wanted | Made | Exception:
    """Return the next training of a run, whose last one had these results; if there is none, the
    results of all; or the exception that ended the run."""
    try:
        return trainings.send(results)
    except StopIteration as end:
        return end.value
    except Exception as why:
        return why


def _trainings(
    plan: Sequence[Phase], progress: Progress, show: Show, loss: str, preview: Show
) -> _Trainings:
    """Yield the trainings of a plan one by one, be sent the results of each, and return all."""
    checkpoint = progress.resume() or {}
    names = {phase.name for phase in plan}
    results = _unfold("phase", checkpoint, names)  # of phases that have ended
    current = _unfold("now", checkpoint, names)  # the state of the one that was in training
    while left := [phase for phase in plan if phase.name not in results]:
        ready = {phase.name: phase for phase in left if results.keys() >= set(phase.given)}
        # The one that was in training is taken up first.
        taken = progress.take(sorted(ready, key=lambda name: name not in current))
        if taken.made is not None:  # another process has trained it
            results[taken.name] = dict(taken.made)
            continue
        phase = ready[taken.name]
        steps_before = _steps(phase for phase in plan if phase.name in results)
        progress.enter(_label(plan, phase), steps_before, phase.steps)
        report = _reporter(plan, phase, steps_before, progress, results, show, loss, preview)
        resumed = (
            current.get(phase.name) or dict(taken.resumed) or dict(progress.earlier(phase.name))
        )
        given = tuple(results[name] for name in phase.given)
        trained = yield Wanted(phase, given, resumed, report)
        results[phase.name] = trained or {}
        progress.give(phase.name, results[phase.name])
    progress.enter(EVALUATING)  # what the run measures of all phases
    return {phase.name: results[phase.name] for phase in plan}


def _steps(phases: Iterable[Phase]) -> int:
    return sum(phase.steps for phase in phases)


def _label(plan: Sequence[Phase], phase: Phase) -> str:
    """Return the name for people of what is in training; empty where there is only one phase."""
    return (phase.label or phase.name) if len(plan) > 1 else ""


def curves(name: str, made: Made) -> dict[str, np.ndarray]:
    """Return the `curve/…` tensors of one phase; none if it has not begun."""
    return {key: array for key, array in made.get(name, {}).items() if key.startswith("curve/")}


def final(tensors: Tensors) -> dict[str, np.ndarray]:
    """Return the `final/…` tensors of a phase's results, by the rest of their names."""
    return {
        key.removeprefix("final/"): array
        for key, array in tensors.items()
        if key.startswith("final/")
    }


def _reporter(
    plan: Sequence[Phase],
    phase: Phase,
    steps_before: int,
    progress: Progress,
    results: Made,
    show: Show,
    loss: str,
    preview: Show = no_preview,
) -> Report:
    """Return the report of one phase's training, which tells `progress` where the run is."""
    total = _steps(plan)

    def report(state: State, save: Callable[[], dict[str, np.ndarray]]) -> None:
        def live() -> Tensors:
            """Return what can be drawn of the run so far."""
            current_results = dict(results)
            if state.curve:
                current_results[phase.name] = phase.curves(state)
            shown = _first_phases(plan, current_results)
            return show(shown) if shown else {}

        def checkpoint() -> Tensors:
            """Return the state of the whole run."""
            return {**_fold("phase", results), **_fold("now", {phase.name: save()})}

        def model() -> Tensors:
            """Return the model as it is now."""
            return preview({**results, phase.name: phase.model(state)})

        last_loss = float(np.mean(state.batch[loss][-1])) if loss in state.batch else float("nan")
        progress.report(steps_before + state.step, total, last_loss, live, checkpoint, model)
        if state.step == phase.steps:
            progress.end(phase.name, save)
            # The rest of the phase evaluates what it has trained.
            progress.enter(": ".join(filter(None, (_label(plan, phase), EVALUATING))))

    return report


def _first_phases(plan: Sequence[Phase], results: Made) -> Made:
    """Return the results in the order of the plan, up to the first phase that has none.

    Where several processes share a run, later phases may have results before earlier ones.
    """
    begun = takewhile(lambda phase: phase.name in results, plan)
    return {phase.name: results[phase.name] for phase in begun}


def _fold(kind: str, results: Made) -> dict[str, np.ndarray]:
    """Return all tensors in one dictionary, as `<kind>/<phase>/<tensor>`."""
    return {
        f"{kind}/{name}/{inner}": array
        for name, tensors in results.items()
        for inner, array in tensors.items()
    }


def finished_phases(state: Tensors) -> set[str]:
    """Return the names of the phases whose results a checkpoint holds."""
    return {path.split("/")[1] for path in state if path.startswith("phase/")}


def _unfold(kind: str, folded: Mapping[str, np.ndarray], names: set[str]) -> Made:
    """Return what `_fold` was given, of the phases that are named."""
    results: Made = {}
    for path, array in folded.items():
        parts = path.split("/", 2)
        if len(parts) == 3 and parts[0] == kind and parts[1] in names:
            results.setdefault(parts[1], {})[parts[2]] = array
    return results
