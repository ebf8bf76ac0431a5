"""Steps until the head stands against the sequence length, and why they do not grow as
they might."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure, Trace
from icl_core.figures.series import axis_range
from icl_core.figures.style import PAPER, axis, colour, layout
from icl_core.papers.birth.length.arrival_times import LEVELS, QUADRATIC, slope, times, written
from icl_core.papers.birth.length.settings import OPTIMISERS, View

KINDS = {"sgd": "trained", "adamw": "layer 4"}  # the colours of the optimisers, by id
SYMBOLS = {"sgd": "circle", "adamw": "square"}
TICKED = tuple(digit * 10**power for power in range(6) for digit in (1, 2, 5))
SHORT = {
    "accuracy": "80% accuracy",
    "W_K2": "half of the pairs of W_K²",
    "W_K1": "half of the early pairs of W_K¹",
}
WHAT = {  # what is waited for, by the id of its measure
    "accuracy": "accuracy in context is 80%",
    "W_K2": "W_K² recalls half of its pairs",
    "W_K1": "W_K¹ recalls half of its early pairs",
}


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
    start = _typical(every[ids[0]])[0]
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
    ticks = [each for each in TICKED if limits[0] <= each <= limits[1]]
    figure.update_yaxes(tickvals=ticks, ticktext=[f"{each:,}" for each in ticks])
    found = "; ".join(
        f"{written(slope(run, view.until, name))} with {OPTIMISERS.get(name, name)}" for name in ids
    )
    return Panel(
        f"The slope is {found}",
        f"Training steps until {WHAT[view.until]}, against the sequence length, on log axes: "
        "dots are seeds, lines their means (± is one standard error). If the time grew with the "
        "square of the length, as Musat et al. find in their setting, the lines would be as "
        "steep as the dotted one. If the length did not matter, they would be level.",
        figures.seated(figure, figures.WIDE),
        data=_table(run, view, every),
    )


def _typical(rows: np.ndarray) -> np.ndarray:
    """Return the geometric mean over seeds [seeds, lengths]; infinite where one never arrives."""
    return np.exp(np.log(np.maximum(rows, 1.0)).mean(0))


def _traces(run: Run, view: View, name: str, lengths: np.ndarray, rows: np.ndarray) -> list[Trace]:
    """Return a line of means, and a dot a seed."""
    mean = _typical(rows)
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


def _table(run: Run, view: View, every: dict[str, np.ndarray]) -> pd.DataFrame:
    columns = {
        f"{OPTIMISERS.get(name, name)}, seed {seed + 1}": row.round(1)
        for name, rows in every.items()
        for seed, row in enumerate(rows)
    }
    return pd.DataFrame({"T": run["task/lengths"], **columns}).replace(np.inf, "never")


def even(run: Run, view: View) -> Panel:
    """Draw the share of even attention that falls on the answer, by length."""
    lengths = run["task/lengths"]
    shares = run["task/even"]
    return Panel(
        f"If even, {shares[0]:.0%} to {shares[-1]:.0%} is on the answer",
        "Before a head forms, attention is spread evenly. The bars are the share of it that falls "
        "on what followed the trigger before, the mean over the positions where it counts. If "
        "there were one place to find whatever the length, the share would halve with every "
        "doubling. Here a longer sequence repeats its triggers more often.",
        figures.seated(
            figures.bars(
                [f"T = {length}" for length in lengths],
                shares.tolist(),
                "share of even attention",
                height=figures.SEAT,
            )
        ),
        data=pd.DataFrame({"T": lengths, "share": shares.round(4)}),
    )


def table(run: Run, view: View) -> Panel:
    """Draw every slope."""
    measures = [measure for measure in run.names("measures") if measure in LEVELS]
    rows = [_row(run, measure, name) for measure in measures for name in run.names("optimisers")]
    return Panel(
        f"Steps and slopes, {len(rows)} in all",
        "The geometric mean over seeds of the steps at each length, and the mean slope with its "
        "standard error. A time that does not depend on the length has slope 0, one that grows "
        "with its square has slope 2.",
        table=pd.DataFrame(rows),
    )


def _row(run: Run, measure: str, name: str) -> dict[str, str]:
    steps = zip(run["task/lengths"], _typical(times(run, measure, name)), strict=True)
    return {
        "time until": WHAT[measure],
        "optimiser": OPTIMISERS.get(name, name),
        "slope": written(slope(run, measure, name)),
        **{f"T = {length}": _said(each) for length, each in steps},
    }


def _said(steps: float) -> str:
    return f"{steps:.0f}" if np.isfinite(steps) else "never"
