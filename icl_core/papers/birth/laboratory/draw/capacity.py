"""What one matrix recalls, against how many pairs it stores."""

import numpy as np
import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.contract.statistics import standard_error
from icl_core.figures import Curve, mean_of
from icl_core.figures.style import axis
from icl_core.papers.birth.laboratory.load_run import at, halves, place
from icl_core.papers.birth.laboratory.settings import View
from icl_core.papers.birth.laboratory.words import WORDS
from icl_core.papers.birth.shared.expected_recall import first_order

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
    error = standard_error(at(run, "capacity/equal", width=view.width, capacity=view.pairs))
    row = place(run, "width", view.width)
    column = place(run, "capacity", view.pairs)
    return WORDS.panel(
        "capacity",
        run,
        view,
        figures.seated(figure, figures.WIDE),
        data=_table(run, "equal"),
        spread=100 * error if error and error >= 0.005 else 0.0,  # 0: would not show in percent
        by_formula=float(run["theory/equal"][row, column]),
        variance=first_order(view.width, view.pairs),
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
    of_pairs, as_asked = (
        at(run, f"capacity/{name}", width=view.width, capacity=view.pairs).mean()
        for name in ("zipf", "asked")
    )
    return WORDS.panel(
        "zipf",
        run,
        view,
        figure,
        data=_table(run, "zipf"),
        of_pairs=of_pairs,
        as_asked=as_asked,
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
    count = halves(run)[place(run, "width", view.width)]
    return WORDS.panel(
        "half",
        run,
        view,
        figure.update_yaxes(axis("pairs (log scale)") | figure.layout["yaxis"]),
        data=pd.DataFrame({"d": widths, "pairs at half recall": halves(run)}).round(1),
        count=count,
        entries=view.width**2 / count,
    )
