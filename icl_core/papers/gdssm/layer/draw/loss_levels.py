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
ZERO = "predicting zero"
SINGLE = "one step"
SHARED = "one rate"
PLAIN = "gradient descent"  # the kind of a line that is grey and dashed
ON = 0.27  # the share of the height from which on a label stands on its line, and not under it


class Level(NamedTuple):
    """What some steps of gradient descent reach, as a line of `figures.curves`."""

    name: str
    loss: float
    kind: str = PLAIN  # "floor" is the best that as many steps can do as the model has layers


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


def foot(lines: Sequence[Level], beside: float, zero: float, top: float) -> float:
    """Return the lower end of an axis up to `top` on which the floor's label stands under its line,
    for that is free, and the next one's on its own."""
    losses = (*(line.loss for line in lines), beside, zero)
    lowest = min(loss for loss in losses if np.isfinite(loss))
    low = lowest - 0.25 * (zero - lowest)
    if any(line.kind == "floor" for line in lines):
        on_lines = ((line.loss - ON * top) / (1 - ON) for line in lines if line.kind == PLAIN)
        low = min([low, *on_lines])
    return max(0.0, low)


def settle(figure: Figure) -> None:
    """Move labels to where the falling curve is not, and to where none is above another."""
    for label in figure.layout["annotations"]:
        if label["text"] == SINGLE:
            label.update(x=0.42)
        elif label["text"] == ZERO or label["text"].endswith(SHARED):
            label.update(x=0.97, xanchor="right")


def beaten(run: Run, ratio: float) -> str:
    """Say which simpler steps a trained model is better than that is `ratio` times the
    construction, which is as good as the best steps: so the tasks' noise drops out."""
    best, *others = levels(run)
    below = [
        level.name.replace(",", " of")
        for level in others
        if best.kind == "floor" and best.loss * ratio < level.loss
    ]
    return f", below {' and below '.join(below)}" if below else ""


def words(run: Run, beside: float) -> str:
    """Say what to look at, by case. `beside`: the construction's loss on the tasks that are drawn,
    NaN if not known."""
    layers = run.config.layers
    references = levels(run)
    away = abs(beside / references[0].loss - 1)
    off = (
        f"; on these tasks the construction is {percent(away)} off it" if np.isfinite(away) else ""
    )
    if layers == 1:
        return (
            "Blue should come down to the construction. The dotted line is the best expected loss "
            f"of one step, exact for infinitely many tasks{off}."
        )
    if run.config.penalty > 0:
        sentence = (
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
        sentence = (
            "Blue should come down to the construction, and below both dashed lines, one step and "
            "steps that share one rate: every layer finds a rate of its own. The lowest dotted "
            "line is the best that as many steps can do"
        )
    if layers == 2:
        return (
            f"{sentence}, exact for infinitely many tasks{off if run.config.penalty == 0 else ''}."
        )
    return (
        f"{sentence}. With {COUNTED[layers]} layers there is no closed form. All lines but that of "
        "one step are fitted to the test set, whose tasks are others than these."
    )
