"""Steps until the head stands against the sequence length, why they do not grow as they might, and
what is measured over each training."""

from functools import partial

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures import Curve, mean_of
from icl_core.figures.series import axis_range
from icl_core.figures.style import PAPER, axis, colour, layout
from icl_core.papers.birth.length.arrival_times import (
    LEVELS,
    QUADRATIC,
    mean_times,
    slope,
    times,
    written,
)
from icl_core.papers.birth.length.settings import OPTIMISERS, View
from icl_core.papers.birth.length.words import WORDS

KINDS = {"sgd": "trained", "adamw": "layer 4"}  # the colours of the optimisers, by id
SYMBOLS = {"sgd": "circle", "adamw": "square"}
TICKED = tuple(digit * 10**power for power in range(6) for digit in (1, 2, 5))
WHAT = {  # what is waited for, by the id of its measure
    "accuracy": "accuracy in context is 80%",
    "W_K2": "W_K² recalls half of its pairs",
    "W_K1": "W_K¹ recalls half of its early pairs",
}
NAMES = {  # of what is measured, on the axes
    "accuracy": "accuracy in context",
    "W_K2": "recall of W_K²",
    "W_K1": "recall of W_K¹ early",
}
FIRST = "accuracy"  # the measure of the first panel


def growth_panel(run: Run, view: View) -> Panel:
    """Draw the steps against the length, on log axes, with the slope that quadratic growth would
    have."""
    ids = run.names("optimisers")
    lengths = run["task/lengths"].astype(float)
    every = {name: times(run, view.until, name) for name in ids}
    known = np.concatenate([rows[np.isfinite(rows)] for rows in every.values()])
    low, high = (
        (float(known.min()), float(known.max())) if len(known) else (1.0, float(run.config.steps))
    )
    start = mean_times(every[ids[0]])[0]
    dotted = (start if np.isfinite(start) else low) * (lengths / lengths[0]) ** QUADRATIC
    figure = Figure(layout=layout(figures.SEAT, hovermode="closest"))
    figure.add_trace(Trace(x=lengths, y=dotted, mode="lines", name="slope 2", hoverinfo="skip"))
    figure.data[-1].update(line={"color": colour("floor"), "width": 2, "dash": "dot"})
    for name in ids:
        figure.add_traces(_traces(run, view, name, lengths, every[name]))
    limits = max(1.0, 0.7 * min(low, dotted[0])), 1.4 * max(high, dotted[-1])
    figure.update_xaxes(
        axis(
            "sequence length, T (log scale)",
            **axis_range((lengths[0] / 1.2, lengths[-1] * 1.2), True),
        )
    )
    figure.update_xaxes(tickvals=lengths, ticktext=[f"{length:.0f}" for length in lengths])
    figure.update_yaxes(axis("steps (log scale)", **axis_range(limits, True)))
    ticks = [steps for steps in TICKED if limits[0] <= steps <= limits[1]]
    figure.update_yaxes(tickvals=ticks, ticktext=[f"{steps:,}" for steps in ticks])
    slopes = [
        f"{written(slope(run, view.until, name))} with {OPTIMISERS.get(name, name)}" for name in ids
    ]
    return WORDS.panel(
        "growth",
        run,
        view,
        figures.seated(figure, figures.WIDE),
        data=_arrivals(run, every),
        slopes="; ".join(slopes),
        time=WHAT[view.until],
    )


def _traces(run: Run, view: View, name: str, lengths: np.ndarray, rows: np.ndarray) -> list[Trace]:
    """Return a line of means, and a dot a seed."""
    mean = mean_times(rows)
    label = OPTIMISERS.get(name, name)
    tint = colour(KINDS.get(name, "seed"))
    line = Trace(
        x=lengths,
        y=np.where(np.isfinite(mean), mean, np.nan),
        mode="lines",
        name=label,
        legendgroup=name,
    )
    line.update(
        line={"color": tint, "width": 3},
        hovertemplate=f"{label}, T = %{{x}}: %{{y:.0f}} steps<extra></extra>",
    )
    seen = np.isfinite(rows)
    x = np.broadcast_to(lengths, rows.shape)[seen]
    dots = Trace(x=x, y=rows[seen], mode="markers", showlegend=False, legendgroup=name, name=label)
    dots.update(
        marker={
            "size": 9,
            "symbol": SYMBOLS.get(name, "diamond"),
            "color": tint,
            "line": {"color": PAPER, "width": 1},
        }
    )
    return [
        line,
        dots.update(hovertemplate=f"{label}, T = %{{x}}: %{{y:.0f}} steps<extra></extra>"),
    ]


def _arrivals(run: Run, every: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return the steps that every seed takes at each length."""
    columns = {
        f"{OPTIMISERS.get(name, name)}, seed {seed + 1}": row.round(1)
        for name, rows in every.items()
        for seed, row in enumerate(rows)
    }
    return pd.DataFrame({"T": run["task/lengths"], **columns}).replace(np.inf, np.nan)


def even(run: Run, view: View) -> Panel:
    """Draw the share of even attention that falls on the answer, by length."""
    lengths = run["task/lengths"]
    shares = run["task/even"]
    names = [f"T = {length}" for length in lengths]
    figure = figures.bars(names, shares.tolist(), "share of even attention", height=figures.SEAT)
    data = pd.DataFrame({"T": lengths, "share": shares.round(4)})
    return WORDS.panel("even", run, view, figures.seated(figure), data=data)


def table(run: Run, view: View) -> Panel:
    """Draw every slope."""
    measures = [measure for measure in run.names("measures") if measure in LEVELS]
    rows = [_row(run, measure, name) for measure in measures for name in run.names("optimisers")]
    return WORDS.panel("table", run, view, table=pd.DataFrame(rows), rows=len(rows))


def _row(run: Run, measure: str, name: str) -> dict[str, str]:
    steps = zip(run["task/lengths"], mean_times(times(run, measure, name)), strict=True)
    return {
        "time until": WHAT[measure],
        "optimiser": OPTIMISERS.get(name, name),
        "slope": written(slope(run, measure, name)),
        **{
            f"T = {length}": f"{step:.0f}" if np.isfinite(step) else "never"
            for length, step in steps
        },
    }


def _curves(measure: str, run: Run, view: View) -> Panel:
    """Draw a measure over each training, one curve a length."""
    # [seeds, lengths, evaluations]
    curves = run[f"curve/{measure}_{view.optimiser_shown}"]
    level = LEVELS[measure]
    series = [
        Curve(f"T = {length}", run["curve/step"], curves[:, index], f"layer {index + 1}")
        for index, length in enumerate(run["task/lengths"])
    ]
    waited = [(f"{level:.0%}", level, "floor")]
    figure = figures.curves(
        series,
        "training step",
        NAMES[measure],
        y_range=(0, 1.02),
        lines=waited,
        height=figures.SEAT,
    )
    if measure != FIRST:  # which names the lengths for its row
        figure.update_layout(showlegend=False)
    means = {curve.name: np.round(curve.mean(), 4) for curve in series}
    return WORDS.panel(
        "curves",
        run,
        view,
        figures.seated(figure),
        data=pd.DataFrame({"step": run["curve/step"]} | means),
        optimiser=OPTIMISERS[view.optimiser_shown],
        measure=list(NAMES).index(measure),
        end=mean_of(curves[:, -1])[-1],
    )


accuracy, w_k2, w_k1 = (partial(_curves, measure) for measure in NAMES)
