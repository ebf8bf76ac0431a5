"""A run of several trainings, one after the other. A killed one goes on with the training it was in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from icl_core.experiment import Progress, Tensors
from icl_core.training.loop import State

Made = dict[str, dict[str, np.ndarray]]  # by the name of a pass, what it made
Report = Callable[[State, Callable[[], dict[str, np.ndarray]]], None]


@dataclass(frozen=True)
class Phase:
    """One training. `train(*given, resumed, report)` is `training.train` and what is made of its state.

    `name` holds no slash. `curves` turns the state of the one in training into what `train` would return of it.
    `given` names earlier passes whose results `train` is handed first.
    """

    name: str
    steps: int
    train: Callable[..., dict[str, np.ndarray]]
    curves: Callable[[State], dict[str, np.ndarray]]
    given: tuple[str, ...] = ()


def run(passes: Sequence[Phase], progress: Progress, show: Callable[[Made], Tensors], loss: str = "loss") -> Made:
    """Train all passes in order, and go on from a checkpoint if there is one.

    `show` makes the curves of a run that is still going from what there is so far; `loss` names the measure of a
    batch that is shown as progress, for several seeds their mean.
    """
    resumed = progress.resume() or {}
    made = _unfold({name: array for name, array in resumed.items() if name.startswith("pass/")})
    current: Tensors = {name.removeprefix("now/"): array for name, array in resumed.items() if name.startswith("now/")}
    for index, part in enumerate(passes):
        if part.name not in made:
            report = _reporter(passes, index, progress, made, show, loss)
            made[part.name] = part.train(*(made[name] for name in part.given), current, report)
            current = {}
    return made


def _reporter(
    passes: Sequence[Phase], index: int, progress: Progress, made: Made, show: Callable[[Made], Tensors], loss: str
) -> Report:
    part, before, total = passes[index], sum(p.steps for p in passes[:index]), sum(p.steps for p in passes)

    def report(state: State, save: Callable[[], dict[str, np.ndarray]]) -> None:
        def live() -> Tensors:
            return show({**made, part.name: part.curves(state)} if state.curve else made) if state.curve or made else {}

        def whole() -> Tensors:
            return {**_fold(made), **{f"now/{name}": array for name, array in save().items()}}

        last = float(np.mean(state.batch[loss][-1])) if loss in state.batch else float("nan")
        progress.report(before + state.step, total, last, live, whole)

    return report


def _fold(made: Made) -> dict[str, np.ndarray]:
    return {f"pass/{name}/{inner}": array for name, tensors in made.items() for inner, array in tensors.items()}


def _unfold(folded: Mapping[str, np.ndarray]) -> Made:
    made: Made = {}
    for path, array in folded.items():
        _, name, inner = path.split("/", 2)
        made.setdefault(name, {})[inner] = array
    return made
