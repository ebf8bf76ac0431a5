"""The printed formulas beside the corrected ones: gains, step lengths, and a sentence for each."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.experiment import Panel, Run
from icl_core.figure import Figure
from icl_core.figures import Curve, written
from icl_core.papers.gdssm.corrections.run import best_gain, gain
from icl_core.papers.gdssm.shared.read_run import percent

CURVES = {  # of one step: name and colour
    "right": ("corrected", "construction"),
    "sign": ("1 printed sign", "layer 1"),
    "Q": ("2 printed Q", "layer 2"),
    "odd": ("3 windows at every token", "layer 3"),
}
SHOWN = 1.6  # the lowest gain drawn


def gains(run: Run, view: Any) -> Panel:
    """What each printed formula gains, beside the corrected one."""
    bars = (
        ("corrected", "construction", best_gain(run, "right")),
        ("1 sign", "layer 1", gain(run, "sign")),
        ("2 Q", "layer 2", best_gain(run, "Q")),
        ("3 windows", "layer 3", best_gain(run, "odd")),
        ("4 factor", "gradient descent", gain(run, "factor")),
        ("two steps", "construction", float(run["gain/right"])),
        ("5 transposes", "gradient descent", float(run["gain/mixed"])),
    )
    labels, kinds, values = (list(column) for column in zip(*bars, strict=True))
    right, sign = (written(value, 2) for value in values[:2])
    return Panel(
        f"A corrected step gains {right}, the printed sign {sign}",
        "The share of the loss of predicting zero that a prediction removes: 1 is all of it, 0 nothing, below 0 it is "
        "worse than zero. Orange is corrected, the others are as printed; the printed Q and windows at every token are "
        "shown at the rate best for them, the others at the best rate of the corrected step. If the paper's formulas "
        "were right as printed, all bars of a step would be as high as orange."
        + " Bars below −1.6 are cut off."
        * (min(values) < -SHOWN),
        _bars(labels, kinds, values),
        data=pd.DataFrame({"formula": labels, "gain": values}).round(5),
    )


def _bars(labels: list[str], kinds: list[str], values: list[float]) -> Figure:
    heights = [min(max(value, -SHOWN), 1.0) for value in values]
    y_range = min(-0.25, min(heights) * 1.2), 1.12
    figure = figures.bars(labels, heights, "gain over predicting zero", kinds=kinds, text="none", y_range=y_range)
    for index, value in enumerate(values):
        where = {"yanchor": "bottom", "yshift": 2} if value >= -0.02 else {"yanchor": "top", "yshift": -2}
        where |= {"x": index, "y": float(heights[index]), "showarrow": False}
        figure.add_annotation(text=written(value, 2 if abs(value) > 0.1 else 3), **where)
    texts = [f"{'<br>' * (index % 2)}{label}" for index, label in enumerate(labels)]  # in two rows, as they are long
    figure.update_xaxes(tickvals=list(range(len(texts))), ticktext=texts, tickangle=0)
    return figure.update_yaxes(zeroline=True, zerolinewidth=1)


def lengths(run: Run, view: Any) -> Panel:
    """The gain of one step against its length: a parabola for each formula."""
    times = np.linspace(0, 3, 61)
    rows = {label: np.array([gain(run, name, t) for t in times]) for name, (label, _) in CURVES.items()}
    series = [Curve(label, times, rows[label], kind) for label, kind in CURVES.values()]
    series.append(Curve("predicting zero", times, np.zeros_like(times), "floor"))
    figure = figures.curves(
        series, "length of the step, times the best", "gain",
        y_range=(-1.2, max(0.8, 1.12 * float(rows["corrected"].max()))), at=view.times,
    )  # fmt: skip
    right, sign = (written(gain(run, name, view.times), 2) for name in ("right", "sign"))
    return Panel(
        f"At {view.times:g} × the best length: {right}, printed sign {sign}",
        "The prediction is linear in the rate, so its gain is a parabola. The corrected step gains most at 1 and "
        "nothing at 2, which is what A.1's lost factor amounts to. With the printed sign no length gains anything; "
        "if the sign were right, its line would be the orange one.",
        figure,
        data=pd.DataFrame({"length": times} | rows).round(4),
    )


def table(run: Run, view: Any) -> Panel:
    """A row for every correction."""
    best, wrong = best_gain(run, "right"), best_gain(run, "odd")
    states, gradients = run["contexts/state"], run["contexts/gradient"]
    rows = [
        ("1", "β = −η/N (eq. 13, A.1)", "β = +η/N, as the state adds up +y xᵀ",
         f"cosine with gradient descent {written(float(run['cosine/sign']), 2)}; corrected "
         f"{written(float(run['cosine/right']), 2)}"),
        ("2", "Q = e₁ e₂ᵀ, so x yᵀ (3.2, A.1)", "Q = e₂ e₁ᵀ, so y xᵀ",
         f"gain {written(best_gain(run, 'Q'))}; corrected {written(best)}"),
        ("3", "a window at every token (3.2)", "only windows that begin at an x",
         f"{percent(1 - wrong / best)} of the gain is lost"),
        ("4", "gradient without the ½ (A.1); penalty term W (A.4); Ψ of 2f × f, yet Ψ c (eq. 12)",
         "with the ½; 2 N λ W for the penalty λ |W|²; Ψ = [I 0], Θ = [0 I], both f × 2f",
         f"gain {written(gain(run, 'factor'))} instead of {written(best)}; penalised step off by "
         f"{percent(float(run['error/as_printed_penalty']))}, corrected {float(run['error/penalty']):.0e}"),
        ("5", "Wᵀ inside, W outside (A.2)", "M = Wᵀ throughout: M − (η/N)(M S − G)",
         f"gain of two steps {written(float(run['gain/mixed']))}; corrected {written(float(run['gain/right']))}"),
        ("6", "an MLP on the state gives any model's gradient (A.3, Prop. 4)", "it cannot: the state does not hold it",
         f"pairs (1, 1) and (2, ½): both states {written(float(states[0]), 0)}, gradients "
         f"{written(float(gradients[0]))} and {written(float(gradients[1]) + 0.0)}"),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["", "as printed", "corrected", "measured here"])
    return Panel(
        "Five corrections repair the formulas; the sixth claim cannot be repaired",
        "Each row was measured on the tasks of this run, both versions on the same ones, against gradient descent by "
        "automatic differentiation. Were the printed formulas right, the measured numbers of a row would be equal.",
        table=frame,
        data=frame,
    )
