"""What one matrix recalls, against how many pairs it stores."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import Curve, mean_of
from icl_core.figures.style import axis
from icl_core.papers.birth.laboratory.load_run import at, halves, place
from icl_core.papers.birth.laboratory.settings import View
from icl_core.papers.birth.shared.expected_recall import first_order
from icl_core.statistics.over_seeds import standard_error

ZIPF = {  # by id: label, colour
    "equal": ("all equally strong", "layer 1"),
    "zipf": ("strong by frequency: pairs", "layer 4"),
    "asked": ("strong by frequency: as asked", "layer 3"),
}


def capacity_panel(run: Run, view: View) -> Panel:
    """Draw recall against stored pairs, a curve a width, with the formula's."""
    pairs = run["axis/capacity"]
    series = []
    for index, width in enumerate(run["axis/width"]):
        shares = at(run, "capacity/equal", width=width)  # [seeds, pairs]
        series.append(Curve(f"d = {width}", pairs, shares, f"layer {index + 1}", markers=True))
        series.append(Curve(f"formula, d = {width}", pairs, run["theory/equal"][index], "floor"))
    figure = _over_pairs(series, pairs, figures.SEAT, view.pairs)
    _dots_over_lines(figure)
    shares = at(run, "capacity/equal", width=view.width, capacity=view.pairs)  # [seeds]
    row = place(run, "width", view.width)
    column = place(run, "capacity", view.pairs)
    by_formula = float(run["theory/equal"][row, column])
    return Panel(
        f"Of {view.pairs:,} pairs {_share(shares)} are recalled (formula: {by_formula:.0%})",
        "The share of stored pairs whose own output is the nearest to W u, among the outputs of "
        "all pairs. Dots are simulations, with their spread over seeds (± is one standard "
        "error); dotted lines a formula with nothing fitted. Every other pair adds a little "
        f"noise to each reading, at d = {view.width} a variance of "
        f"{first_order(view.width, view.pairs):.2g} beside an answer of 1. Without that noise "
        "the curves would stay at 1.",
        figures.seated(figure, figures.WIDE),
        data=_table(run, "equal"),
    )


def _over_pairs(series: list[Curve], pairs: np.ndarray, height: int, shown: float) -> Figure:
    figure = figures.curves(
        series, "stored pairs, P", "recall", log_x=True, y_range=(0, 1.04), height=height
    )
    ticks = pairs[::2]
    line = {"type": "line", "x0": shown, "x1": shown, "yref": "paper", "y0": 0, "y1": 1}
    figure.add_shape(**line, line={"color": figures.colour("trigger"), "width": 1.5})
    return figure.update_xaxes(tickvals=ticks, ticktext=[f"{count:,}" for count in ticks])


def _dots_over_lines(figure: Figure) -> None:
    """Make dots with bars of the simulations, and dotted lines of the formulas, of which the first
    alone is in the legend."""
    first = True
    for trace in figure.data:
        name = trace.get("name", "")
        if name.startswith("formula"):
            # its rank puts it behind all widths
            trace.update(name="formula", legendgroup="formula", legendrank=2000, showlegend=first)
            first = False
        elif trace.get("mode") == "lines+markers":
            trace.update(mode="markers", marker={"size": 9, "color": trace["line"]["color"]})


def _share(shares: np.ndarray) -> str:
    """Return the mean of [seeds] in words, with its standard error if that shows in percent."""
    error = standard_error(shares)
    return f"{shares.mean():.0%}" + (f" ± {100 * error:.0f}" if error and error >= 0.005 else "")


def _table(run: Run, name: str) -> pd.DataFrame:
    columns = {}
    for index, width in enumerate(run["axis/width"]):
        columns[f"d = {width}"] = mean_of(run[f"capacity/{name}"][:, index])
        columns[f"formula, d = {width}"] = run[f"theory/{name}"][index]
    return pd.DataFrame({"pairs": run["axis/capacity"], **columns}).round(4)


def zipf(run: Run, view: View) -> Panel:
    """Draw recall at the width shown where pairs are as strong as they are frequent."""
    pairs = run["axis/capacity"]
    index = place(run, "width", view.width)
    series = []
    for name, (label, kind) in ZIPF.items():
        series.append(Curve(label, pairs, run[f"capacity/{name}"][:, index], kind, markers=True))
        series.append(Curve(f"formula, {label}", pairs, run[f"theory/{name}"][index], "floor"))
    figure = _over_pairs(series, pairs, 380, view.pairs)
    _dots_over_lines(figure)
    of_pairs, asked = (
        at(run, f"capacity/{name}", width=view.width, capacity=view.pairs).mean()
        for name in ("zipf", "asked")
    )
    return Panel(
        f"Stored by frequency, {of_pairs:.0%} of {view.pairs:,} pairs are recalled, and "
        f"{asked:.0%} of what is asked",
        "One gradient step stores a pair as strongly as it is frequent. The frequency of rank r "
        f"is 1/r to the power {run.config.exponent:g}. Rare pairs drown in the cross-talk of "
        "frequent ones, so that fewer pairs are recalled than if all were equally strong; but the "
        "frequent ones are asked for more often. If strength did not matter, the three curves "
        "would be one.",
        figure,
        data=_table(run, "zipf"),
    )


def half(run: Run, view: View) -> Panel:
    """Draw the number of pairs at which half are recalled, against the width."""
    widths = run["axis/width"]
    seeds = range(len(run["capacity/equal"]))
    counts = np.array([halves(run, seed) for seed in seeds])  # (seeds, widths)
    series = [
        Curve("d², the numbers in W", widths, widths.astype(float) ** 2, "floor"),
        Curve("half recalled", widths, counts, "trained", markers=True),
        Curve("d, the dimensions", widths, widths, "gradient descent"),
    ]
    figure = figures.curves(series, "width d", "pairs", log_x=True, log_y=True)
    figure.update_xaxes(tickvals=widths, ticktext=[str(width) for width in widths])
    mean = halves(run)[place(run, "width", view.width)]
    entries = view.width**2 / mean
    return Panel(
        f"d = {view.width}: half of {mean:.0f} pairs are recalled, {entries:.0f} entries of W per "
        "pair",
        "The number of pairs at which recall falls through one half. A matrix stores more pairs "
        "than it has dimensions, since a pair only has to be louder than the others, not free of "
        "them. If every pair needed a dimension of its own, the blue line would lie on the dashed "
        "one.",
        figure.update_yaxes(axis("pairs (log scale)") | figure.layout["yaxis"]),
        data=pd.DataFrame({"d": widths, "pairs at half recall": halves(run)}).round(1),
    )
