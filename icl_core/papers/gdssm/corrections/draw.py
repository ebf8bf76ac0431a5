"""The printed formulas beside those that give gradient descent: gains, step lengths, and a sentence
for each."""

from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, number_text
from icl_core.papers.gdssm.corrections.run import best_gain, gain
from icl_core.papers.gdssm.shared.load_run import percent

SMALL = 12  # pixels of the type of the names
NARROW = 11  # characters that fit under a bar
CURVES = {  # of one step: name and colour
    "right": ("corrected", "construction"),
    "Q": ("Q as printed", "layer 2"),
    "odd": ("a window at every token", "layer 3"),
}


def gains(run: Run, view: Any) -> Panel:
    """Draw what each formula gains, beside the corrected one."""
    bars = (
        ("one step", "construction", best_gain(run, "right")),
        ("Q as printed", "layer 2", best_gain(run, "Q")),
        ("a window at every token", "layer 3", best_gain(run, "odd")),
        ("two steps", "construction", float(run["gain/right"])),
        ("W and Wᵀ mixed", "gradient descent", float(run["gain/mixed"])),
    )
    labels = [label for label, _, _ in bars]
    kinds = [kind for _, kind, _ in bars]
    values = [value for _, _, value in bars]
    right = number_text(values[0], 2)
    Q = number_text(values[1])
    return Panel(
        f"One step gains {right}; with Q as printed {Q}",
        "Gain is the share of the loss of predicting zero that is removed: 1 is all of it, 0 is "
        "nothing. The layer reads a window of x, y and the next x; Q picks which of its "
        "products enter the state. Orange is gradient descent. Each formula has the rate that "
        "is best for it, and two steps share one rate. If a formula were right as printed, its "
        "bar would be as high as the orange one before it.",
        figures.seated(_bars(labels, kinds, values)),
        data=pd.DataFrame({"formula": labels, "gain": values}).round(5),
    )


def _bars(labels: list[str], kinds: list[str], values: list[float]) -> Figure:
    """Draw a bar for every formula, with its number above it."""
    figure = figures.bars(
        labels, values, "gain over predicting zero", kinds=kinds, text="none", y_range=(0, 1.12)
    )
    texts = ["<br>".join(wrap(label, NARROW)) for label in labels]
    figure.update_xaxes(
        tickvals=list(range(len(texts))), ticktext=texts, tickangle=0, tickfont={"size": SMALL}
    )
    for index, value in enumerate(values):
        where = {"x": index, "y": value, "yanchor": "bottom", "yshift": 2, "showarrow": False}
        figure.add_annotation(text=number_text(value, 2 if value > 0.1 else 3), **where)
    return figure


def lengths(run: Run, view: Any) -> Panel:
    """Draw the gain of one step against its length: a parabola for each formula."""
    times = np.linspace(-1, 3, 81)
    rows = {
        label: np.array([gain(run, name, t) for t in times]) for name, (label, _) in CURVES.items()
    }
    series = [Curve(label, times, rows[label], kind) for label, kind in CURVES.values()]
    series.append(Curve("predicting zero", times, np.zeros_like(times), "floor"))
    figure = figures.curves(
        series, "length of the step, times the best", "gain",
        y_range=(-1.6, max(0.8, 1.12 * float(rows["corrected"].max()))), at=view.times,
    )  # fmt: skip
    right, Q = (number_text(gain(run, name, view.times), 2) for name in ("right", "Q"))
    return Panel(
        f"At length {number_text(view.times, 1)} a step gains {right}, Q as printed {Q}",
        "A prediction is linear in its rate, so its gain is a parabola. The top is at the best "
        "length. At twice the best length nothing is left; this is what happens if the ½ that "
        "A.1 loses is taken literally. A length below zero is the sign of eq. 13, β = −η/N, where "
        "the state adds up +y xᵀ: no such step gains anything. With Q as printed the step is x "
        "yᵀ, which agrees with y xᵀ on its diagonal alone, 1/f of the entries. So its top is at "
        "1/f of the length, and 1/f² as high.",
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame({"length": times} | rows).round(4),
    )


def table(run: Run, view: Any) -> Panel:
    """Return a table with a row for every formula."""
    best = best_gain(run, "right")
    wrong = best_gain(run, "odd")
    states = run["contexts/state"]
    gradients = run["contexts/gradient"]
    rows = [
        ("a convention", "β = −η/N (eq. 13, A.1)", "β = +η/N, since the state adds up +y xᵀ; or "
                                                   "the minus, with −y xᵀ",
         f"β = +η/N: off gradient descent by {float(run['error/right']):.0e}"),
        ("a slip", "Q = e₁ e₂ᵀ, so x yᵀ (3.2, A.1)", "Q = e₂ e₁ᵀ, so y xᵀ",
         f"gain {number_text(best_gain(run, 'Q'))}; corrected {number_text(best)}"),
        ("a reading", "t counts tokens: a window at each (3.2)", "t counts pairs: windows that "
                                                                 "begin at an x",
         f"{percent(1 - wrong / best)} of the gain is lost"),
        ("a slip", "gradient without the ½ (A.1); penalty term W (A.4); Ψ of 2f × f, yet Ψ c (eq. "
                   "12)",
         "with the ½; 2 N λ W for the penalty λ |W|²; Ψ = [I 0], Θ = [0 I], both f × 2f",
         f"penalised step off by {percent(float(run['error/as_printed_penalty']))}, corrected "
         f"{float(run['error/penalty']):.0e}"),
        ("a slip", "Wᵀ inside, W outside (A.2)", "M = Wᵀ throughout: M − (η/N)(M S − G)",
         f"gain of two steps {number_text(float(run['gain/mixed']))}; corrected "
         f"{number_text(float(run['gain/right']))}"),
        ("a proof", "an MLP maps ∑ (w₀ᵀx − y) x to the gradient of ŷ = g(wᵀx) (A.3, Proposition 4)",
         "the non-linearity before the sum: B = (g(w₀ᵀx) − y) g′(w₀ᵀx) x; the statement holds",
         f"state off the gradient by {float(run['error/before']):.0e}. Behind the sum: contexts "
         f"(1, 1) and (2, ½) both sum to {number_text(float(states[0]), 0)}, with gradients "
         f"{number_text(float(gradients[0]))} and {number_text(float(gradients[1]) + 0.0)}"),
    ]  # fmt: skip
    frame = pd.DataFrame(
        rows, columns=["what it is", "as printed", "what gives gradient descent", "measured here"]
    )
    return Panel(
        "Three slips, a convention, a reading, and a proof that fails while its statement holds",
        "What each formula gives as printed, and what gives gradient descent. Numbers are "
        "measured here: a gain is the share of the loss of predicting zero that is removed, each "
        "at its best rate. If a printed formula were right, it would gain as much as the other, "
        "or be off by as little.",
        table=frame,
        data=frame,
    )
