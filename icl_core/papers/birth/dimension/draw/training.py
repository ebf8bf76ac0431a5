"""W_O2 trained alone at several widths and learning rates (Figure 8)."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, mean_of, number_text
from icl_core.figures.line_plots import LEVEL
from icl_core.papers.birth.dimension.settings import View
from icl_core.papers.birth.dimension.tuned_rates import (
    HALF,
    at_rates,
    fixed,
    halves,
    over_training,
    tuned,
)

ENDS = 1.02


def tint(index: int) -> str:
    """Return the colour of a width, by its place."""
    return f"layer {index + 1}"


def at_fixed(run: Run, view: View) -> Panel:
    """Recall over training at one learning rate for all widths."""
    rate = float(run["task/rates"][fixed(run)[0]])
    says = "The same learning rate at every width."
    return _recall(run, fixed(run), f"rate {_rate(rate)}", says, True)


def at_tuned(run: Run, view: View) -> Panel:
    """Recall over training at the best learning rate of each width."""
    rates = run["task/rates"]
    best = tuned(run)
    at_the_end = (best == len(rates) - 1).sum()
    says = (
        f"Each width at the best of {len(rates)} learning rates, from {_rate(rates[0])} to "
        f"{_rate(rates[-1])}: the one with the highest mean recall over the training."
    )
    if at_the_end:
        says += f" For {at_the_end} of {len(best)} widths that is the largest that was tried."
    return _recall(run, best, "best rate" if not at_the_end else "best rate tried", says, False)


def _recall(run: Run, rates: np.ndarray, how: str, says: str, names: bool) -> Panel:
    """Recall over training at the `rates`, one for each width; with the widths' `names`."""
    curves = at_rates(run["curve/recall"], rates)  # [seeds, widths, evaluations]
    series = [
        Curve(f"{d}", run["curve/step"], curves[:, index], tint(index))
        for index, d in enumerate(run["task/widths"])
    ]
    ends = [float(mean_of(each.y)[-1]) for each in series]
    told = (
        f"{ends[0]:.0%} at d = {run['task/widths'][0]}, {ends[-1]:.0%} at {run['task/widths'][-1]}"
    )
    figure = figures.curves(
        series, "training step", "recall of W_O²", y_range=(0, ENDS), height=figures.SEAT
    )
    if not names:
        figure.update_layout(showlegend=False)
    return Panel(
        f"{how[0].upper()}{how[1:]} recalls {told}" if run.finished else f"Recall, {how}, so far",
        f"{says} The share of pairs that W_O² recalls while it learns alone, a colour for each "
        "width, the mean over seeds with its spread. If the dimension did not matter, the curves "
        "would lie together.",
        figures.seated(_named(figure)),
        data=pd.DataFrame(
            {"step": run["curve/step"]}
            | {f"d = {each.name}": np.round(each.mean(), 4) for each in series}
        ),
    )


def _named(figure: Figure) -> Figure:
    """Return the legend says what its numbers are."""
    return figure.update_layout(legend={"title": {"text": "d =", "side": "left"}})


def _rate(rate: float) -> str:
    return f"{rate:.3g}"


def rates(run: Run, view: View) -> Panel:
    """Draw the mean recall over the training against the learning rate."""
    means = over_training(run)
    tried = run["task/rates"]
    series = [
        Curve(f"{d}", tried, means[:, index], tint(index), markers=True)
        for index, d in enumerate(run["task/widths"])
    ]
    best = [float(tried[rate]) for rate in tuned(run)]
    marks = [(float(tried[fixed(run)[0]]), "fixed", "floor")]
    limits = float(tried[0]) / 1.3, float(tried[-1]) * 1.3
    figure = figures.curves(
        series,
        "learning rate",
        "mean recall",
        log_x=True,
        y_range=(0, ENDS),
        x_range=limits,
        marks=marks,
        height=figures.SEAT,
    )
    return Panel(
        f"The best rate is {_rate(best[0])} at d = {run['task/widths'][0]}, {_rate(best[-1])} "
        f"at {run['task/widths'][-1]}",
        f"The mean recall over the training at each learning rate. {_why(run)} If a rate suited "
        "all widths alike, the curves would have one shape.",
        figures.seated(figure.update_layout(showlegend=False), above=LEVEL),
        data=pd.DataFrame(
            {"rate": tried} | {f"d = {each.name}": np.round(each.mean(), 4) for each in series}
        ),
    )


def _why(run: Run) -> str:
    """Return why small widths need a larger rate where embeddings are N(0, 1)."""
    if run.config.scale == "paper":
        return "Left of its best a width learns more slowly than it could."
    return "At small widths vectors are shorter here, so the same rate moves the logits less."


def table(run: Run, view: View) -> Panel:
    """Draw every width in numbers."""
    best = tuned(run)
    means = over_training(run).mean(0)
    steps = {"fixed": halves(run, fixed(run)).mean(0), "tuned": halves(run, best).mean(0)}
    rows = [
        {
            "d": int(d),
            "best rate": _rate(float(run["task/rates"][best[index]])),
            **{f"half recalled, {how}": _step(values[index], run) for how, values in steps.items()},
            "mean recall, fixed": number_text(float(means[index, fixed(run)[0]]), 2),
            "mean recall, tuned": number_text(float(means[index, best[index]]), 2),
        }
        for index, d in enumerate(run["task/widths"])
    ]
    return Panel(
        f"{len(rows)} widths, number of seeds: {len(run['curve/recall'])}",
        f"The best learning rate of each width, the steps until W_O² recalls {HALF:.0%} of its "
        "pairs, and the mean recall over the training. If the dimension did not matter, all rows "
        "would agree.",
        table=pd.DataFrame(rows),
    )


def _step(step: float, run: Run) -> str:
    return f"step {step:.0f}" if np.isfinite(step) else f"later than {run['curve/step'][-1]}"
