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
    """Recall against stored pairs, a curve a width, with the formula's."""
    widths, pairs = run["axis/width"], run["axis/capacity"]
    series = []
    for index, width in enumerate(widths):
        seeds, kind = at(run, "capacity/equal", width=width), f"layer {index + 1}"
        series.append(Curve(f"d = {width}", pairs, seeds, kind, markers=True))
        series.append(Curve(f"formula, d = {width}", pairs, run["theory/equal"][index], "floor"))
    figure = _over_pairs(series, pairs, figures.SEAT, view.pairs)
    _dots_over_lines(figure)
    seeds = at(run, "capacity/equal", width=view.width, capacity=view.pairs)
    told = float(
        run["theory/equal"][place(run, "width", view.width), place(run, "capacity", view.pairs)]
    )
    return Panel(
        f"Of {view.pairs:,} pairs {_share(seeds)} are recalled (formula: {told:.0%})",
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
    return figure.update_xaxes(tickvals=ticks, ticktext=[f"{each:,}" for each in ticks])


def _dots_over_lines(figure: Figure) -> None:
    """Simulations become dots with bars, formulas one dotted line of which a single one is in the
    legend."""
    first = True
    for trace in figure.data:
        name = trace.get("name", "")
        if name.startswith("formula"):
            trace.update(
                name="formula", legendgroup="formula", legendrank=2000, showlegend=first
            )  # behind all widths
            first = False
        elif trace.get("mode") == "lines+markers":
            trace.update(mode="markers", marker={"size": 9, "color": trace["line"]["color"]})


def _share(seeds: np.ndarray) -> str:
    error = standard_error(seeds)
    return f"{seeds.mean():.0%}" + (f" ± {100 * error:.0f}" if error and error >= 0.005 else "")


def _table(run: Run, name: str) -> pd.DataFrame:
    columns = {}
    for index, width in enumerate(run["axis/width"]):
        columns[f"d = {width}"] = mean_of(run[f"capacity/{name}"][:, index])
        columns[f"formula, d = {width}"] = run[f"theory/{name}"][index]
    return pd.DataFrame({"pairs": run["axis/capacity"], **columns}).round(4)


def zipf(run: Run, view: View) -> Panel:
    """Recall at the width shown where pairs are as strong as they are frequent."""
    pairs, index, series = run["axis/capacity"], place(run, "width", view.width), []
    for name, (label, kind) in ZIPF.items():
        series.append(Curve(label, pairs, run[f"capacity/{name}"][:, index], kind, markers=True))
        series.append(Curve(f"formula, {label}", pairs, run[f"theory/{name}"][index], "floor"))
    figure = _over_pairs(series, pairs, 380, view.pairs)
    _dots_over_lines(figure)
    of, asked = (
        at(run, f"capacity/{n}", width=view.width, capacity=view.pairs).mean()
        for n in ("zipf", "asked")
    )
    return Panel(
        f"Stored by frequency, {of:.0%} of {view.pairs:,} pairs are recalled, and {asked:.0%} of "
        "what is asked",
        "One gradient step stores a pair as strongly as it is frequent. The frequency of rank r "
        f"is 1/r to the power {run.config.exponent:g}. Rare pairs drown in the cross-talk of "
        "frequent ones, so that fewer pairs are recalled than if all were equally strong; but the "
        "frequent ones are asked for more often. If strength did not matter, the three curves "
        "would be one.",
        figure,
        data=_table(run, "zipf"),
    )


def half(run: Run, view: View) -> Panel:
    """The number of pairs at which half are recalled, against the width."""
    d, seeds = run["axis/width"], range(len(run["capacity/equal"]))
    found = np.array([halves(run, seed) for seed in seeds])
    numbers = d.astype(float) ** 2
    series = [
        Curve("d², the numbers in W", d, numbers, "floor"),
        Curve("half recalled", d, found, "trained", markers=True),
        Curve("d, the dimensions", d, d, "gradient descent"),
    ]
    figure = figures.curves(series, "width d", "pairs", log_x=True, log_y=True)
    figure.update_xaxes(tickvals=d, ticktext=[str(each) for each in d])
    mean = halves(run)[place(run, "width", view.width)]
    each = view.width**2 / mean
    return Panel(
        f"d = {view.width}: half of {mean:.0f} pairs are recalled, {each:.0f} entries of W per "
        "pair",
        "The number of pairs at which recall falls through one half. A matrix stores more pairs "
        "than it has dimensions, since a pair only has to be louder than the others, not free of "
        "them. If every pair needed a dimension of its own, the blue line would lie on the dashed "
        "one.",
        figure.update_yaxes(axis("pairs (log scale)") | figure.layout["yaxis"]),
        data=pd.DataFrame({"d": d, "pairs at half recall": halves(run)}).round(1),
    )
