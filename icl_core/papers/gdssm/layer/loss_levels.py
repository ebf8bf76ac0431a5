"""The levels that the loss of trained layers is compared with (Figure 4 A): the best of as many
steps of gradient descent, a single step, and steps that share one rate."""

from typing import Any, NamedTuple

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.figures import mean_of
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared.load_run import curve_of
from icl_core.papers.gdssm.shared.settings import Config

COUNTED = ("no", "one", "two", "three", "four")
ZERO = "predicting zero"
SINGLE = "one step"
SHARED = "one rate"
# the cases in which the levels mean something else; words.md has a text for each
CASES = ("one layer", "penalised layers", "loops", "several layers")
PLAIN = "gradient descent"  # the kind of a line that is grey and dashed


class Level(NamedTuple):
    """What some steps of gradient descent reach, as a line of `figures.curves`."""

    name: str
    loss: float
    kind: str = PLAIN  # "floor" is the best that as many steps can do as the model has layers


def case_of(config: Config) -> str:
    """Return which of `CASES` a model is."""
    if config.layers == 1:
        return "one layer"
    if config.penalty > 0:
        return "penalised layers"
    return "loops" if config.tied and config.layers > 2 else "several layers"


def levels(run: Run) -> list[Level]:
    """Return the levels of the best steps, a single one, and those of one rate. Up to two steps
    they are in closed form, else fitted to the run's own held-out tasks and known once it is
    evaluated.

    The lines know no penalty: with one built in, the steps of one rate are the construction, and no
    line.
    """
    config = run.config
    counted = COUNTED[run.config.layers]
    f = config.f
    N = config.N
    r = config.r
    one = closed_forms.best_loss(f, N, r)
    if config.layers == 1:
        return [Level("best expected loss", one, "floor")]
    best = f"{counted} steps, " + ("no penalty" if config.penalty > 0 else f"{counted} rates")
    if config.layers == 2:
        low = closed_forms.two_steps_free(f, N, r).loss
        tied = closed_forms.two_steps_shared(f, N, r).loss
    else:
        low, tied = (
            float(run.tensors.get(f"baseline/{name}", [np.nan])[0]) for name in ("floor", "shared")
        )
    shared = np.nan if config.penalty > 0 else tied
    known = [
        Level(best, low, "floor"),
        Level(SINGLE, one),
        Level(f"{counted} steps, {SHARED}", shared),
    ]
    return [level for level in known if np.isfinite(level.loss)]


def beaten(run: Run, ratio: float) -> list[str]:
    """Return the names of the simpler steps than which a trained model is better that is `ratio`
    times the construction, which is as good as the best steps: so the tasks' noise drops out."""
    best, *others = levels(run)
    return [
        level.name.replace(",", " of")
        for level in others
        if best.kind == "floor" and best.loss * ratio < level.loss
    ]


def watched_loss(run: Run) -> float:
    """Return the construction's loss on the tasks that the curves are watched on, NaN if it is not
    known yet."""
    return float(run.tensors.get("watched/constructed", [np.nan])[0])


def watched_off(run: Run) -> float:
    """Return by what share that loss differs from the best steps' over all tasks."""
    return abs(watched_loss(run) / levels(run)[0].loss - 1)


def above(run: Run, view: Any) -> tuple[float, float]:
    """Return by what share the loss at the view's snapshot is above the construction's on the same
    tasks, as the mean over seeds, and by what share predicting zero is."""
    x, rows = curve_of(run, "loss")
    step = run.step(view)
    beside = float(run["watched/constructed"][0])
    zero = float(run["baseline/zero"][0])
    shown = float(mean_of(rows)[np.abs(x - step).argmin()])
    return shown / beside - 1, zero / beside - 1
