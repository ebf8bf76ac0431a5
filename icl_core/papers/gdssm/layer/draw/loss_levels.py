"""The levels that the loss of trained layers is compared with (Figure 4 A): the best of as many
steps of gradient descent, a single step, and steps that share one rate."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from icl_core.contract.experiment import Run
from icl_core.contract.figure import Figure
from icl_core.papers.gdssm.shared import closed_forms
from icl_core.papers.gdssm.shared.load_run import percent

COUNTED = ("no", "one", "two", "three", "four")
ZERO, SINGLE, SHARED = "predicting zero", "one step", "one rate"
PLAIN = "gradient descent"  # the kind of a line that is grey and dashed
ON = 0.27  # the share of the height from which on a label stands on its line, and not under it


class Level(NamedTuple):
    """What some steps of gradient descent reach, as a line of `figures.curves`."""

    name: str
    loss: float
    kind: str = PLAIN  # "floor" is the best that as many steps can do as the model has layers


def levels(run: Run) -> list[Level]:
    """The best steps, a single one, and those of one rate. Up to two steps they are in closed form,
    else fitted to the run's own held-out tasks and known once it is evaluated.

    The lines know no penalty: with one built in, the steps of one rate are the construction, and no
    line.
    """
    config, counted = run.config, COUNTED[run.config.layers]
    f, N, r = config.f, config.N, config.r
    one = closed_forms.best_loss(f, N, r)
    if config.layers == 1:
        return [Level("best expected loss", one, "floor")]
    best = f"{counted} steps, " + ("no penalty" if config.penalty > 0 else f"{counted} rates")
    if config.layers == 2:
        low, tied = (
            closed_forms.two_steps_free(f, N, r).loss,
            closed_forms.two_steps_shared(f, N, r).loss,
        )
    else:
        low, tied = (
            float(run.tensors.get(f"baseline/{name}", [np.nan])[0]) for name in ("floor", "shared")
        )
    shared = np.nan if config.penalty > 0 else tied
    found = [
        Level(best, low, "floor"),
        Level(SINGLE, one),
        Level(f"{counted} steps, {SHARED}", shared),
    ]
    return [each for each in found if np.isfinite(each.loss)]


def foot(found: Sequence[Level], beside: float, zero: float, top: float) -> float:
    """The lower end of an axis up to `top` on which the floor's label stands under its line, for
    that is free, and the next one's on its own."""
    lowest = min(
        value for value in (*(each.loss for each in found), beside, zero) if np.isfinite(value)
    )
    low = lowest - 0.25 * (zero - lowest)
    if any(each.kind == "floor" for each in found):
        low = min(
            [low, *((each.loss - ON * top) / (1 - ON) for each in found if each.kind == PLAIN)]
        )
    return max(0.0, low)


def settle(figure: Figure) -> None:
    """Moves labels to where the falling curve is not, and to where none is above another."""
    for label in figure.layout["annotations"]:
        if label["text"] == SINGLE:
            label.update(x=0.42)
        elif label["text"] == ZERO or label["text"].endswith(SHARED):
            label.update(x=0.97, xanchor="right")


def beaten(run: Run, ratio: float) -> str:
    """Which simpler steps a trained model is better than that is `ratio` times the construction,
    which is as good as the best steps: so the tasks' noise drops out."""
    best, *others = levels(run)
    below = [
        each.name.replace(",", " of")
        for each in others
        if best.kind == "floor" and best.loss * ratio < each.loss
    ]
    return f", below {' and below '.join(below)}" if below else ""


def words(run: Run, beside: float) -> str:
    """What to look at, by case. `beside`: the construction's loss on the tasks that are drawn, NaN
    if not known."""
    layers, found = run.config.layers, levels(run)
    away = abs(beside / found[0].loss - 1)
    off = (
        f"; on these tasks the construction is {percent(away)} off it" if np.isfinite(away) else ""
    )
    if layers == 1:
        return (
            "Blue should come down to the construction. The dotted line is the best expected loss "
            f"of one step, exact for infinitely many tasks{off}."
        )
    if run.config.penalty > 0:
        said = (
            "The construction keeps the penalty and has one rate: see how far blue goes below it. "
            "The dashed line is a single step. The lowest dotted line is the best that as many "
            "steps without a penalty can do"
        )
    elif run.config.tied and layers > 2:
        return (
            "All loops have the same weights: blue should come down to the construction, the best "
            "rate and the best share between both heads. The lowest dotted line is the best that "
            f"{COUNTED[layers]} steps with a rate each can do. All lines but that of one step are "
            "fitted to the test set, whose tasks are others than these."
        )
    else:
        said = (
            "Blue should come down to the construction, and below both dashed lines, one step and "
            "steps that share one rate: every layer finds a rate of its own. The lowest dotted "
            "line is the best that as many steps can do"
        )
    if layers == 2:
        return f"{said}, exact for infinitely many tasks{off if run.config.penalty == 0 else ''}."
    return (
        f"{said}. With {COUNTED[layers]} layers there is no closed form. All lines but that of one "
        "step are fitted to the test set, whose tasks are others than these."
    )
