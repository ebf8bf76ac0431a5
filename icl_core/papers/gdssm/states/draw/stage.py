"""What each rule loses, what its trained window holds, and what batches and drift change."""

from typing import Any

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Trace
from icl_core.figures import Curve, number_text
from icl_core.in_context_regression.rules import KALMAN, RULES
from icl_core.papers.gdssm.shared.load_run import percent
from icl_core.papers.gdssm.states.draw.style import SHORT, STYLES
from icl_core.papers.gdssm.states.load_run import (
    over_one_step,
    place,
    rules_of,
    trained_at_step,
    tuned_of,
    written_at,
)

WINDOW = ("x", "y", "x⁺")
PARTS = ("key", "value", "query")
SHOWN_DRIFT = 0.5  # of which the title speaks where the run has none
LIMIT = 1.5  # of the scale of coefficients, however large a quotient is before training


def losses(run: Run, view: Any) -> Panel:
    """Draw what every rule loses over one step of gradient descent, and the trained one at the
    step."""
    exact = over_one_step(run)
    trained = trained_at_step(run, view).mean(1)
    labels = [SHORT[rule.id] for rule in rules_of(run)]
    top = 1.1 * max(1.0, float(exact.max()))
    figure = figures.bars(
        labels,
        exact.tolist(),
        "loss over one step",
        kinds=["construction"] * len(labels),
        y_range=(0, max(top, 1.05 * float(1 / run["baseline/one"][0]))),
        text="none",
        height=figures.SEAT,
    )
    figure.data[0].update(name="as written", showlegend=True)
    marker = {"size": 11, "color": figures.colour("trained")}
    names = figure.data[0]["x"]
    figure.add_trace(Trace(x=names, y=trained, mode="markers", name="trained", marker=marker))
    figure.update_layout(showlegend=True)
    delta = number_text(float(exact[place(run, "delta")]), 2)
    squares = number_text(float(exact[place(run, "squares")]), 2)
    return Panel(
        f"Delta rule {delta}, least squares {squares} of one step",
        "A bar is a rule as it is written, with its best settings; 1 is one step of gradient "
        "descent without drift. All states hold f × f numbers, only that of least squares twice "
        "as many. The bars are exact, but for least squares, which is a mean over "
        "prompts. A dot is the same rule trained in the window, at the step shown; it should come "
        "down to the top of its bar.",
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame({"rule": labels, "as written": exact, "trained": trained}).round(4),
    )


def window(run: Run, view: Any) -> Panel:
    """Draw the coefficients of the trained rule beside the construction's."""
    id = view.rule
    rule = RULES[id]
    row = min(view.seed_shown, run.config.seeds) - 1
    written = written_at(run, id, run.snapshot_at(view))
    matrix = written["window"][row]
    constructed = np.eye(3)
    maps = {"trained": matrix, "as written": constructed, "difference": matrix - constructed}
    away = float(np.abs(matrix - constructed).max())
    settings = tuned_of(run, id)
    numbers = [name for name in (*rule.settings, "gain") if name in written]
    table = pd.DataFrame(
        {
            "number": numbers,
            "trained": [float(written[name][row]) for name in numbers],
            "as written": [settings[name] for name in numbers],
        }
    ).round(4)
    differences = ", ".join(
        f"{name} {number_text(a, 2)} ({number_text(b, 2)})"
        for name, a, b in table.itertuples(index=False)
    )
    return Panel(
        f"{rule.name[0].upper()}{rule.name[1:]}: coefficients differ by {number_text(away, 2)} at "
        "most",
        "What the trained rule reads of the window [x_t, y_t, x_t+1] as key, value and query. As "
        "written the key is x, the value y and the query x⁺, the next x. Each row is divided by "
        "that entry, because scale and sign can move among the three. The difference should be "
        "empty. Choose another rule under View.",
        figures.small_maps(maps, (PARTS, WINDOW), ("", ""), "coefficient", LIMIT, written=True),
        data=table,
        note=f"Trained, and as written in brackets: {differences}.",
    )


def tokens(run: Run, view: Any) -> Panel:
    """Draw what every rule loses after each pair."""
    share = run["tokens/share"]
    x = np.arange(share.shape[1])
    series = [
        Curve(SHORT[id], x, row, *STYLES[id])
        for id, row in zip([*run.names("rules"), KALMAN.id], share, strict=True)
    ]
    first = number_text(float(share[place(run, "sum"), -1]), 2)
    last = number_text(float(share[place(run, "delta"), -1]), 2)
    figure = figures.curves(series, "pairs read", "share of predicting zero", y_range=(0, 1.08))
    return Panel(
        f"After {x[-1]} pairs the sum leaves {first}, the delta rule {last}",
        "The loss after each pair as a share of that of predicting zero, with settings that are "
        "best after the last pair. A sum has the whole step's small rate from the start. A rule "
        "that corrects can use each pair in full. The dotted line is the Kalman filter, which "
        "is given ρ: no rule can lose less.",
        figure,
        data=pd.DataFrame({"pairs": x} | {curve.name: curve.y for curve in series}).round(4),
    )


def batches(run: Run, view: Any) -> Panel:
    """Draw gradient descent over the pairs in batches, from the delta rule to one step."""
    ratio = run["batches/share"] / run["baseline/one"]
    b = np.arange(1, len(ratio) + 1)
    batch_size = min(view.pairs_a_batch, len(b))
    two = float(run["baseline/two"][0] / run["baseline/one"][0])
    figure = figures.curves(
        [Curve("in batches", b, ratio, "construction", markers=True)],
        "batch size, b",
        "loss over one step",
        lines=[("one step", 1.0, "gradient descent"), ("two steps", two, "floor")],
        y_range=(0, 1.12),
        at=batch_size,
    )
    left = number_text(float(ratio[batch_size - 1]), 3)
    return Panel(
        f"Batches of {batch_size} pair{'s' * (batch_size > 1)} lose {left} of one step",
        "Gradient descent that uses each pair once, in batches of b, at the best rate of each b; W "
        "does not drift here. At the left, b = 1, it is the delta rule; at the right, b = N, the "
        "GD-SSM's single step. Between them is test-time training (TTT). Two steps on all pairs "
        "use each pair twice. Move b under View.",
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame({"b": b, "over one step": ratio}).round(4),
    )


def drift(run: Run, view: Any) -> Panel:
    """Draw what every rule loses against the drift, tuned at each."""
    at = run["drift/at"]
    share = run["drift/share"]
    ids = [*run.names("rules"), KALMAN.id]
    series = [Curve(SHORT[id], at, row, *STYLES[id]) for id, row in zip(ids, share, strict=True)]
    nearest = int(np.abs(at - (run.config.drift or SHOWN_DRIFT)).argmin())
    saved = 1 - share[place(run, "gated"), nearest] / share[place(run, "unit"), nearest]
    figure = figures.curves(
        series, "drift a pair, ρ", "share of predicting zero", y_range=(0, 1.08)
    )
    return Panel(
        f"At ρ = {at[nearest]:g} a gate saves the delta rule {percent(float(saved))}",
        "After every pair W keeps √(1 − ρ²) of itself and is given ρ times fresh numbers, so that "
        "its size stays. Every rule has its best settings at every ρ. Without drift a decay of 1 "
        "is best and a gate is idle. With drift old pairs are wrong by now: the decayed sum leaves "
        "the sum, the gated delta rule the delta rule. Dotted is the best possible.",
        figures.seated(figure, figures.HALF),
        data=pd.DataFrame({"drift": at} | {curve.name: curve.y for curve in series}).round(4),
    )
