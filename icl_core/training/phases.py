"""A run of several trainings, one after the other, some as one tensor program, or shared with other
processes; a killed run goes on where it was."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import cast

import numpy as np

from icl_core.contract.experiment import Progress, Tensors
from icl_core.training.batched import Differs
from icl_core.training.loop import State

Made = dict[str, dict[str, np.ndarray]]  # by the name of a phase, its results
EVALUATING = "evaluating"
Report = Callable[[State, Callable[[], dict[str, np.ndarray]]], None]
Show = Callable[[Made], Tensors]


def no_preview(results: Made) -> Tensors:
    """Return nothing: only the curves of such a run are drawn while it trains."""
    return {}


@dataclass(frozen=True, eq=False)
class Together:
    """How some trainings of a run are done as one tensor program: those whose phases hold this
    value.

    train  takes the trainings that are due, by index, and yields the results of each as it ends,
           with the digits that it has alone, or the exception that ended it. Those that end with
           `Differs` are then done alone
    """

    train: Callable[
        [Mapping[int, "Wanted"]], Iterable[tuple[int, dict[str, np.ndarray] | Exception]]
    ]


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
    together  with which other phases it is trained as one program; None if it is trained alone
    """

    name: str
    steps: int
    train: Callable[..., dict[str, np.ndarray]]
    curves: Callable[[State], dict[str, np.ndarray]] = lambda state: {}
    given: tuple[str, ...] = ()
    label: str = ""
    model: Callable[[State], dict[str, np.ndarray]] = State.now
    together: Together | None = None


@dataclass(frozen=True, eq=False)
class Wanted:
    """A training that is due.

    given, resumed, report  the arguments of `phase.train`
    forget                  forgets what was reported of it, before it begins again
    """

    phase: Phase
    given: tuple[dict[str, np.ndarray], ...]
    resumed: Tensors
    report: Report
    forget: Callable[[], None]


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
        results = _train(wanted)


def _train(wanted: Sequence[Wanted]) -> list[dict[str, np.ndarray]]:
    """Do the trainings that are due, as one program if they are several, and return the results of
    each. Raises what ends one of them."""
    results: dict[int, dict[str, np.ndarray]] = {}
    together = wanted[0].phase.together
    if together is not None and len(wanted) > 1:
        for index, result in together.train(dict(enumerate(wanted))):
            if isinstance(result, Differs):
                wanted[index].forget()
                continue
            if isinstance(result, Exception):
                raise result
            results[index] = result
    for index, each in enumerate(wanted):
        if index not in results:
            results[index] = each.phase.train(*each.given, each.resumed, each.report)
    return [results[index] for index in range(len(wanted))]


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
        if isinstance(first, list):
            (due[index],) = first  # a run of one phase
        else:
            yield index, first
    if not due:
        return
    for index, results in train(due):
        if isinstance(results, Exception):
            yield index, results
        else:  # a run of one phase has no next training
            yield index, cast(Made | Exception, _next(runs[index], [results]))


# yields the trainings that come next, several if they are one program, and is sent their results
_Trainings = Generator[list[Wanted], list[dict[str, np.ndarray]] | None, Made]


def _next(
    trainings: _Trainings, results: list[dict[str, np.ndarray]] | None
) -> list[Wanted] | Made | Exception:
    """Return the next trainings of a run, whose last ones had these results; if there are none, the
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
    """Yield the trainings of a plan, those of one program at once, be sent the results of each, and
    return all."""
    checkpoint = progress.resume() or {}
    names = {phase.name for phase in plan}
    results = _unfold("phase", checkpoint, names)  # of phases that have ended
    current = _unfold("now", checkpoint, names)  # the state of those that were in training
    while left := _programs(plan, results):
        ready = {
            name: phases
            for name, phases in left.items()
            if all(results.keys() >= set(phase.given) for phase in phases)
        }
        # What was in training is taken up first.
        offered = sorted(ready, key=lambda name: not any(p.name in current for p in ready[name]))
        next_training = progress.take(offered)
        phases = ready[next_training.name]
        if next_training.made is not None:  # another process has trained it
            results |= _unfold("phase", next_training.made, names)
            continue
        steps_before = _steps(phase for phase in plan if phase.name in results)
        progress.enter(_label(plan, phases), steps_before, _steps(phases))
        begun = _unfold("now", next_training.resumed, names)
        resumed = {
            phase.name: current.get(phase.name)
            or begun.get(phase.name)
            or dict(progress.earlier(phase.name))
            for phase in phases
        }
        reports = _Reports(plan, phases, resumed, progress, results, show, loss, preview)
        wanted = [
            Wanted(
                phase,
                tuple(results[name] for name in phase.given),
                resumed[phase.name],
                partial(reports.report, phase),
                partial(reports.forget, phase),
            )
            for phase in phases
        ]
        trained = cast(list[dict[str, np.ndarray]], (yield wanted))
        ended = {phase.name: tensors or {} for phase, tensors in zip(phases, trained, strict=True)}
        results |= ended
        progress.give(next_training.name, _fold("phase", ended))
    progress.enter(EVALUATING)  # what the run measures of all phases
    return {phase.name: results[phase.name] for phase in plan}


def _programs(plan: Sequence[Phase], results: Made) -> dict[str, list[Phase]]:
    """Return the phases without results, those that are trained as one program together, under the
    name of the first phase of the program in the plan."""
    programs: dict[str, list[Phase]] = {}
    names: dict[Together, str] = {}
    for phase in plan:
        name = phase.name
        if phase.together is not None:
            name = names.setdefault(phase.together, phase.name)
        if phase.name not in results:
            programs.setdefault(name, []).append(phase)
    return programs


def _steps(phases: Iterable[Phase]) -> int:
    return sum(phase.steps for phase in phases)


def _label(plan: Sequence[Phase], phases: Sequence[Phase]) -> str:
    """Return the name for people of what is in training; empty where it is the whole run."""
    if len(phases) > 1:
        return f"{len(phases)} models at once"
    (phase,) = phases
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


class _ProgramEnded(Exception):
    """Another training's report has ended the program."""


class _Reports:
    """The reports of the trainings of one program, which tell `progress` where the run is."""

    def __init__(
        self,
        plan: Sequence[Phase],
        phases: Sequence[Phase],
        resumed: Made,
        progress: Progress,
        results: Made,
        show: Show,
        loss: str,
        preview: Show,
    ) -> None:
        self.plan = plan
        self.phases = phases
        self.progress = progress
        self.results = results  # of the phases that have ended
        self.show = show
        self.loss = loss
        self.preview = preview
        self.total = _steps(plan)
        self.steps_before = _steps(phase for phase in plan if phase.name in results)
        self.states: dict[str, State] = {}  # by phase
        self.resumed = resumed
        self.steps: dict[str, int] = {}  # made of each phase
        self.saves: dict[str, Callable[[], Tensors]] = {}  # of each phase what makes its checkpoint
        self.has_ended = False  # a report has raised
        for phase in phases:
            self.forget(phase)

    def report(self, phase: Phase, state: State, save: Callable[[], dict[str, np.ndarray]]) -> None:
        """Report the state of one of the phases; see `loop.train`."""
        if self.has_ended:
            raise _ProgramEnded
        self.states[phase.name] = state
        self.steps[phase.name] = state.step
        self.saves[phase.name] = save
        first = self.states.get(self.phases[0].name, state)
        loss = float("nan")
        if self.loss in first.batch:
            loss = float(np.mean(first.batch[self.loss][-1]))
        done = self.steps_before + sum(self.steps.values())
        try:
            self.progress.report(done, self.total, loss, self.live, self.checkpoint, self.model)
        except BaseException:
            self.has_ended = True
            raise
        if state.step == phase.steps:
            self.progress.end(phase.name, save)
            # While others of the program go on, its checkpoint is this one: behind it come its last
            # evaluation and its results.
            self.saves[phase.name] = partial(dict, save())
            if all(self.steps[each.name] == each.steps for each in self.phases):
                # What follows evaluates what has been trained.
                label = _label(self.plan, self.phases)
                self.progress.enter(": ".join(filter(None, (label, EVALUATING))))

    def forget(self, phase: Phase) -> None:
        """Forget what was reported of a phase; its checkpoint is the one from which it goes on."""
        self.states.pop(phase.name, None)
        self.saves.pop(phase.name, None)
        self.steps[phase.name] = 0
        if checkpoint := self.resumed.get(phase.name):
            self.saves[phase.name] = partial(dict, checkpoint)
            self.steps[phase.name] = int(checkpoint["step"][0])

    def live(self) -> Tensors:
        """Return what can be drawn of the run so far."""
        begun = {
            phase.name: phase.curves(self.states[phase.name])
            for phase in self.phases
            if phase.name in self.states and self.states[phase.name].curve
        }
        shown = _first_phases(self.plan, {**self.results, **begun})
        return self.show(shown) if shown else {}

    def checkpoint(self) -> Tensors:
        """Return the state of the whole run."""
        now = {name: save() for name, save in self.saves.items()}
        return {**_fold("phase", self.results), **_fold("now", now)}

    def model(self) -> Tensors:
        """Return the model as it is now."""
        models = {
            phase.name: phase.model(self.states[phase.name])
            for phase in self.phases
            if phase.name in self.states
        }
        return self.preview({**self.results, **models})


def _first_phases(plan: Sequence[Phase], results: Made) -> Made:
    """Return the results in the order of the plan, up to the first phase that has none.

    Where several processes share a run, later phases may have results before earlier ones.
    """
    begun = takewhile(lambda phase: phase.name in results, plan)
    return {phase.name: results[phase.name] for phase in begun}


def _fold(kind: str, results: Mapping[str, Tensors]) -> dict[str, np.ndarray]:
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
